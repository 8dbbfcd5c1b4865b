"""The changes between two cycles, rule by rule."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, queue
from vcdebug.errors import SnapshotError
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.framework.session import SESSION_UID
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import CpuReservation, SchedulerProcess
from vcdebug.snapshot.gathered_objects import read_arrivals
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.whatif.cycles import CycleChain
from vcdebug.whatif.next_cycle import BetweenCycles, next_snapshot, parse_interval

CONF = conf_of("priority gang", "predicates nodeorder", actions="enqueue, allocate, backfill")
START = "2026-11-01T00:00:00Z"


def small(*objects: Any, conf: str = CONF) -> Snapshot:
    return cluster(node("n1", cpu="2"), *objects, conf=conf)


def named(snapshot: Snapshot, name: str, kind: str = "Pod") -> Manifest:
    return next(manifest for manifest in snapshot.objects_of(kind) if manifest["metadata"]["name"] == name)


def scheduled(manifest: Manifest) -> Manifest:
    """The PodScheduled condition of a pod."""
    (found,) = [one for one in manifest["status"]["conditions"] if one["type"] == "PodScheduled"]
    return dict(found)


def test_a_bound_pod_was_scheduled_now_and_nominated_no_more() -> None:
    waiting = pod("a-0", "a", requests={"cpu": "1"})
    old = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": "2020"}
    waiting["status"] |= {"nominatedNodeName": "n1", "conditions": [{"type": "Other", "status": "True"}, old]}
    after = named(next_snapshot(replay_cycle(small(pod_group("a"), waiting))), "a-0")
    assert ["Other", "PodScheduled"] == [one["type"] for one in after["status"]["conditions"]]
    assert {"type": "PodScheduled", "status": "True", "lastTransitionTime": START} == scheduled(after)
    assert "nominatedNodeName" not in after["status"]


def test_pending_pod_gets_a_condition_whose_time_stays_until_its_status_changes() -> None:
    cycles = CycleChain(replay_cycle(small(pod_group("a"), pods("a", 1, cpu="4"))))
    second, third = (scheduled(named(cycles.run_next().snapshot, "a-0")) for _ in range(2))
    assert ("False", "Unschedulable", START) == tuple(second[key] for key in ("status", "reason", "lastTransitionTime"))
    assert "Insufficient cpu" in second["message"] or "0/1 nodes" in second["message"]
    assert START == third["lastTransitionTime"]


def test_next_snapshot_keeps_unwritten_objects_identical() -> None:
    snapshot = small(pod_group("a", phase="Running"), pods("a", 1, on="n1"), queue("idle"))
    after = next_snapshot(replay_cycle(snapshot))
    assert named(snapshot, "a-0") is named(after, "a-0")
    assert named(snapshot, "n1", "Node") is named(after, "n1", "Node")


def claiming(*names: str) -> list[Manifest]:
    """One pod, PodGroup and resource claim per name; all claims request the only device."""
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    listed = {"driver": "gpu", "nodeName": "n1", "pool": pool, "devices": [{"name": "d"}]}
    wanted = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    found: list[Manifest] = [
        {"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": listed},
        {"kind": "DeviceClass", "metadata": {"name": "gpu"}},
    ]
    for name in names:
        claim = {"kind": "ResourceClaim", "metadata": {"name": name, "namespace": "default"}, "spec": wanted}
        refers = [{"name": "g", "resourceClaimName": name}]
        found += [claim, pod_group(name), pod(f"{name}-0", name, requests={"cpu": "100m"}, resourceClaims=refers)]
    return found


def test_a_claim_that_was_reserved_for_a_pod_of_a_pipelined_gang_stays_reserved_in_the_process() -> None:
    """Upstream releases such a claim only in the session that reserved it: no pod gets it, and its device is in use."""
    leaving = pod("r-0", "r", on="n1", requests={"cpu": "1500m"}, deleting=True)
    claims = [one for one in claiming("a", "b") if one["kind"] != "PodGroup"]
    gang = [pod_group("a", min_member=2), pod_group("b"), pod("a-1", "a", requests={"cpu": "1500m"})]
    first = replay_cycle(small(pod_group("r", phase="Running"), leaving, *claims, *gang))
    second = next_snapshot(first)
    assert ["default/a-1"] == [one.task for one in cycle_effects(first).pipelined]
    (kept,) = second.process.reserved_claims
    assert ("default/a", "default/a-0", "n1") == (kept.claim, kept.pod, kept.node)
    assert ["d"] == [one["device"] for one in kept.devices or ()]
    second.objects["Pod"] = [one for one in second.objects_of("Pod") if one["metadata"]["name"] != "r-0"]
    cycle = replay_cycle(second)
    assert () == cycle_effects(cycle).bound
    assert "default/a is in the process of being allocated" in str(scheduled(named(next_snapshot(cycle), "a-0")))
    assert (kept,) == next_snapshot(cycle).process.reserved_claims
    found = explain_by_name(cycle, "default/a")
    assert "ResourceClaim default/a is reserved for default/a-0 on n1." in found.full_text
    assert found.advice_texts[0].startswith("Restart the scheduler, which then forgets the reservation")
    # Another process has forgotten it.
    second.process = SchedulerProcess()
    assert {"default/a-0", "default/a-1"} == {one.task for one in cycle_effects(replay_cycle(second)).bound}


def test_a_claim_has_its_devices_from_the_next_cycle_on_until_its_pod_is_done() -> None:
    first = replay_cycle(small(*claiming("a", "b")))
    second = next_snapshot(first)
    held, free = (named(second, name, "ResourceClaim") for name in "ab")
    assert {"default/a-0": "n1"} == {one.task: one.node for one in cycle_effects(first).bound}
    assert ["d"] == [one["device"] for one in held["status"]["allocation"]["devices"]["results"]]
    assert ["a-0"] == [user["name"] for user in held["status"]["reservedFor"]]
    assert named(first.snapshot, "b", "ResourceClaim") is free
    assert () == cycle_effects(replay_cycle(second)).bound
    assert second.objects_of("ResourceClaim") is next_snapshot(replay_cycle(second)).objects_of("ResourceClaim")
    third = next_snapshot(replay_cycle(second), BetweenCycles(finish_rule="thirds"), 3)
    assert {} == named(third, "a", "ResourceClaim")["status"]
    assert {"default/b-0": "n1"} == {one.task: one.node for one in cycle_effects(replay_cycle(third)).bound}


def test_each_session_has_a_uid_of_its_own() -> None:
    cycles = CycleChain(replay_cycle(small(pod_group("a"), pods("a", 1, cpu="4"))))
    for _ in range(2):
        cycles.run_next()
    uids = [recording.session.uid for recording in cycles.recordings]
    assert [SESSION_UID, f"{SESSION_UID}-2", f"{SESSION_UID}-3"] == uids
    (condition,) = named(next_snapshot(cycles.recordings[0]), "a", "PodGroup")["status"]["conditions"]
    assert (SESSION_UID, START) == (condition["transitionID"], condition["lastTransitionTime"])


def test_job_with_an_old_unschedulable_condition_becomes_running() -> None:
    """The old Unschedulable condition has another session's ID."""
    more = BetweenCycles(arrivals={2: {"Node": [node("n2", cpu="8")]}})
    cycles = CycleChain(replay_cycle(small(pod_group("a"), pods("a", 1, cpu="4"))), more)
    for _ in range(2):
        cycles.run_next()
    assert 1 == len(cycle_effects(cycles.recordings[1]).bound)
    assert "Running" == cycles.recordings[2].session.jobs["default/a"].pod_group.phase


def test_every_third_pod_that_ran_finishes_another_third_each_time() -> None:
    snapshot = cluster(node("n1"), pod_group("a", phase="Running"), pods("a", 7, on="n1"), conf=CONF)
    cycles = CycleChain(replay_cycle(snapshot), BetweenCycles(finish_rule="thirds"))
    for _ in range(2):
        cycles.run_next()
    done = [
        [m["metadata"]["name"] for m in one.snapshot.objects_of("Pod") if m["status"]["phase"] == "Succeeded"]
        for one in cycles.recordings
    ]
    assert [[], ["a-2", "a-5"], ["a-0", "a-2", "a-4", "a-5"]] == done


def test_pods_that_were_bound_just_now_do_not_finish() -> None:
    recording = replay_cycle(cluster(node("n1"), pod_group("a"), pods("a", 3), conf=CONF))
    after = next_snapshot(recording, BetweenCycles(finish_rule="thirds"))
    assert {"Running"} == {manifest["status"]["phase"] for manifest in after.objects_of("Pod")}


def test_objects_arrive_before_their_cycle_and_take_the_place_of_namesakes() -> None:
    larger = node("n1", cpu="8")
    arrivals = {3: {"Node": [larger], "PodGroup": [pod_group("b")], "Pod": pods("b", 1)}}
    cycles = CycleChain(replay_cycle(small(pod_group("a"), pods("a", 1, cpu="4"))), BetweenCycles(arrivals=arrivals))
    bound = [[one.task for one in cycle_effects(cycles.run_next()).bound] for _ in range(2)]
    assert [[], ["default/a-0", "default/b-0"]] == [sorted(tasks) for tasks in bound]
    assert [larger] == list(cycles.recordings[-1].snapshot.objects_of("Node"))


def test_arrivals_are_read_from_json_and_yaml(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"2": [pod_group("b"), *pods("b", 2)]}), encoding="utf-8")
    (tmp_path / "a.yaml").write_text("3:\n- {kind: Queue, metadata: {name: q}}\n", encoding="utf-8")
    assert {2: {"PodGroup": 1, "Pod": 2}} == {
        number: {kind: len(manifests) for kind, manifests in kinds.items()}
        for number, kinds in read_arrivals(tmp_path / "a.json").items()
    }
    assert [3] == list(read_arrivals(tmp_path / "a.yaml"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "is not a mapping of cycles to objects"),
        ('{"1": []}', "'1' is not a cycle from 2 on"),
        ('{"two": []}', "'two' is not a cycle"),
        ('{"2": [{"metadata": {"name": "x"}}]}', "without kind"),
        ('{"2": [{"kind": "Pod", "metadata": {"name": "x"}, "spec": 5}]}', "spec"),
        ("{", "a.json"),
    ],
)
def test_a_file_of_arrivals_that_makes_no_sense_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(SnapshotError) as error:
        read_arrivals(tmp_path / "a.json")
    assert says in error.value.format_line()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("31", 31.0), ("31s", 31.0), ("1m30s", 90.0), (".5", 0.5), ("0", None), ("-1s", None), ("soon", None), ("", None)],
)
def test_a_time_between_cycles_is_seconds_or_a_duration(text: str, seconds: float | None) -> None:
    found = parse_interval(text)
    assert seconds == (None if found is None else found.total_seconds())


def test_after_a_panic_another_process_starts() -> None:
    snapshot = small(pod_group("a", phase="Running"), pods("a", 1, on="n1"))
    snapshot.process = SchedulerProcess(started=snapshot.now - timedelta(hours=1), sessions=7)
    snapshot.scheduler_conf = 'actions: "shuffle"\ntiers:\n- plugins:\n  - name: tdm\n    arguments:\n      '
    snapshot.scheduler_conf += "tdm.evict.period: 5\n"
    cycles = CycleChain(replay_cycle(snapshot))
    assert cycles.has_panicked
    assert SchedulerProcess() == cycles.run_next().snapshot.process


def test_a_pod_that_is_gone_leaves_the_cpus_of_the_node_where_it_was_bound() -> None:
    leaving = pod("a-0", "a", on="n1", deleting=True)
    kept = CpuReservation("n2", "default/a-0", "uid-a-0", "0-1")
    snapshot = small(pod_group("a", phase="Running"), leaving, pod("b-0", "a", on="n1"))
    reserved = (CpuReservation("n1", "default/a-0", "uid-a-0", "2-3"), kept)
    other = CpuReservation("n1", "default/b-0", "uid-b-0", "4")
    snapshot.process = SchedulerProcess(sessions=1, reserved_cpus=(*reserved, other))
    assert (kept, other) == next_snapshot(replay_cycle(snapshot)).process.reserved_cpus
