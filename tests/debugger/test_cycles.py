"""The next cycle starts from what the last one left."""

from __future__ import annotations

from copy import deepcopy
from datetime import timedelta

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class
from tests.recorded import GOLDEN, bundled, golden
from vcdebug.debugger.between import Between, advance
from vcdebug.debugger.cycles import Cycles, repeat
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.trace.effects import effects
from vcdebug.trace.replay import replay

CONF = conf_of("priority gang conformance", "predicates nodeorder", actions="enqueue, allocate, preempt")


def contested() -> Snapshot:
    """A full node and a job that may preempt."""
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
    return next((m for m in snapshot.of("Pod") if m["metadata"]["name"] == name), None)


def test_bound_pods_run_on_their_nodes() -> None:
    snapshot = cluster(node("n1"), pod_group("a", phase="Inqueue"), pods("a", 1), conf=CONF)
    after = advance(replay(snapshot))
    running = pod(after, "a-0")
    assert running is not None
    assert ("n1", "Running") == (running["spec"]["nodeName"], running["status"]["phase"])
    assert snapshot.now + timedelta(seconds=1) == after.now
    assert [] == list(effects(replay(after)).bound)


def test_pod_groups_take_their_phase_with_them() -> None:
    snapshot = cluster(node("n1"), pod_group("a", phase="Pending"), pods("a", 1), conf=CONF)
    cycles = Cycles(replay(snapshot))
    phases = [cycles.next().snapshot.of("PodGroup")[0]["status"]["phase"] for _ in range(2)]
    assert "Pending" not in phases
    assert 1 == cycles.recordings[-1].session.jobs["default/a"].pod_group.running


def test_evicted_pods_leave_after_their_grace_period_and_the_preemptor_gets_in() -> None:
    cycles = Cycles(replay(contested()))
    victims = [effect.task.removeprefix("default/") for effect in effects(cycles.recordings[0]).evicted]
    assert 1 == len(victims)
    there = [pod(cycles.next().snapshot, victims[0]) is not None for _ in range(3)]
    assert [True, False, False] == there
    high = pod(advance(cycles.recordings[-1]), "high-0")
    assert high is not None
    assert "n1" == high["spec"].get("nodeName")


def test_a_leaving_pod_is_not_evicted_again() -> None:
    cycles = Cycles(replay(contested()))
    assert [] == list(effects(cycles.next()).evicted)


def test_with_a_controller_a_pod_that_left_comes_back() -> None:
    cycles = Cycles(replay(contested()), Between(recreate=True))
    victim = effects(cycles.recordings[0]).evicted[0].task.removeprefix("default/")
    for _ in range(2):
        cycles.next()
    back = pod(cycles.recordings[-1].snapshot, victim)
    assert back is not None
    assert ("Pending", False) == (back["status"]["phase"], "deletionTimestamp" in back["metadata"])


@pytest.mark.parametrize("name", GOLDEN[::4])
def test_the_first_snapshot_stays_and_the_next_can_be_replayed(name: str) -> None:
    recording = golden(name)
    before = deepcopy(recording.snapshot)
    after = advance(recording)
    assert before == recording.snapshot
    assert after == advance(recording)
    assert len(replay(after)) > 0


def test_cycles_that_evict_nobody_do_not_repeat() -> None:
    cycles = Cycles(bundled())
    cycles.next()
    assert repeat(cycles.recordings) is None


def test_the_search_over_nodes_goes_on_where_it_ended() -> None:
    recording = bundled()
    assert recording.session.node_search_start == advance(recording).chance.search_start
