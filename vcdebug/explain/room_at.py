"""What nodes have left at one moment, for one request: shared by all questions about that moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from vcdebug.explain.searches import reasons_text
from vcdebug.model.fiterror import POD_NUMBER_EXCEEDED, FitStatus, blocks_preemption
from vcdebug.model.names import FloatArray, NodeName, Seq
from vcdebug.model.nodeamounts import NodeAmounts
from vcdebug.model.resource import MIN_RESOURCE, PODS, Resource
from vcdebug.model.task import TaskInfo
from vcdebug.trace.change_index import NODE, TASK
from vcdebug.trace.history import TaskState
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

FitKind = Literal["free", "unresolvable", "too small", "pods", "short", "refused"]
"""What keeps the task off a node: nothing, something that no eviction changes, its size, a place for one more pod,
other resources, or a rule about the pods that are there."""
RequestItems = tuple[tuple[str, float], ...]
"""What a task asks for, as Resource.items gives it."""
MissingItems = tuple[tuple[str, float], ...]
"""Dimensions that lack something, and how much."""


class NodeFit(NamedTuple):
    """One node as it stood, for one task."""

    name: NodeName
    kind: FitKind
    statuses: tuple[FitStatus, ...]
    """What the predicates object to."""
    future: Resource
    """Idle + releasing - pipelined."""
    allocatable: Resource
    short: MissingItems

    @property
    def reason(self) -> str:
        """Why not, in the scheduler's words."""
        objections = reasons_text(self.statuses)
        if self.kind in ("unresolvable", "refused") and objections:
            return objections
        nowhere = [name for name, _ in self.short if self.allocatable.get(name) <= 0]
        if nowhere:
            return f"without {' and '.join(nowhere)}"
        if self.kind == "too small":
            return f"too small: {', '.join(name for name, _ in self.short)}"
        if self.short:
            return f"Insufficient {' and '.join(name for name, _ in self.short)}"
        return objections or "room"

    def with_objections(self, statuses: tuple[FitStatus, ...], said: FitKind) -> NodeFit:
        """The same node, of which nothing has been said before, and what the predicates say and come to."""
        kind = said if said == "unresolvable" or self.kind == "free" else self.kind
        return NodeFit(self.name, kind, statuses, self.future, self.allocatable, self.short)


class NodeIdle(NamedTuple):
    """What a node has left, and what it has in all."""

    future: Resource
    allocatable: Resource


@per_recording(most=8)
def room_by_node(recording: Recording, seq: Seq) -> Mapping[NodeName, NodeIdle]:
    """Every node after an event."""
    changed = recording.timeline.changed_up_to(NODE, seq).items()
    return {
        **_rooms_at_opening(recording),
        **{name: _room_after_change(recording, name, place) for name, place in changed},
    }


@per_recording()
def _rooms_at_opening(recording: Recording) -> Mapping[NodeName, NodeIdle]:
    """Every node as the session found it."""
    amounts = recording.timeline.opening_nodes
    return {
        name: NodeIdle(amounts[name].future_idle(), node.allocatable) for name, node in recording.session.nodes.items()
    }


@per_recording(most=10_000)
def _room_after_change(recording: Recording, name: NodeName, place: int) -> NodeIdle:
    """A node as a change left it."""
    amounts: NodeAmounts = recording.timeline.value_written_at(place, NODE, name)
    return NodeIdle(amounts.future_idle(), recording.session.nodes[name].allocatable)


@per_recording(most=32)
def fits_by_amounts(recording: Recording, seq: Seq, request: RequestItems) -> Sequence[NodeFit]:
    """Every node for a request, as if no predicate objected."""
    asked = tuple((name, amount) for name, amount in request if amount > 0)
    everyone = room_by_node(recording, seq)
    smaller = _lacks_by_node(asked, [_allocatable_column(recording, name) for name, _ in asked], len(everyone))
    shorter = _lacks_by_node(asked, [_future_column(recording, seq, name) for name, _ in asked], len(everyone))
    return [
        NodeFit(name, _fit_kind(small, short), (), room.future, room.allocatable, small or short)
        for (name, room), small, short in zip(everyone.items(), smaller, shorter, strict=True)
    ]


def _lacks_by_node(asked: RequestItems, columns: Sequence[FloatArray], nodes: int) -> list[MissingItems]:
    """What each node lacks of what is asked for, a column of amounts for each: resource.at_most over all nodes."""
    found: list[MissingItems] = [()] * nodes
    for (name, amount), column in zip(asked, columns, strict=True):
        missing = (amount - column).tolist()
        for row in np.flatnonzero(~(column - amount > -MIN_RESOURCE)).tolist():
            found[row] += ((name, missing[row]),)
    return found


@per_recording(most=64)
def _allocatable_column(recording: Recording, name: str) -> FloatArray:
    """One dimension of what every node has in all."""
    return np.array([node.allocatable.get(name) for node in recording.session.nodes.values()], dtype=np.float64)


@per_recording(most=64)
def _future_column(recording: Recording, seq: Seq, name: str) -> FloatArray:
    """One dimension of what every node has left after an event."""
    return np.array([room.future.get(name) for room in room_by_node(recording, seq).values()], dtype=np.float64)


@per_recording(most=8)
def tasks_by_node(recording: Recording, seq: Seq) -> Mapping[NodeName, Sequence[TaskInfo]]:
    """Tasks with the status and node that they have after an event, by that node."""
    timeline = recording.timeline
    opening, changed = timeline.opening_tasks, timeline.changed_up_to(TASK, seq)
    found: dict[NodeName, list[TaskInfo]] = {}
    for key, task in timeline.tasks.items():
        place = changed.get(key)
        state = opening[key] if place is None else TaskState(*timeline.value_written_at(place, TASK, key))
        if state.node:
            same = state == (task.status, task.node_name)
            found.setdefault(state.node, []).append(task if same else _task_in_state(task, state))
    return found


def _task_in_state(task: TaskInfo, state: TaskState) -> TaskInfo:
    clone = task.clone()
    clone.status, clone.node_name = state
    return clone


def _fit_kind(small: MissingItems, short: MissingItems) -> FitKind:
    if small:
        return "too small"
    if short:
        return "pods" if len(short) == 1 and short[0][0] == PODS else "short"
    return "free"


def objections_kind(statuses: tuple[FitStatus, ...]) -> FitKind:
    """What the predicates' objections come to by themselves."""
    if any(blocks_preemption(status) for status in statuses):
        return "unresolvable"
    if not statuses:
        return "free"
    return "pods" if any(status.reason == POD_NUMBER_EXCEEDED for status in statuses) else "refused"
