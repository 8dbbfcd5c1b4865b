"""Two captures of one cluster: what came true, what did not, what others overtook."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.apiserver.clusters import Direct
from tests.apiserver.server import ApiServer
from tests.verify.deeds import after
from vcdebug.capture import CaptureOptions
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.load import load
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.trace.replay import replay
from vcdebug.verify import Patience, judged, verify_cluster
from vcdebug.verify.outcome import predicted
from vcdebug.verify.store import key_of

RANDOM = Path("tests/golden/random")
CASES = sorted(path.name for path in RANDOM.iterdir() if path.name.split("-")[0] in ("basic", "preempt", "reclaim"))


def with_objects(snapshot: Snapshot, kind: str, manifests: list[Manifest]) -> Snapshot:
    return replace(snapshot, objects={**snapshot.objects, kind: manifests})


@pytest.mark.parametrize("case", CASES)
def test_the_recorded_outcome_agrees(case: str) -> None:
    before = load(RANDOM / case)
    found = judged(before, after(before, predicted(replay(before))))
    assert {"agreed"} == {one.word for one in found.jobs}
    assert 1 == found.cycles


def test_an_altered_bind_is_the_difference() -> None:
    before = load(RANDOM / "basic-0000")
    outcome = predicted(replay(before))
    pod = min(outcome.bound)
    found = judged(before, after(before, replace(outcome, bound={**outcome.bound, pod: "elsewhere"})))
    assert [(pod, "bound", outcome.bound[pod], "elsewhere")] == [
        difference[1:] for one in found.jobs for difference in one.differences
    ]
    assert ["differs"] == [one.word for one in found.jobs if one.word != "agreed"]


def test_an_eviction_that_did_not_come_is_the_difference() -> None:
    before = load(RANDOM / "preempt-0007")
    outcome = predicted(replay(before))
    spared = min(outcome.evicted)
    others = {pod: how for pod, how in outcome.evicted.items() if pod != spared}
    found = judged(before, after(before, replace(outcome, evicted=others)))
    differing = [one for one in found.jobs if one.word == "differs"]
    assert [spared] == [difference.subject for one in differing for difference in one.differences]
    assert differing[0].decision is not None
    assert differing[0].decision.seq is not None


def test_a_victim_that_is_already_gone_was_evicted() -> None:
    before = load(RANDOM / "preempt-0007")
    outcome = predicted(replay(before))
    later = after(before, outcome)
    left = [pod for pod in later.of("Pod") if key_of(pod) not in outcome.evicted]
    assert judged(before, with_objects(later, "Pod", left)).agrees


def test_a_job_that_fared_otherwise_while_a_node_left_was_overtaken() -> None:
    before = load(RANDOM / "basic-0000")
    outcome = predicted(replay(before))
    pod = min(outcome.bound)
    others = {name: node for name, node in outcome.bound.items() if name != pod}
    later = after(before, replace(outcome, bound=others))
    node = outcome.bound[pod]
    later = with_objects(later, "Node", [one for one in later.of("Node") if key_of(one) != node])
    found = judged(before, later)
    overtaken = [one for one in found.jobs if one.word == "overtaken"]
    assert [(f"Node {node} is gone",)] == [one.changes for one in overtaken]
    assert found.agrees


def test_what_nobody_foresaw_and_nobody_saw_is_no_eviction() -> None:
    before = load(RANDOM / "basic-0000")
    later = after(before, predicted(replay(before)))
    running = next(pod for pod in later.of("Pod") if pod["spec"].get("nodeName"))
    left = [pod for pod in later.of("Pod") if pod is not running]
    assert judged(before, with_objects(later, "Pod", left)).agrees


class Played:
    """A cluster whose scheduler acts once somebody has looked at it for the first time."""

    def __init__(self, before: Snapshot, later: Snapshot) -> None:
        self.server = ApiServer()
        for kind, manifests in before.objects.items():
            for manifest in manifests:
                self.server.store.put(KIND_BY_NAME[kind].path, manifest)
        self.server.singles["/version"] = {"major": "1", "minor": "34"}
        self._later = later
        self.looks = 0

    def transport(self) -> Direct:
        return Direct(self.server)

    def sleep(self, _: float) -> None:
        """Time passes, and the scheduler runs."""
        self.looks += 1
        if self.looks == 2:
            for kind in ("Pod", "PodGroup"):
                for manifest in self._later.of(kind):
                    self.server.store.put(KIND_BY_NAME[kind].path, manifest)


def test_a_cluster_is_captured_before_and_after_its_scheduler_ran() -> None:
    before = load(RANDOM / "preempt-0007")
    before.scheduler_conf = None
    played = Played(before, after(before, predicted(replay(replace(before, scheduler_conf=None)))))
    told: list[str] = []
    found = verify_cluster(
        CaptureOptions(first_wait=0.0),
        Patience(longest=10, pause=1),
        transport=played.transport,
        sleep=played.sleep,
        clock=lambda: 0.0,
        tell=told.append,
    )
    assert ["first capture", "waiting for the scheduler", "second capture"] == told
    assert {"agreed"} == {one.word for one in found.jobs}
    assert {"GET", "POST"} >= {request.method for request in played.server.requests}
    assert all("selfsubjectaccessreviews" in one.path for one in played.server.requests if one.method == "POST")
