"""Schedulers with one wrong write each: verify finds each of them, and reports no other difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, hyper_node, node, pod, pod_group, pods, priority_class
from tests.conformance.recorded_program import judged, requests_of
from tests.conformance.test_statuses import vgpus
from vcdebug.conformance.api_objects import ApiRequest
from vcdebug.conformance.cycle_outcome import CycleOutcome, predicted_outcome
from vcdebug.conformance.verdicts import JobVerdict
from vcdebug.model.pod import QUEUE_GATE, VOLCANO_GATE
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags, Snapshot

NODES = [node("n1", cpu="4"), node("n2", cpu="8"), node("n3", cpu="16")]
SCORED = conf_of("priority gang", "predicates nodeorder proportion", actions="enqueue, allocate")
IDS = "volcano.sh/vgpu-ids-new"


def scored() -> Snapshot:
    """One pod for three nodes of different size, and one pod that fits no node."""
    waits = [pod_group("huge", phase="Inqueue"), *pods("huge", 1, cpu="99")]
    return cluster(NODES, pod_group("j", phase="Pending"), pods("j", 1, cpu="1"), waits, conf=SCORED)


def aged() -> Snapshot:
    """Room for one of two jobs: the older one gets it."""
    young = [pod_group("young", phase="Inqueue"), *pods("young", 1, cpu="3")]
    old = [pod_group("zold", phase="Inqueue"), *pods("zold", 1, cpu="3")]
    old[0]["metadata"]["creationTimestamp"] = "2026-10-01T12:00:00Z"
    return cluster(NODES[:1], young, old, conf=SCORED)


def full() -> Snapshot:
    """A high-priority pod preempts the pod of one of two full nodes."""
    low = [pod(f"low-{row}", "low", on=f"n{row}", requests={"cpu": "4"}, priority=1) for row in (1, 2)]
    high = pods("high", 1, cpu="4", priority=9, priorityClassName="high")
    groups = [pod_group("low", phase="Running", priority_class="low"), pod_group("high", priority_class="high")]
    ranks = [priority_class("high", 9), priority_class("low", 1)]
    conf = conf_of("priority gang conformance", "predicates nodeorder", actions="allocate, preempt")
    return cluster([node("n1", cpu="4"), node("n2", cpu="4")], groups, low, high, ranks, conf=conf)


def racks() -> Snapshot:
    """A gang that must stay in one of two racks."""
    rooms = [node("n0", cpu="4"), node("n1", cpu="4"), node("n2", cpu="4"), node("n3", cpu="4")]
    tree = [hyper_node("s0", 1, nodes=["n0", "n1"]), hyper_node("s1", 1, nodes=["n2", "n3"])]
    group = pod_group("j", min_member=2, networkTopology={"mode": "hard", "highestTierAllowed": 1})
    conf = conf_of("gang", "predicates nodeorder network-topology-aware")
    return cluster(rooms, tree, group, pods("j", 2, cpu="3"), conf=conf)


def gated() -> Snapshot:
    """A pod with Volcano's scheduling gate, whose queue has room for it."""
    waiting = pod("j-0", "j", requests={"cpu": "1"}, annotations={VOLCANO_GATE: "true"})
    waiting["spec"]["schedulingGates"] = [{"name": VOLCANO_GATE}]
    snapshot = cluster(NODES, pod_group("j"), waiting, conf=conf_of("gang", "predicates capacity"))
    return replace(snapshot, flags=replace(SchedulerFlags(), feature_gates={QUEUE_GATE: True}))


def volumes() -> Snapshot:
    """A claim that fits two volumes: the scheduler takes the smaller one."""
    storage_class = {
        "kind": "StorageClass",
        "metadata": {"name": "disks"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default", "uid": "c"},
        "spec": {"storageClassName": "disks", "accessModes": ["ReadWriteOnce"], **requests_storage("5Gi")},
        "status": {"phase": "Pending"},
    }
    asks = pods("j", 1, cpu="1")
    asks[0]["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    both = [volume("small", "8Gi"), volume("large", "80Gi")]
    snapshot = cluster(NODES[:1], pod_group("j"), asks, storage_class, claim, both, conf=SCORED)
    provisioner = str(storage_class["provisioner"])
    return replace(snapshot, flags=replace(SchedulerFlags(), ignored_provisioners=(provisioner,)))


def requests_storage(size: str) -> Manifest:
    return {"resources": {"requests": {"storage": size}}}


def volume(name: str, size: str) -> Manifest:
    spec = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "disks"}
    status = {"phase": "Available"}
    return {"kind": "PersistentVolume", "metadata": {"name": name, "uid": name}, "spec": spec, "status": status}


Change = Callable[[CycleOutcome], CycleOutcome]


class Mutant(NamedTuple):
    """A snapshot, the wrong write of a scheduler, and the expected verdict."""

    snapshot: Callable[[], Snapshot]
    change: Change
    about: str
    word: str = "differs"


def moved(where: str) -> Change:
    return lambda right: replace(right, bound=dict.fromkeys(right.bound, where), events={})


def silent(right: CycleOutcome) -> CycleOutcome:
    """Without the events of one reason."""
    return replace(right, events={key: said for key, said in right.events.items() if key[2] != "FailedScheduling"})


def status(kind: str, **numbers: str) -> Change:
    def change(right: CycleOutcome) -> CycleOutcome:
        said = right.statuses or {}
        return replace(
            right, statuses={key: {**each, **(numbers if key[0] == kind else {})} for key, each in said.items()}
        )

    return change


def no_queue_status(right: CycleOutcome) -> CycleOutcome:
    return replace(right, statuses={key: said for key, said in (right.statuses or {}).items() if key[0] != "Queue"})


def blank(right: CycleOutcome) -> CycleOutcome:
    return replace(right, waiting={pod: (reason, f"{text} ") for pod, (reason, text) in right.waiting.items()})


def younger_first(right: CycleOutcome) -> CycleOutcome:
    reason, message = right.waiting["default/young-0"]
    return replace(right, bound={"default/young-0": "n1"}, waiting={"default/zold-0": (reason, message)}, events={})


def other_phase(right: CycleOutcome) -> CycleOutcome:
    return replace(right, groups={job: said._replace(phase="Unknown") for job, said in right.groups.items()})


def other_nomination(right: CycleOutcome) -> CycleOutcome:
    ((pod_key, where),) = right.nominated.items()
    return replace(right, nominated={pod_key: "n1" if where == "n2" else "n2"})


def not_admitted(right: CycleOutcome) -> CycleOutcome:
    return replace(right, groups={}, bound={}, events={})


def other_event(right: CycleOutcome) -> CycleOutcome:
    return replace(right, events={key: tuple(f"{one}!" for one in said) for key, said in right.events.items()})


MUTANTS: Mapping[str, Mutant] = {
    "second-best node": Mutant(scored, moved("n2"), "bound"),
    "no queue status": Mutant(scored, no_queue_status, "status"),
    "wrong counts": Mutant(scored, status("PodGroup", running="7"), "status"),
    "wrong hypernode": Mutant(racks, status("PodGroup", hypernode="s9"), "status"),
    "worst node": Mutant(scored, moved("n1"), "bound"),
    "a blank in a message": Mutant(scored, blank, "PodScheduled", "different text"),
    "younger job first": Mutant(aged, younger_first, "bound"),
    "nomination of another node": Mutant(full, other_nomination, "nominated"),
    "no nomination": Mutant(full, lambda right: replace(right, nominated={}), "nominated"),
    "scheduling gate kept": Mutant(gated, lambda right: replace(right, opened_gates={}), "scheduling gate"),
    "not admitted": Mutant(scored, not_admitted, "admitted"),
    "no event of a reason": Mutant(scored, silent, "event FailedScheduling", "different text"),
    "another phase": Mutant(scored, other_phase, "status"),
    "other words in events": Mutant(scored, other_event, "event Scheduled", "different text"),
}


def found_by(verdicts: tuple[JobVerdict, ...]) -> dict[str, str]:
    """The differences, each with the verdict on its job."""
    return {each.part: one.verdict_word for one in verdicts for each in one.differences}


@pytest.mark.parametrize("case", [scored, aged, full, racks, gated], ids=lambda case: case.__name__)
def test_a_scheduler_that_writes_what_the_replay_does_agrees(case: Callable[[], Snapshot]) -> None:
    snapshot = case()
    outcome = predicted_outcome(replay_cycle(snapshot))
    assert {} == found_by(judged(snapshot, requests_of(snapshot, outcome)))


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found(name: str) -> None:
    mutant = MUTANTS[name]
    snapshot = mutant.snapshot()
    right = predicted_outcome(replay_cycle(snapshot))
    wrong = mutant.change(right)
    assert wrong != right
    assert mutant.word == found_by(judged(snapshot, requests_of(snapshot, wrong))).get(mutant.about)


def test_an_eviction_without_a_delete_is_found() -> None:
    snapshot = full()
    outcome = predicted_outcome(replay_cycle(snapshot))
    assert outcome.evicted
    kept = [one for one in requests_of(snapshot, outcome) if one.method != "DELETE"]
    assert "differs" == found_by(judged(snapshot, kept)).get("evicted")


def test_virtual_gpus_that_do_not_exist_are_found() -> None:
    snapshot = vgpus()
    outcome = predicted_outcome(replay_cycle(snapshot))
    words = {}
    for card in ("GPU-a", "GPU-none"):
        notes = {"default/a-0": {IDS: f"{card},NVIDIA,1000,0:;"}}
        words[card] = found_by(judged(snapshot, requests_of(snapshot, outcome, notes))).get("devices")
    assert {"GPU-a": None, "GPU-none": "differs"} == words


@pytest.mark.parametrize(("name", "found"), [("small", None), ("large", "differs")])
def test_a_volume_that_is_not_the_smallest_that_fits_is_found(name: str, found: str | None) -> None:
    snapshot = volumes()
    outcome = predicted_outcome(replay_cycle(snapshot))
    assert {"default/j-0": {"default/data": "a volume of 8Gi disks its nodes: none"}} == outcome.devices
    chosen = next(one for one in snapshot.objects_of("PersistentVolume") if one["metadata"]["name"] == name)
    reference = {"namespace": "default", "name": "data", "uid": "c"}
    body = {**chosen, "spec": {**chosen["spec"], "claimRef": reference}}
    bind = ApiRequest("PUT", f"/api/v1/persistentvolumes/{name}", {}, {}, body)
    others = [*requests_of(snapshot, outcome)]
    assert found == found_by(judged(snapshot, [bind, *others])).get("devices")
    assert "differs" == found_by(judged(snapshot, others)).get("devices"), "no volume at all"
