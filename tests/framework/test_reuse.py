"""Reuse of a recorded cycle: its key covers every input, and a replay with reuse equals one without."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import CREATED, cluster, conf_of, node, pod, pod_group, pods, priority_class, queue
from tests.recorded import LOOSE, golden, written
from vcdebug.framework import cycle
from vcdebug.framework.record import PredicateEvent
from vcdebug.framework.reuse import COMPARED_FIELDS, UNSEEN_KINDS
from vcdebug.framework.session import Session
from vcdebug.model.pod import NODE_ANNOTATION, STATUS_ANNOTATION
from vcdebug.model.pod_reader import PodInputs, pod_inputs
from vcdebug.recording.recording import Recording, disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.cycle_inputs import (
    ChanceSettings,
    ClaimReservation,
    CpuReservation,
    ForcedAnswer,
    SchedulerProcess,
)
from vcdebug.snapshot.kinds import KINDS
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags, Snapshot

Change = Callable[[Snapshot], Snapshot]

DESCRIBING = ("name", "description", "origin", "provenance", "problems", "workloads")
"""Fields of a snapshot that no cycle reads."""
TIERS = ("priority gang", "drf predicates proportion nodeorder binpack")
OTHER_FLAGS: dict[str, Any] = {
    "default_queue": "other",
    "scheduler_names": ("volcano", "kai"),
    "priority_class": False,
    "minimum_feasible_nodes": 1,
    "minimum_percentage_nodes_to_find": 50,
    "percentage_nodes_to_find": 34,
    "node_selector": ("zone:a",),
    "ignored_provisioners": ("csi.example",),
    "csi_storage": True,
    "sharding_mode": "hard",
    "sharding_name": "other",
    "server_version": (1, 30),
    "feature_gates": {"PriorityClass": False},
    "panic_on_error": False,
}
OTHER_CHANCE: dict[str, Any] = {
    "search_start": 2,
    "order_seed": 3,
    "tie_seed": 3,
    "choices": {"default/j-0": "n3"},
    "searches": {"default/j-0": "1-2"},
    "dry_runs": {"default/j-0": "n2"},
    "preempts": {"default/j-0": "n2"},
    "reclaims": {"default/j-0": "n2"},
    "job_domains": {"default/j": "s1"},
    "sub_job_domains": {"default/j": "s1"},
    "cards": {"default/j-0": "npu-1"},
    "card_news": {"default/j-0": "early"},
}
OTHER_PROCESS: dict[str, Any] = {
    "started": Snapshot("").now - timedelta(hours=1),
    "assumed": True,
    "last_rescheduling": Snapshot("").now - timedelta(minutes=5),
    "last_eviction": Snapshot("").now - timedelta(minutes=5),
    "sessions": 4,
    "hyper_nodes": {"default/j": {"": "s1"}},
    "reserved_cpus": (CpuReservation("n1", "default/j-0", "", "0-1"),),
    "reserved_claims": (ClaimReservation("default/c", "default/j-0", "n1"),),
}
USAGE = {"n1": {"time": CREATED, "cpu": {"5m": 90}, "mem": {"5m": 90}}}


def world() -> Snapshot:
    """Three Pending jobs, one of them too large for any node, and a running job."""
    running = [pod_group("r", phase="Running"), *pods("r", 3, cpu="4", on="n2")]
    waiting = [pod_group("j", min_member=2), *pods("j", 3, cpu="5", role="w"), pod_group("k"), *pods("k", 2, cpu="3")]
    nodes = [node("n1", labels={"zone": "a"}), node("n2", cpu="16"), node("n3"), node("n4", unschedulable=True)]
    never = [pod_group("large"), *pods("large", 1, cpu="99")]
    conf = conf_of(*TIERS, actions="enqueue, allocate, backfill")
    return cluster(nodes, queue(), queue("other"), priority_class("high", 9), running, waiting, never, conf=conf)


def setting(part: str, name: str, value: Any) -> Change:
    return lambda base: replace(base, **{part: replace(getattr(base, part), **{name: value})})


def whole(part: str, value: Any) -> Change:
    return lambda base: replace(base, **{part: value})


def other_conf(old: str, new: str) -> Change:
    return lambda base: replace(base, scheduler_conf=(base.scheduler_conf or "").replace(old, new))


CHANGES: dict[str, Change] = {
    **{f"flags.{name}": setting("flags", name, value) for name, value in OTHER_FLAGS.items()},
    "flags.release": lambda base: replace(base, flags=replace(base.flags, release=resolve_release("v1.13.0").release)),
    **{f"chance.{name}": setting("chance", name, value) for name, value in OTHER_CHANCE.items()},
    **{f"process.{name}": setting("process", name, value) for name, value in OTHER_PROCESS.items()},
    "now": lambda base: replace(base, now=base.now + timedelta(hours=2)),
    "answers": whole("answers", (ForcedAnswer(4, "", "", "no"),)),
    "usage": whole("usage", USAGE),
    "extender": whole("extender", {"prioritize": {"default/j-0": [{"host": "n3", "score": 9}]}}),
    "device_config": whole("device_config", "nvidia:\n  resourceCountName: example.com/gpu\n"),
    "persistence": whole("persistence", "on"),
    "bound": whole("bound", {"default/j-0": "n3"}),
    "scheduler_conf": other_conf("  - name: gang\n", ""),
}
"""A change of every setting, by field of the snapshot."""


def test_edits_cover_every_setting_of_a_snapshot() -> None:
    parts = {"flags": SchedulerFlags, "chance": ChanceSettings, "process": SchedulerProcess}
    single = [name for name in Snapshot.__struct_fields__ if name not in (*parts, *DESCRIBING, "objects")]
    inside = [f"{part}.{name}" for part, kind in parts.items() for name in kind.__struct_fields__]
    assert sorted([*single, *inside]) == sorted(CHANGES)


def test_the_inputs_have_every_part_of_a_snapshot_that_a_cycle_reads() -> None:
    read = {*Snapshot.__struct_fields__} - {*DESCRIBING}
    assert read - {"scheduler_conf", "objects"} == {*COMPARED_FIELDS}


def reuses(monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot, base: Recording) -> tuple[Recording, bool]:
    """(recording with reuse, whether the previous cycle was found reusable)."""
    found: list[bool] = []
    find = cycle.find_previous_cycle

    def noting(before: Session, now: Session) -> object:
        previous = find(before, now)
        found.append(previous is not None)
        return previous

    monkeypatch.setattr(cycle, "find_previous_cycle", noting)
    recording = replay_cycle(snapshot, reuse_from=base)
    monkeypatch.undo()
    return recording, any(found)


def same_with_reuse(monkeypatch: pytest.MonkeyPatch, base: Recording, changed: Snapshot) -> list[bool]:
    """Compare replays with and without reuse in both directions; returns whether each reused the other."""
    found = []
    with disposing(replay_cycle(changed)) as other:
        for before, after in ((base, other), (other, base)):
            again, reused = reuses(monkeypatch, after.snapshot, before)
            with disposing(again):
                assert written(again) == written(after)
            found.append(reused)
    return found


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_another_setting_is_another_key_and_the_replay_is_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    base = replay_cycle(world())
    assert [False, False] == same_with_reuse(monkeypatch, base, CHANGES[name](base.snapshot))


def test_the_same_settings_are_the_same_key(monkeypatch: pytest.MonkeyPatch) -> None:
    base = replay_cycle(world())
    assert [True, True] == same_with_reuse(monkeypatch, base, deepcopy_settings(base.snapshot))


def deepcopy_settings(base: Snapshot) -> Snapshot:
    """A snapshot with copied settings and the same manifests."""
    copied = {name: deepcopy(getattr(base, name)) for name in Snapshot.__struct_fields__ if name != "objects"}
    return Snapshot(objects={**base.objects}, **copied)


NAMES = ["mixed-0000", "devices-0000", "nominated-0000", "volumes-0001", "usage-0000", "predicates-0001", "numa-0000"]
"""Recorded cases that depend on other settings than the cluster above."""


@pytest.mark.parametrize(("name", "change"), [(NAMES[at % len(NAMES)], one) for at, one in enumerate(sorted(CHANGES))])
def test_a_recorded_case_under_another_setting_is_the_same(
    monkeypatch: pytest.MonkeyPatch, name: str, change: str
) -> None:
    base = golden(name)
    assert not any(same_with_reuse(monkeypatch, base, CHANGES[change](base.snapshot)))


STORED_KINDS = [kind for kind in KINDS if not kind.settings]


def with_list(base: Snapshot, kind: str, manifests: list[Manifest]) -> Snapshot:
    return replace(base, objects={**base.objects, kind: manifests})


@pytest.mark.parametrize("kind", STORED_KINDS, ids=lambda kind: kind.name)
def test_another_object_is_another_key_unless_no_search_reads_its_kind(
    monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    base = world()
    new = {"kind": kind.name, "metadata": {"name": "new", **({"namespace": "default"} if kind.namespaced else {})}}
    more = with_list(base, kind.name, [*base.objects_of(kind.name), new])
    free = kind.name in (*UNSEEN_KINDS, "Pod")
    assert [free, free] == same_with_reuse(monkeypatch, replay_cycle(base), more)


def edited_lists(manifests: list[Manifest]) -> Iterator[list[Manifest]]:
    """Yield the list without its last object, with a changed first object, and reversed."""
    first = deepcopy(manifests[0])
    first["metadata"].setdefault("labels", {})["added"] = "1"
    for name, value in first.get("spec", {}).items():
        first["spec"][name] = value + 1 if type(value) is int else value
    yield manifests[:-1]
    yield [first, *manifests[1:]]
    yield manifests[::-1]


@pytest.mark.parametrize("name", [*NAMES, "capacity-0002", "hypernode-0005", "gang-0004"])
def test_a_recorded_case_with_other_objects_of_a_kind_is_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    base = golden(name)
    for kind, manifests in base.snapshot.objects.items():
        for others in edited_lists(manifests):
            reused = same_with_reuse(monkeypatch, base, with_list(base.snapshot, kind, others))
            assert kind in (*UNSEEN_KINDS, "Pod") or not any(reused), kind


def test_each_named_case_is_in_the_golden_folder() -> None:
    assert [] == [name for name in NAMES if not Path(LOOSE / "random" / name).is_dir()]


# Pods are the most frequently edited kind.

PLACED, WAITING = "r-0", "k-0"


def edited_pod(base: Snapshot, name: str, **spec: Any) -> Snapshot:
    manifests = [
        {**one, "spec": {**one["spec"], **spec}} if one["metadata"]["name"] == name else one
        for one in base.objects_of("Pod")
    ]
    return with_list(base, "Pod", manifests)


@pytest.mark.parametrize(
    ("name", "spec", "expected"),
    [
        (WAITING, {"nodeSelector": {"zone": "a"}}, [True, True]),
        (WAITING, {"nodeName": "n3"}, [False, False]),
        (PLACED, {"containers": []}, [False, False]),
        (PLACED, {"nodeName": ""}, [False, False]),
    ],
)
def test_only_pods_without_a_node_may_differ(
    monkeypatch: pytest.MonkeyPatch, name: str, spec: dict[str, Any], expected: list[bool]
) -> None:
    base = world()
    assert expected == same_with_reuse(monkeypatch, replay_cycle(base), edited_pod(base, name, **spec))


def test_a_pod_that_is_no_longer_restored_to_its_node_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one Pending pod has annotations that switch task state persistence on, and the pod uses resources on a node
    from the start of the cycle, which no recorded step shows.
    """
    notes = {STATUS_ANNOTATION: "true", NODE_ANNOTATION: "n1"}
    held = pod("a-0", "a", requests={"cpu": "14"}, annotations=notes)
    leaving = [pod_group("r", phase="Running"), *pods("r", 1, cpu="9", on="n1", deleting=True)]
    conf = conf_of(*TIERS)
    groups = [pod_group("a", min_member=9), pod_group("j")]
    base = cluster([node("n1", cpu="17"), node("n2", cpu="3")], leaving, groups, held, pods("j", 1, cpu="5"), conf=conf)
    plain = deepcopy(held)
    plain["metadata"]["annotations"] = {}
    other = with_list(base, "Pod", [plain if one is held else one for one in base.objects_of("Pod")])
    assert [False, False] == same_with_reuse(monkeypatch, replay_cycle(base), other)


def test_a_search_is_made_again_where_another_cache_of_errors_goes_before_it() -> None:
    """With minMember 1, allocate visits the job twice, and the second visit has no cached error for n1."""
    nodes = [node("n1", labels={"zone": "a"}), node("n2", labels={"zone": "b"})]
    first, second = pods("j", 2, role="w")
    first["spec"]["nodeSelector"] = {"zone": "b"}
    both, single = (
        cluster(nodes, first, second, pod_group("j", min_member=count), conf=conf_of(*TIERS)) for count in (2, 1)
    )
    single.objects = {**both.objects, "PodGroup": single.objects["PodGroup"]}
    alone = [replay_cycle(snapshot) for snapshot in (both, single)]
    found = [
        [len(event.feasible) for event in recording.events if isinstance(event, PredicateEvent)] for recording in alone
    ]
    assert [[1, 1], [1, 2]] == found
    assert written(replay_cycle(single, reuse_from=alone[0])) == written(alone[1])
    assert written(replay_cycle(both, reuse_from=alone[1])) == written(alone[0])


# Inputs of reading a pod


def test_the_inputs_of_pods_tell_what_they_are_read_with() -> None:
    base = world()
    later = replace(base, process=SchedulerProcess(started=base.now - timedelta(hours=1)))
    gpu = ("example.com/gpu",)
    assert PodInputs(base.flags, (), None) == pod_inputs(base, ()) == pod_inputs(later, ())
    assert pod_inputs(base, gpu) != pod_inputs(base, ())
    assert pod_inputs(later, gpu) != pod_inputs(base, gpu) == pod_inputs(replace(later, now=CREATED_NOW), gpu)
    assert pod_inputs(replace(base, flags=replace(base.flags, default_queue="q")), ()) != pod_inputs(base, ())


CREATED_NOW = Snapshot("").now - timedelta(hours=1)
"""The time at which the process of `later` starts, so that its cycle is the first one."""
