"""gangreclaim: bundles of running tasks of other reclaimable queues, for a whole gang."""

from typing import Any

import pytest

from tests.actions.outcome import asked, ops, pops, ran, statements
from tests.builders import node, pod, pod_group, pods, priority_class, queue
from vcdebug.framework.record import StatementEvent
from vcdebug.recording.recording import Recording

TIERS = ("gang", "predicates proportion nodeorder")
CLASSES = (priority_class("high", 100), priority_class("low", 1))


def gangreclaim(*objects: Any, tiers: tuple[str, ...] = TIERS) -> Recording:
    return ran(queue("poor"), *objects, actions="gangreclaim", tiers=tiers)


def victims(name: str, of: str, count: int, min_member: int = 0, **more: Any) -> list[Any]:
    """A job on n1; with minMember 0 its bundle is safe, with minMember = count it is whole."""
    return [pod_group(name, queue=of, min_member=min_member), *pods(name, count, on="n1", **more)]


def poor(count: int, **more: Any) -> list[Any]:
    return [pod_group("p", queue="poor", min_member=count), *pods("p", count, **more)]


def committed(recording: Recording) -> list[str]:
    """`op pod` of every committed operation."""
    found = [event for event in recording.events if isinstance(event, StatementEvent) and event.what == "commit"]
    return [f"{op} {task.partition('/')[2]}" for event in found for op, task, _ in event.ops]


def test_gangreclaim_takes_running_tasks_of_other_reclaimable_queues() -> None:
    recording = gangreclaim(node("n1", cpu="2"), queue("rich"), victims("r", "rich", 2), poor(1))
    assert "pipeline p-0@n1" == ops(recording)[-1]
    assert "commit 3" == statements(recording)[-1]


@pytest.mark.parametrize(("a", "b", "evicted"), [(2, 2, "b"), (3, 1, "a"), (1, 3, "b")])
def test_gangreclaim_evicts_from_the_queue_that_orders_later(a: int, b: int, evicted: str) -> None:
    """Queues with equal shares are ordered by name."""
    recording = gangreclaim(
        node("n1", cpu="4"), queue("a"), queue("b"), victims("of-a", "a", a), victims("of-b", "b", b), poor(1)
    )
    assert {f"evict of-{evicted}-{index}" for index in range({"a": a, "b": b}[evicted])} == {
        op for op in committed(recording) if op.startswith("evict")
    }


@pytest.mark.parametrize(("v", "w", "evicted"), [(3, 2, "w"), (2, 3, "v"), (2, 2, "v")])
def test_gangreclaim_evicts_the_whole_bundle_with_the_least_loss_then_the_smaller_job(
    v: int, w: int, evicted: str
) -> None:
    recording = gangreclaim(
        node("n1", cpu=str(v + w)), queue("rich"), victims("v", "rich", v, v), victims("w", "rich", w, w), poor(1)
    )
    expected = [f"evict {evicted}-{index}" for index in range({"v": v, "w": w}[evicted])]
    assert [*expected, "pipeline p-0"] == committed(recording)


def test_gangreclaim_evicts_safe_bundles_before_whole_bundles() -> None:
    recording = gangreclaim(
        node("n1", cpu="4"), queue("a"), queue("b"), victims("safe", "a", 2), victims("whole", "b", 2, 2), poor(1)
    )
    assert ["evict safe-0", "evict safe-1", "pipeline p-0"] == committed(recording)


def test_an_overused_queue_is_dropped_without_a_look_at_its_jobs() -> None:
    """Each queue deserves two cpu, which `poor` already uses."""
    own = [pod_group("o", queue="poor", min_member=0), *pods("o", 2, memory=None, on="n1")]
    recording = gangreclaim(
        node("n1", cpu="4", pods=None),
        queue("rich"),
        victims("r", "rich", 2, memory=None),
        own,
        poor(1, memory=None),
    )
    assert True in asked(recording, "Overused")
    assert ["poor"] == [name for name in pops(recording, "queue") if name == "poor"]
    assert ([], []) == (pops(recording, "job"), statements(recording))


def test_gangreclaim_does_not_evict_bound_tasks() -> None:
    recording = gangreclaim(node("n1", cpu="2"), queue("rich"), victims("r", "rich", 2, phase="Pending"), poor(1))
    assert ([], []) == (ops(recording), asked(recording, "UnifiedEvictable"))


def test_gangpreempt_evicts_bound_tasks() -> None:
    recording = ran(
        CLASSES,
        node("n1", cpu="2"),
        [pod_group("r", priority_class="low", min_member=0), *pods("r", 2, on="n1", phase="Pending")],
        [pod_group("p", priority_class="high"), *pods("p", 1)],
        actions="gangpreempt",
        tiers=("priority gang", "predicates nodeorder"),
    )
    assert ["evict r-0", "evict r-1", "pipeline p-0"] == committed(recording)


def test_gangreclaim_skips_queues_that_are_not_reclaimable() -> None:
    recording = gangreclaim(node("n1", cpu="2"), queue("rich", reclaimable=False), victims("r", "rich", 2), poor(1))
    assert ([], []) == (ops(recording), asked(recording, "UnifiedEvictable"))


@pytest.mark.parametrize(("count", "allowed"), [(2, True), (3, False)])
def test_the_whole_pending_list_must_be_within_what_the_queue_deserves(count: int, allowed: bool) -> None:
    recording = gangreclaim(node("n1", cpu="4"), queue("rich"), victims("r", "rich", 4), poor(count))
    assert [allowed] == asked(recording, "Preemptive")
    assert allowed == bool(committed(recording))


def test_a_skipped_job_that_is_pipelined_already_commits_an_empty_statement() -> None:
    """A Pending pod without requests counts as pipelined, but not against starving."""
    recording = gangreclaim(
        node("n1", cpu="4"),
        queue("rich"),
        victims("r", "rich", 3),
        pod_group("p", queue="poor", min_member=2),
        pods("p", 1, prefix="running", on="n1"),
        [pod("idle", "p")],
        pods("p", 3),
    )
    assert [False] == asked(recording, "Preemptive")
    assert (["commit 0"], []) == (statements(recording), ops(recording))
