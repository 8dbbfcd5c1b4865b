"""Invariants of every cycle, checked on random clusters."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.properties.clusters import random_cluster
from tests.rows import try_rules
from vcdebug.framework.record import CloseEvent, NodeAmounts, OpEvent, PanicEvent, StateEvent, StatementEvent
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskStatus, is_allocated_status
from vcdebug.recording.recording import Recording, disposing
from vcdebug.recording.replay import replay_cycle

SEEDS = range(150)


def held(resource: Resource) -> dict[str, float]:
    """The amounts that are not zero."""
    return {name: amount for name, amount in resource.items() if amount}


def snapshots(recording: Recording) -> Iterator[tuple[str, NodeAmounts]]:
    """Yield every recorded state of every node, as (node, amounts)."""
    for event in recording.events:
        if isinstance(event, (StateEvent, CloseEvent)):
            yield from zip(recording.node_names, event.nodes, strict=True)
        elif isinstance(event, OpEvent) and event.after is not None:
            yield event.node, event.after


def idle_and_used_make_up_what_a_node_can_allocate(recording: Recording) -> None:
    for name, amounts in snapshots(recording):
        allocatable = recording.session.nodes[name].allocatable
        assert held(allocatable) == held(amounts.idle.clone().add(amounts.used))


def a_cycle_ends_with_its_close_or_a_panic(recording: Recording) -> None:
    assert isinstance(recording.events[-1], (CloseEvent, PanicEvent))


def a_jobs_sums_are_its_tasks(recording: Recording) -> None:
    if isinstance(recording.events[-1], PanicEvent):
        return
    for job in recording.session.jobs.values():
        allocated, total = Resource(), Resource()
        for task in job.tasks.values():
            total.add(task.resreq)
            if is_allocated_status(task.status):
                allocated.add(task.resreq)
        assert (held(allocated), held(total)) == (held(job.allocated), held(job.total_request))


def books_hold_what_is_allocated_or_pipelined(recording: Recording) -> None:
    for plugin, level in (("proportion", "queues"), ("drf", "jobs")):
        books_of_one_hold_it(recording, plugin, level)


def books_of_one_hold_it(recording: Recording, plugin: str, level: str) -> None:
    if isinstance(recording.events[-1], PanicEvent):
        return
    books: Mapping[str, Any] = dict(recording.session.plugin_books()).get(plugin, {})
    expected: dict[str, Resource] = {}
    for job in recording.session.jobs.values():
        total = expected.setdefault(job.queue if level == "queues" else job.uid, Resource())
        for task in job.tasks.values():
            if is_allocated_status(task.status) or task.status is TaskStatus.PIPELINED:
                total.add(task.resreq)
    for name, figures in books.get(level, {}).items():
        assert held(expected[name]) == held(figures["allocated"])


def every_operation_of_a_statement_is_settled_or_stays_open_for_a_pipelined_job(recording: Recording) -> None:
    """Only allocate leaves statements open, for jobs that are pipelined but not ready."""
    if isinstance(recording.events[-1], PanicEvent):
        return
    unsettled: dict[str, str] = {}
    for event in recording.events:
        if isinstance(event, OpEvent) and event.via is None:
            unsettled[event.task] = event.op
        elif isinstance(event, StatementEvent) and event.what == "commit":
            for _, task, _ in event.ops:
                unsettled.pop(task, None)
    assert all(op in ("allocate", "pipeline") or op.startswith("un") for op in unsettled.values())


def a_replay_changes_nothing_in_its_snapshot_and_gives_the_same_events_again(recording: Recording) -> None:
    with disposing(replay_cycle(recording.snapshot)) as again:
        assert [str(event) for event in recording.events] == [str(event) for event in again.events]


RULES = (
    idle_and_used_make_up_what_a_node_can_allocate,
    a_cycle_ends_with_its_close_or_a_panic,
    a_jobs_sums_are_its_tasks,
    books_hold_what_is_allocated_or_pipelined,
    every_operation_of_a_statement_is_settled_or_stays_open_for_a_pipelined_job,
    a_replay_changes_nothing_in_its_snapshot_and_gives_the_same_events_again,
)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_rule_holds(seed: int) -> None:
    with disposing(replay_cycle(random_cluster(seed))) as recording:
        try_rules(RULES, recording)
