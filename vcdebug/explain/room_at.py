"""What nodes have left at one moment, for one request: shared by all questions about that moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from vcdebug.explain.searches import reasons_text
from vcdebug.model.fiterror import POD_NUMBER_EXCEEDED, Status, aborts
from vcdebug.model.names import BoolArray, FloatArray, NodeName, Seq
from vcdebug.model.nodeamounts import NodeAmounts
from vcdebug.model.resource import MIN_RESOURCE, PODS, Resource
from vcdebug.model.task import TaskInfo
from vcdebug.trace.change_index import NODE, TASK
from vcdebug.trace.history import TaskState
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

Kind = Literal["free", "unresolvable", "too small", "pods", "short", "refused"]
"""What keeps the task off a node: nothing, something that no eviction changes, its size, a place for one more pod,
other resources, or a rule about the pods that are there."""
Amounts = tuple[tuple[str, float], ...]
"""What a task asks for, as Resource.items gives it."""
Lack = tuple[tuple[str, float], ...]
"""Dimensions that lack something, and how much."""


class NodeFit(NamedTuple):
    """One node as it stood, for one task."""

    name: NodeName
    kind: Kind
    statuses: tuple[Status, ...]
    """What the predicates object to."""
    future: Resource
    """Idle + releasing - pipelined."""
    allocatable: Resource
    short: Lack

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

    def with_objections(self, statuses: tuple[Status, ...], said: Kind) -> NodeFit:
        """The same node, of which nothing has been said before, and what the predicates say and come to."""
        kind = said if said == "unresolvable" or self.kind == "free" else self.kind
        return NodeFit(self.name, kind, statuses, self.future, self.allocatable, self.short)


FUTURE, ALLOCATABLE = 0, 1
"""Places in NodeIdle."""


class NodeIdle(NamedTuple):
    """What a node has left, and what it has in all."""

    future: Resource
    allocatable: Resource


@per_recording(most=8)
def rooms(recording: Recording, seq: Seq) -> Mapping[NodeName, NodeIdle]:
    """Every node after an event."""
    changed = recording.timeline.changed(NODE, seq).items()
    return {**_at_opening(recording), **{name: _left_at(recording, name, place) for name, place in changed}}


@per_recording()
def _at_opening(recording: Recording) -> Mapping[NodeName, NodeIdle]:
    """Every node as the session found it."""
    amounts = recording.timeline.opening_nodes
    return {
        name: NodeIdle(amounts[name].future_idle(), node.allocatable) for name, node in recording.session.nodes.items()
    }


@per_recording(most=10_000)
def _left_at(recording: Recording, name: NodeName, place: int) -> NodeIdle:
    """A node as a change left it."""
    amounts: NodeAmounts = recording.timeline.written_at(place, NODE, name)
    return NodeIdle(amounts.future_idle(), recording.session.nodes[name].allocatable)


@per_recording(most=32)
def unasked(recording: Recording, seq: Seq, request: Amounts) -> Sequence[NodeFit]:
    """Every node for a request, as if no predicate objected."""
    asked = tuple((name, amount) for name, amount in request if amount > 0)
    everyone = rooms(recording, seq)
    small, short = (_lacking(recording, seq, asked, field) for field in (ALLOCATABLE, FUTURE))
    return [
        _unasked(name, everyone[name], asked, small=is_small, short=is_short)
        for name, is_small, is_short in zip(everyone, small, short, strict=True)
    ]


def _lacking(recording: Recording, seq: Seq, asked: Amounts, field: int) -> list[bool]:
    """Whether each node lacks something of what is asked for, by one of its amounts."""
    lacking: BoolArray = np.zeros(len(recording.session.nodes), dtype=np.bool_)
    for name, amount in asked:
        lacking |= ~(_column(recording, seq, field, name) - amount > -MIN_RESOURCE)
    found: list[bool] = lacking.tolist()
    return found


@per_recording(most=64)
def _column(recording: Recording, seq: Seq, field: int, name: str) -> FloatArray:
    """One dimension of one amount of all nodes."""
    column: FloatArray = np.array([room[field].get(name) for room in rooms(recording, seq).values()], dtype=np.float64)
    return column


@per_recording(most=8)
def tasks_by_node(recording: Recording, seq: Seq) -> Mapping[NodeName, Sequence[TaskInfo]]:
    """Tasks with the status and node that they have after an event, by that node."""
    timeline = recording.timeline
    opening, changed = timeline.opening_tasks, timeline.changed(TASK, seq)
    found: dict[NodeName, list[TaskInfo]] = {}
    for key, task in timeline.tasks.items():
        place = changed.get(key)
        state = opening[key] if place is None else TaskState(*timeline.written_at(place, TASK, key))
        if state.node:
            found.setdefault(state.node, []).append(_as_it_was(task, state))
    return found


def _as_it_was(task: TaskInfo, state: TaskState) -> TaskInfo:
    if state == (task.status, task.node_name):
        return task
    clone = task.clone()
    clone.status, clone.node_name = state
    return clone


def _unasked(name: NodeName, room: NodeIdle, asked: Amounts, *, small: bool, short: bool) -> NodeFit:
    missing = lack(asked, room.allocatable) if small else lack(asked, room.future) if short else ()
    kind = _kind(too_small=small, short=missing)
    return NodeFit(name, kind, (), room.future, room.allocatable, missing)


def lack(asked: Amounts, available: Resource) -> Lack:
    """What is asked for and not there: resource.at_most spelt out, since it is asked for every node."""
    missing = [
        (name, amount - have) for name, amount in asked if not (have := available.get(name)) - amount > -MIN_RESOURCE
    ]
    return tuple(missing)


def _kind(*, too_small: bool, short: Lack) -> Kind:
    if too_small:
        return "too small"
    if short:
        return "pods" if len(short) == 1 and short[0][0] == PODS else "short"
    return "free"


def verdict(statuses: tuple[Status, ...]) -> Kind:
    """What the predicates' objections come to by themselves."""
    if any(aborts(status) for status in statuses):
        return "unresolvable"
    if not statuses:
        return "free"
    return "pods" if any(status.reason == POD_NUMBER_EXCEEDED for status in statuses) else "refused"
