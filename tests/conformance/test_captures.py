"""Two captures of one cluster: which predictions held, which did not, and which other changes overtook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from tests.apiserver.clusters import Direct
from tests.apiserver.server import ApiServer
from tests.builders import cluster, node, pod_group, pods
from tests.conformance.deeds import after
from vcdebug.capture import CaptureOptions
from vcdebug.capture.permission import cluster_role
from vcdebug.cli.commands.capture import config_map_name
from vcdebug.cli.reports.checks import verification_blocks, verification_document
from vcdebug.conformance import ClusterReader, Patience, Verification, judge_captures, verify_cluster
from vcdebug.conformance.api_objects import ApiAddress
from vcdebug.conformance.cycle_outcome import CycleOutcome, predicted_outcome
from vcdebug.conformance.object_store import key_of
from vcdebug.conformance.verdicts import OutcomeDifference, find_decision
from vcdebug.framework.columns import Level
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Manifest, Snapshot

RANDOM = Path("tests/golden/random")
CASES = sorted(path.name for path in RANDOM.iterdir() if path.name.split("-")[0] in ("basic", "preempt", "reclaim"))


def with_objects(snapshot: Snapshot, kind: str, manifests: list[Manifest]) -> Snapshot:
    return replace(snapshot, objects={**snapshot.objects, kind: manifests})


@pytest.mark.parametrize("case", CASES)
def test_the_recorded_outcome_agrees(case: str) -> None:
    before = load_snapshot(RANDOM / case)
    found = judge_captures(before, after(before, predicted_outcome(replay_cycle(before))))
    assert {"agreed"} == {one.verdict_word for one in found.jobs}
    assert 1 == found.cycles


def test_an_altered_bind_is_the_difference() -> None:
    before = load_snapshot(RANDOM / "basic-0000")
    outcome = predicted_outcome(replay_cycle(before))
    pod = min(outcome.bound)
    found = judge_captures(before, after(before, replace(outcome, bound={**outcome.bound, pod: "elsewhere"})))
    assert [(pod, "bound", outcome.bound[pod], "elsewhere")] == [
        difference[1:] for one in found.jobs for difference in one.differences
    ]
    assert ["differs"] == [one.verdict_word for one in found.jobs if one.verdict_word != "agreed"]


def test_missing_eviction_is_a_difference() -> None:
    before = load_snapshot(RANDOM / "preempt-0007")
    outcome = predicted_outcome(replay_cycle(before))
    spared = min(outcome.evicted)
    others = {pod: how for pod, how in outcome.evicted.items() if pod != spared}
    found = judge_captures(before, after(before, replace(outcome, evicted=others)))
    differing = [one for one in found.jobs if one.verdict_word == "differs"]
    assert [spared] == [difference.subject for one in differing for difference in one.differences]
    assert differing[0].decision is not None
    assert differing[0].decision.seq is not None


def test_a_victim_that_is_already_gone_was_evicted() -> None:
    before = load_snapshot(RANDOM / "preempt-0007")
    outcome = predicted_outcome(replay_cycle(before))
    later = after(before, outcome)
    left = [pod for pod in later.objects_of("Pod") if key_of(pod) not in outcome.evicted]
    assert judge_captures(before, with_objects(later, "Pod", left)).is_agreed


def test_job_that_differs_after_a_node_was_removed_is_overtaken() -> None:
    before = load_snapshot(RANDOM / "basic-0000")
    outcome = predicted_outcome(replay_cycle(before))
    pod = min(outcome.bound)
    others = {name: node for name, node in outcome.bound.items() if name != pod}
    later = after(before, replace(outcome, bound=others))
    gone = outcome.bound[pod]
    later = with_objects(later, "Node", [one for one in later.objects_of("Node") if key_of(one) != gone])
    found = judge_captures(before, later)
    overtaken = [one for one in found.jobs if one.verdict_word == "overtaken"]
    assert [(f"Node {gone} was removed",)] == [one.changes for one in overtaken]
    assert found.is_agreed


def stranger(name: str, on: str = "") -> Manifest:
    """A pod of another scheduler in another namespace."""
    spec = {"schedulerName": "default-scheduler", "containers": [{"name": "main"}]}
    metadata = {"namespace": "kube-system", "name": name, "uid": name, "creationTimestamp": "2026-11-01T00:00:00Z"}
    status = {"phase": "Running" if on else "Pending"}
    return {"kind": "Pod", "metadata": metadata, "spec": spec | ({"nodeName": on} if on else {}), "status": status}


@pytest.mark.parametrize("case", CASES)
def test_pods_that_decide_nothing_neither_excuse_a_difference_nor_make_one(case: str) -> None:
    before = load_snapshot(RANDOM / case)
    first = key_of(before.objects_of("Node")[0])
    left = with_objects(before, "Pod", [*before.objects_of("Pod"), stranger("leaves", first)])
    outcome = predicted_outcome(replay_cycle(left))
    quiet = after(before, outcome)
    busy = with_objects(quiet, "Pod", [*quiet.objects_of("Pod"), stranger("comes")])
    assert {"agreed"} == {one.verdict_word for one in judge_captures(left, busy).jobs}
    # Removing a pod from a node changes its scores; a pending pod of another scheduler changes nothing.
    outcome = predicted_outcome(replay_cycle(before))
    for pod in sorted(outcome.bound)[:1]:
        wrong = after(before, replace(outcome, bound={**outcome.bound, pod: "elsewhere"}))
        found = judge_captures(before, with_objects(wrong, "Pod", [*wrong.objects_of("Pod"), stranger("comes")]))
        assert ["differs"] == [one.verdict_word for one in found.jobs if one.verdict_word != "agreed"]
        assert (False, False) == (found.is_agreed, found.is_inconclusive)


def test_result_is_inconclusive_if_all_decisions_are_overtaken() -> None:
    room = [node("n1"), pod_group("j", phase="Inqueue"), *pods("j", 1)]
    before = cluster(*room)
    outcome = predicted_outcome(replay_cycle(before))
    assert {"default/j-0": "n1"} == outcome.bound
    later = after(before, replace(outcome, bound={}))
    found = judge_captures(before, with_objects(later, "Node", []))
    assert ["overtaken"] == [one.verdict_word for one in found.jobs if one.job == "default/j"]
    assert (True, True) == (found.is_agreed, found.is_inconclusive)
    document = verification_document(found)
    assert (False, True) == (document["agrees"], document["inconclusive"])


def test_result_is_inconclusive_without_decisions() -> None:
    running = cluster(node("n1"), pod_group("j", phase="Running"), *pods("j", 1, on="n1"))
    running = after(running, predicted_outcome(replay_cycle(running)))
    found = judge_captures(running, running)
    assert (True, True) == (found.is_agreed, found.is_inconclusive)
    text = " ".join(repr(block) for block in verification_blocks(found))
    assert "neither the replay nor the scheduler decided anything" in text
    waiting = cluster(node("n1"), pod_group("j", phase="Pending"), *pods("j", 1, cpu="99"))
    assert not judge_captures(waiting, waiting).is_agreed, "a scheduler that admits no job decides otherwise"


def test_a_pod_that_came_and_went_is_a_change() -> None:
    before = cluster(node("n1", cpu="2"), pod_group("j", phase="Inqueue"), *pods("j", 1, cpu="2"))
    met = stranger("short", "n1")
    met["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    refused = predicted_outcome(replay_cycle(with_objects(before, "Pod", [*before.objects_of("Pod"), met])))
    later = after(before, refused)
    words = {one.job: one.verdict_word for one in judge_captures(before, later).jobs}
    assert "differs" == words["default/j"]
    found = judge_captures(before, later, meanwhile=[*later.objects_of("Pod"), met])
    assert [("overtaken", ("Pod kube-system/short was created",))] == [
        (one.verdict_word, one.changes) for one in found.jobs
    ]


def test_a_missing_pod_without_evidence_is_no_eviction() -> None:
    before = load_snapshot(RANDOM / "basic-0000")
    later = after(before, predicted_outcome(replay_cycle(before)))
    running = next(pod for pod in later.objects_of("Pod") if pod["spec"].get("nodeName"))
    left = [pod for pod in later.objects_of("Pod") if pod is not running]
    found = judge_captures(before, with_objects(later, "Pod", left))
    assert (True, {}) == (found.is_agreed, found.observed.evicted)


def unforeseen() -> tuple[Snapshot, Snapshot, Manifest]:
    """A snapshot, its cluster after the predicted cycle but without one running pod, and that pod."""
    before = load_snapshot(RANDOM / "basic-0000")
    later = after(before, predicted_outcome(replay_cycle(before)))
    running = next(pod for pod in later.objects_of("Pod") if pod["spec"].get("nodeName"))
    return before, with_objects(later, "Pod", [pod for pod in later.objects_of("Pod") if pod is not running]), running


def test_unpredicted_eviction_of_a_deleted_pod_is_a_difference() -> None:
    before, later, running = unforeseen()
    found = judge_captures(before, later, [running["metadata"]["uid"]])
    assert [(key_of(running), "evicted", "nothing", "yes")] == [
        difference[1:] for one in found.jobs for difference in one.differences
    ]
    assert not found.is_agreed


def test_eviction_counts_with_a_pod_condition_or_an_event_of_the_scheduler() -> None:
    before, later, running = unforeseen()
    before.scheduler_conf = later.scheduler_conf = None
    status = {**running["status"], "conditions": [{"type": "DisruptionTarget", "reason": "PreemptionByScheduler"}]}
    metadata = {**running["metadata"], "deletionTimestamp": "2026-11-01T00:00:30Z"}
    leaving = {**running, "status": status, "metadata": metadata}
    uid = running["metadata"]["uid"]
    event = {"metadata": {"name": "e"}, "reason": "Evict", "involvedObject": {"kind": "Pod", "uid": uid}}
    for seen, said in ((leaving, None), (None, event), (None, None)):
        played = Played(before, later, seen)
        if said is not None:
            played.server.singles["/api/v1/events"] = {"items": [said]}
        found = verified(played)
        evicted = [one[1:3] for job in found.jobs for one in job.differences if one.part == "evicted"]
        assert ([(key_of(running), "evicted")] if seen or said else []) == evicted


def test_the_choice_that_is_named_is_the_one_made_for_the_pod() -> None:
    snapshot = load_snapshot(RANDOM / "basic-0000")
    recording = replay_cycle(snapshot)
    for pod, chosen in predicted_outcome(recording).bound.items():
        found = find_decision(recording, OutcomeDifference("", pod, "bound", chosen, "elsewhere"))
        assert found.seq is not None
        assert [pod] == [span.name for span in recording.span_tree.path_to(found.seq) if span.level is Level.TASK]


class Played:
    """A cluster whose scheduler acts after its first capture."""

    def __init__(self, before: Snapshot, later: Snapshot, between: Manifest | None = None) -> None:
        self.server = ApiServer()
        for kind, manifests in before.objects.items():
            for manifest in manifests:
                self.server.store.put_object(KIND_BY_NAME[kind].api_path, manifest)
        self.server.singles["/version"] = {"major": "1", "minor": "34"}
        self._before, self._later, self._between = before, later, between
        self.looks = 0

    def transport(self) -> Direct:
        return Direct(self.server)

    def sleep(self, _: float) -> None:
        """Replace a sleep: the second call applies the scheduler's writes."""
        self.looks += 1
        pods = KIND_BY_NAME["Pod"].api_path
        if self.looks == 1 and self._between is not None:
            self.server.store.put_object(pods, self._between)
        if self.looks == 2:
            there = {key_of(pod) for pod in self._later.objects_of("Pod")}
            for key in (key_of(pod) for pod in self._before.objects_of("Pod")):
                if key not in there:
                    self.server.store.delete_object(pods, key)
            for kind in ("Pod", "PodGroup"):
                for manifest in self._later.objects_of(kind):
                    self.server.store.put_object(KIND_BY_NAME[kind].api_path, manifest)


def verified(played: Played, tell: Callable[[str], None] | None = None) -> Verification:
    """The verdict on the next cycle."""
    options, patience = CaptureOptions(first_wait=0.0), Patience(max_seconds=10, pause=1)
    reader = ClusterReader(options, played.transport, played.sleep, lambda: 0.0)
    return next(verify_cluster(reader, patience, tell=tell))


def test_a_cluster_is_captured_before_and_after_its_scheduler_ran() -> None:
    before = load_snapshot(RANDOM / "preempt-0007")
    before.scheduler_conf = None
    played = Played(before, after(before, predicted_outcome(replay_cycle(replace(before, scheduler_conf=None)))))
    notes: list[str] = []
    found = verified(played, notes.append)
    assert ["first capture", "waiting for the scheduler", "second capture"] == notes
    assert {"agreed"} == {one.verdict_word for one in found.jobs}
    assert {"GET", "POST"} >= {request.method for request in played.server.requests}
    assert all("selfsubjectaccessreviews" in one.path for one in played.server.requests if one.method == "POST")


def test_verify_reads_only_what_the_printed_role_allows() -> None:
    before = load_snapshot(RANDOM / "preempt-0007")
    later = after(before, predicted_outcome(replay_cycle(before)))
    left = [pod for pod in later.objects_of("Pod") if "deletionTimestamp" not in pod["metadata"]]
    assert len(left) < len(later.objects_of("Pod"))
    before.scheduler_conf = None
    played = Played(before, with_objects(later, "Pod", left))
    verified(played)
    rules = yaml.safe_load(cluster_role(config_map_name("")))["rules"]
    asked = [request for request in played.server.requests if request.path not in PUBLIC]
    reviews = [one for one in asked if one.path.endswith("/selfsubjectaccessreviews")]
    reads = [one for one in asked if one not in reviews]
    assert any(one.path == "/api/v1/events" for one in reads), "what became of the pods that are gone was asked"
    assert [] == [one.path for one in reads if one.method != "GET" or not allowed(rules, one.path)]


PUBLIC = ("/version", "/readyz", "/api", "/apis")
"""Paths that every authenticated user may read."""


def allowed(rules: list[dict[str, Any]], path: str) -> bool:
    """Whether a role allows a GET: `list` of a kind everywhere, or `get` of a named object."""
    found = ApiAddress.from_path(path)
    verb = "get" if found.name else "list"
    return any(
        found.group in rule["apiGroups"]
        and found.plural in rule["resources"]
        and verb in rule["verbs"]
        and (not rule.get("resourceNames") or found.name in rule["resourceNames"])
        for rule in rules
    )


def test_role_allows_only_the_paths_that_a_capture_reads() -> None:
    rules = yaml.safe_load(cluster_role(config_map_name("")))["rules"]
    names = "/api/v1/namespaces/volcano-system/configmaps"
    assert [True, False, True, False, False] == [
        allowed(rules, path)
        for path in (
            "/api/v1/pods",
            "/api/v1/secrets",
            f"{names}/volcano-scheduler-configmap",
            f"{names}/others",
            "/api/v1/endpoints",
        )
    ]


def test_node_in_the_message_of_a_pending_pod_is_a_choice() -> None:
    message = "Pod x/a can possibly be assigned to node-1, once resource is released and minAvailable is satisfied"
    waiting = {"x/a": ("Unschedulable", message), "x/b": ("Unschedulable", "0/3 nodes are unavailable")}
    assert {"x/a": "node-1", "x/c": "node-2"} == CycleOutcome(bound={"x/c": "node-2"}, waiting=waiting).node_by_pod
