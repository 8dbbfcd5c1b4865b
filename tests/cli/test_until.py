"""`vcdebug capture --until`: repeat the capture until a condition holds."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from io import StringIO
from pathlib import Path

import pytest

from tests.apiserver.clusters import Direct, small_server
from tests.capture.fake_server import ApiRequest, status
from tests.capture.small_cluster import PODS
from tests.capture.test_time_travel import OPTIONS, names, rename
from tests.cli.transcripts import call
from tests.debugger.test_captures import with_nodes
from vcdebug.capture import CaptureOptions
from vcdebug.capture.api_client import Api, NoAnswer, TooSlow
from vcdebug.capture.listing import PRESENT, EarlierState
from vcdebug.cli.commands.capture import capture_until
from vcdebug.cli.output import Output
from vcdebug.conformance import ClusterReader
from vcdebug.debugger.expectations import parse_until
from vcdebug.errors import CaptureError, VcdebugError
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.provenance import Provenance
from vcdebug.snapshot.snapshot import Snapshot

WAITING_VOLCANO_JOB = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: default}
spec: {weight: 1, capability: {cpu: "1"}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata:
  name: train-1f2e
  namespace: team-a
  ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: train, uid: 1f2e, controller: true}]
spec: {minMember: 2, queue: default, minResources: {cpu: "2"}}
status: {phase: Pending}
"""


class PlayedCluster(ClusterReader, frozen=True):
    """A cluster without a server: each capture is the next of `taken`, and nothing can be watched."""

    taken: Iterator[Snapshot | VcdebugError] = iter(())
    waits: list[float] = []

    def capture(
        self, earlier: EarlierState = PRESENT, announce: Callable[[Provenance], None] | None = None
    ) -> Snapshot:
        found = next(self.taken)
        if isinstance(found, VcdebugError):
            raise found
        return found

    def connect(self) -> Api:
        raise NoAnswer("no answer")


def played(taken: Iterable[Snapshot | VcdebugError]) -> tuple[PlayedCluster, list[float]]:
    """A cluster, and the pauses between its captures in seconds."""
    waits: list[float] = []
    return PlayedCluster(CaptureOptions(), sleep=waits.append, taken=iter(taken)), waits


def until(text: str, folder: Path, **more: object) -> Namespace:
    return Namespace(**{"until": text, "output": str(folder), "every": 50.0, "keep": 100, "redact": False} | more)


def watched(text: str, folder: Path, keep: int = 100) -> Path:
    """Capture until the condition holds, in a cluster that gains nodes; returns the file."""
    cluster, _ = played(with_nodes(count) for count in (1, 2, 3))
    return capture_until(until(text, folder, keep=keep), cluster, Output(err=StringIO()))


def test_capture_until_ends_at_the_first_capture_that_meets_the_condition(tmp_path: Path) -> None:
    file = watched("j is not pending", tmp_path)
    assert 3 == len(load_snapshot(file).objects_of("Node"))
    assert 3 == len(list(tmp_path.iterdir()))


def test_breakpoint_conditions_can_be_waited_for(tmp_path: Path) -> None:
    file = watched('statement if what == "commit"', tmp_path, keep=1)
    assert 3 == len(load_snapshot(file).objects_of("Node"))
    assert [file] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "nodes", "met"),
    [
        ("default/j is Pending", 1, True),
        ("default/j is Pending", 3, False),
        ("j is placed", 3, True),
        ("j is there", 1, True),
        ("other is there", 1, False),
        ("other is not there", 1, True),
        ("statement", 3, True),
    ],
)
def test_until_condition_is_met_as_expected(text: str, nodes: int, met: bool) -> None:
    assert met is bool(parse_until(text)(replay_cycle(with_nodes(nodes))))


def test_a_job_is_known_by_its_owner_before_its_pods_exist(tmp_path: Path) -> None:
    file = tmp_path / "waiting.yaml"
    file.write_text(WAITING_VOLCANO_JOB, encoding="utf-8")
    recording = replay_cycle(load_snapshot(file))
    assert parse_until("team-a/train is Pending")(recording).startswith("team-a/train is ")
    assert not parse_until("team-b/train is Pending")(recording)


def test_a_volcano_job_that_is_admitted_and_has_no_pods_is_neither_pending_nor_placed(tmp_path: Path) -> None:
    file = tmp_path / "admitted.yaml"
    text = WAITING_VOLCANO_JOB.replace('capability: {cpu: "1"}}', 'capability: {cpu: "9"}}\nstatus: {state: Open}')
    file.write_text(text, encoding="utf-8")
    recording = replay_cycle(load_snapshot(file))
    met = {word: bool(parse_until(f"train is {word}")(recording)) for word in ("Pending", "placed", "not placed")}
    assert {"Pending": False, "placed": False, "not placed": True} == met


def test_outage_is_reported_and_waited_out(tmp_path: Path) -> None:
    said = StringIO()
    cluster, waits = played([NoAnswer("no answer"), TooSlow("too slow"), NoAnswer("no answer"), with_nodes(3)])
    capture_until(until("j is placed", tmp_path), cluster, Output(err=said))
    assert [50.0, 100.0, 120.0] == waits
    assert "no answer; changes of the cluster are missed until the API server responds again" in said.getvalue()
    assert "changes of at least 270s were missed" in said.getvalue()


def test_credentials_that_are_refused_end_it(tmp_path: Path) -> None:
    cluster, _ = played([CaptureError("the API server does not accept the credentials")])
    with pytest.raises(CaptureError):
        capture_until(until("j is placed", tmp_path), cluster, Output(err=StringIO()))


LATE = "team-a/late is there"


class FollowedCluster:
    """A small cluster whose pods change while `capture --until` sleeps; `times` has the second of each capture."""

    def __init__(self, *, may_watch: bool = True) -> None:
        self.server, self.seconds, self.times = small_server(), 0.0, list[float]()
        self._may_watch = may_watch
        self.server.before = self._note

    def _note(self, request: ApiRequest) -> None:
        if request.path == "/version":
            self.times.append(self.seconds)
        # Those who may list may not always watch.
        is_refused = not self._may_watch and "watch" in request.query
        self.server.scripted[request.path] = [status(403, "Forbidden", "pods may not be watched")] if is_refused else []

    def pass_time(self, seconds: float) -> None:
        self.seconds += seconds
        if self.seconds - seconds < 20 <= self.seconds:
            rename(self.server, "late")
        elif self.seconds % 7 == 0:
            rename(self.server, f"other-{self.seconds:g}")

    def capture(self, text: str, folder: Path, every: float = 60.0) -> Snapshot:
        reader = ClusterReader(OPTIONS, lambda: Direct(self.server), self.pass_time, lambda: self.seconds)
        return load_snapshot(capture_until(until(text, folder, every=every), reader, Output(err=StringIO())))


def test_a_change_is_seen_by_a_watch_and_captured_at_its_version(tmp_path: Path) -> None:
    cluster = FollowedCluster()
    found = cluster.capture(LATE, tmp_path)
    assert [0.0, 20.0] == cluster.times
    assert 2 == len(list(tmp_path.iterdir()))
    assert "team-a/late" in names(found)
    lists = [each for each in cluster.server.requests if each.path == PODS and "watch" not in each.query]
    assert 2 == len(lists), "only the two captures list pods"


@pytest.mark.parametrize(("may_watch", "times"), [(True, [0.0, 14.0, 20.0]), (False, [0.0, 14.0, 28.0])])
def test_the_whole_cluster_is_captured_at_most_every_time(may_watch: bool, times: list[float], tmp_path: Path) -> None:
    cluster = FollowedCluster(may_watch=may_watch)
    cluster.capture(LATE, tmp_path, every=14.0)
    assert times == cluster.times


def test_a_forgotten_version_is_listed_anew(tmp_path: Path) -> None:
    cluster = FollowedCluster()
    cluster.server.store.compacted = cluster.server.store.revision + 9
    cluster.capture(LATE, tmp_path)
    assert [0.0, 20.0] == sorted(set(cluster.times))


def test_invalid_until_condition_is_an_error_before_the_capture(tmp_path: Path) -> None:
    with pytest.raises(VcdebugError):
        watched("nonsense", tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_a_snapshot_and_a_cluster_cannot_both_be_opened() -> None:
    code, _, err = call(["open", "preempt-quota-gang", "--context", "prod"])
    assert (1, True) == (code, "cannot be combined" in err)
