"""The next cycle starts from the cluster that the last cycle left."""

from __future__ import annotations

from copy import deepcopy
from datetime import timedelta

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class
from tests.recorded import GOLDEN, bundled, golden
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.whatif.cycles import CycleChain, find_repeat
from vcdebug.whatif.next_cycle import BetweenCycles, next_snapshot

CONF = conf_of("priority gang conformance", "predicates nodeorder", actions="enqueue, allocate, preempt")


def contested() -> Snapshot:
    """A full node and a job that can preempt."""
    return cluster(
        node("n1", cpu="2"),
        priority_class("high", 100),
        pod_group("low", min_member=1, phase="Running"),
        pods("low", 2, on="n1", terminationGracePeriodSeconds=2, annotations={"volcano.sh/preemptable": "true"}),
        pod_group("high", min_member=1, phase="Pending", priority_class="high"),
        pods("high", 1, priority=100, priorityClassName="high"),
        conf=CONF,
    )


def pod(snapshot: Snapshot, name: str) -> Manifest | None:
    return next((m for m in snapshot.objects_of("Pod") if m["metadata"]["name"] == name), None)


def test_bound_pods_run_on_their_nodes() -> None:
    snapshot = cluster(node("n1"), pod_group("a", phase="Inqueue"), pods("a", 1), conf=CONF)
    after = next_snapshot(replay_cycle(snapshot))
    running = pod(after, "a-0")
    assert running is not None
    assert ("n1", "Running") == (running["spec"]["nodeName"], running["status"]["phase"])
    assert snapshot.now + timedelta(seconds=1) == after.now
    assert [] == list(cycle_effects(replay_cycle(after)).bound)


def test_pod_groups_take_their_phase_with_them() -> None:
    snapshot = cluster(node("n1"), pod_group("a", phase="Pending"), pods("a", 1), conf=CONF)
    cycles = CycleChain(replay_cycle(snapshot))
    phases = [cycles.run_next().snapshot.objects_of("PodGroup")[0]["status"]["phase"] for _ in range(2)]
    assert "Pending" not in phases
    assert 1 == cycles.recordings[-1].session.jobs["default/a"].pod_group.running


def test_evicted_pods_are_removed_after_their_grace_period_and_the_preemptor_is_bound() -> None:
    cycles = CycleChain(replay_cycle(contested()))
    victims = [effect.task.removeprefix("default/") for effect in cycle_effects(cycles.recordings[0]).evicted]
    assert 1 == len(victims)
    there = [pod(cycles.run_next().snapshot, victims[0]) is not None for _ in range(3)]
    assert [True, False, False] == there
    high = pod(next_snapshot(cycles.recordings[-1]), "high-0")
    assert high is not None
    assert "n1" == high["spec"].get("nodeName")


def test_a_leaving_pod_is_not_evicted_again() -> None:
    cycles = CycleChain(replay_cycle(contested()))
    assert [] == list(cycle_effects(cycles.run_next()).evicted)


def test_evicted_pod_of_a_controller_is_recreated() -> None:
    cycles = CycleChain(replay_cycle(contested()), BetweenCycles(recreate=True))
    victim = cycle_effects(cycles.recordings[0]).evicted[0].task.removeprefix("default/")
    for _ in range(2):
        cycles.run_next()
    back = pod(cycles.recordings[-1].snapshot, victim)
    assert back is not None
    assert ("Pending", False) == (back["status"]["phase"], "deletionTimestamp" in back["metadata"])


@pytest.mark.parametrize("name", GOLDEN[::4])
def test_the_first_snapshot_stays_and_the_next_can_be_replayed(name: str) -> None:
    recording = golden(name)
    before = deepcopy(recording.snapshot)
    after = next_snapshot(recording)
    assert before == recording.snapshot
    assert after == next_snapshot(recording)
    assert len(replay_cycle(after)) > 0


def test_cycles_without_evictions_do_not_repeat() -> None:
    cycles = CycleChain(bundled())
    cycles.run_next()
    assert find_repeat(cycles.recordings) is None


def test_next_cycle_continues_the_node_search_where_the_last_one_ended() -> None:
    recording = bundled()
    assert recording.session.node_search_start == next_snapshot(recording).chance.search_start
