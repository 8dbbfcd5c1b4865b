"""The room that a task finds on the node that is being tried, at any event of the try."""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.explain.dry_run import dry_run_at
from vcdebug.framework.record import PLACING_OPS, Level, NodeAmounts, OpEvent
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import requested_together, task_of


class NodeRoom(NamedTuple):
    """What there is, and what is asked for."""

    request: Resource
    amounts: NodeAmounts
    away: tuple[TaskKey, ...]
    """Who is taken away in a dry run."""
    freed: Resource
    future: Resource
    placed: Seq
    """The event that placed the task here, before which the amounts are told; 0 while it is not here."""


def node_room(recording: Recording, seq: Seq, task: TaskKey, node: NodeName) -> NodeRoom:
    """The node's future idle after an event, without what the task itself takes of it."""
    placed = _placing_seq(recording, seq, task, node)
    amounts = recording.timeline.state_at(placed - 1 if placed else seq).nodes[node]
    run = dry_run_at(recording, seq)
    away = run.tasks_away(seq) if run is not None and run.node == node else ()
    freed = requested_together(recording, away)
    future = amounts.future_idle().add(freed)
    return NodeRoom(task_of(recording, task).init_resreq, amounts, away, freed, future, placed)


def _placing_seq(recording: Recording, seq: Seq, task: TaskKey, node: NodeName) -> Seq:
    """The operation of this try that placed the task here, where that is still so."""
    span = recording.span_tree.span_around(seq, Level.NODE)
    if span is None or recording.timeline.state_at(seq).tasks[task].node != node:
        return 0
    earlier = recording.filter_events(OpEvent, range(seq, span.first - 1, -1))
    return next((at for at, event in earlier if event.task == task and event.op in PLACING_OPS), 0)
