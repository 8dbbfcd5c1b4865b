"""`vcdebug capture --until`: repeat the capture until a condition holds."""

from __future__ import annotations

from argparse import Namespace
from io import StringIO
from pathlib import Path

import pytest

from tests.cli.transcripts import call
from tests.debugger.test_captures import with_nodes
from vcdebug.capture.api_client import NoAnswer, TooSlow
from vcdebug.cli.commands.capture import capture_until
from vcdebug.cli.output import Output
from vcdebug.debugger.expectations import parse_until
from vcdebug.errors import CaptureError, VcdebugError
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
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


def watched(until: str, folder: Path, keep: int = 100) -> tuple[Path, list[float]]:
    """Capture until the condition holds, in a cluster that gains nodes; returns the file and the waits."""
    waits: list[float] = []
    args = Namespace(until=until, output=str(folder), every=7.0, keep=keep)
    taken = iter(range(1, 9))
    file = capture_until(args, lambda: with_nodes(min(next(taken), 3)), Output(), waits.append)
    return file, waits


def test_capture_until_ends_at_the_first_capture_that_meets_the_condition(tmp_path: Path) -> None:
    file, waits = watched("j is not pending", tmp_path)
    assert [7.0, 7.0] == waits
    assert 3 == len(load_snapshot(file).objects_of("Node"))
    assert 3 == len(list(tmp_path.iterdir()))


def test_breakpoint_conditions_can_be_waited_for(tmp_path: Path) -> None:
    file, _ = watched('statement if what == "commit"', tmp_path, keep=1)
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
    waits: list[float] = []
    said = StringIO()
    outages = iter([NoAnswer("no answer"), TooSlow("too slow"), NoAnswer("no answer"), None])

    def take() -> Snapshot:
        if (outage := next(outages)) is not None:
            raise outage
        return with_nodes(3)

    args = Namespace(until="j is placed", output=str(tmp_path), every=50.0, keep=9)
    capture_until(args, take, Output(err=said), waits.append)
    assert [50.0, 100.0, 120.0] == waits
    assert "no answer; changes of the cluster are missed until the API server responds again" in said.getvalue()
    assert "changes of at least 270s were missed" in said.getvalue()


def test_credentials_that_are_refused_end_it(tmp_path: Path) -> None:
    def take() -> Snapshot:
        raise CaptureError("the API server does not accept the credentials")

    args = Namespace(until="j is placed", output=str(tmp_path), every=50.0, keep=9)
    with pytest.raises(CaptureError):
        capture_until(args, take, Output(err=StringIO()), lambda _: None)


def test_invalid_until_condition_is_an_error_before_the_capture(tmp_path: Path) -> None:
    with pytest.raises(VcdebugError):
        watched("nonsense", tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_a_snapshot_and_a_cluster_cannot_both_be_opened() -> None:
    code, _, err = call(["open", "preempt-quota-gang", "--context", "prod"])
    assert (1, True) == (code, "cannot be combined" in err)
