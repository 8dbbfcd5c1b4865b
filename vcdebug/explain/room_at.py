"""What nodes have left at one moment, for one request: shared by all questions about that moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from vcdebug.explain.searches import reasons_text
from vcdebug.model.fiterror import POD_NUMBER_EXCEEDED, Status, aborts
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.resource import PODS, Resource, at_most
from vcdebug.model.task import TaskInfo
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


@dataclass(frozen=True, slots=True)
class NodeFit:
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


class NodeIdle(NamedTuple):
    """What a node has left, and what it has in all."""

    future: Resource
    allocatable: Resource


class Before(NamedTuple):
    """A node for a request, before any predicate is asked."""

    fit: NodeFit
    too_small: bool

    def with_objections(self, statuses: tuple[Status, ...]) -> NodeFit:
        """The node, and what the predicates say."""
        fit = self.fit
        kind = _kind(statuses, too_small=self.too_small, short=fit.short)
        return NodeFit(fit.name, kind, statuses, fit.future, fit.allocatable, fit.short)


@per_recording(most=8)
def rooms(recording: Recording, seq: Seq) -> Mapping[NodeName, NodeIdle]:
    """Every node after an event."""
    amounts = recording.timeline.state_at(seq).nodes
    return {
        name: NodeIdle(amounts[name].future_idle(), node.allocatable) for name, node in recording.session.nodes.items()
    }


@per_recording(most=32)
def unasked(recording: Recording, seq: Seq, request: Amounts) -> Sequence[Before]:
    """Every node for a request, as if no predicate objected."""
    asked = tuple((name, amount) for name, amount in request if amount > 0)
    return [_before(name, asked, room) for name, room in rooms(recording, seq).items()]


@per_recording(most=8)
def tasks_by_node(recording: Recording, seq: Seq) -> Mapping[NodeName, Sequence[TaskInfo]]:
    """Tasks with the status and node that they have after an event, by that node."""
    timeline = recording.timeline
    states, opening, moving = timeline.state_at(seq).tasks, timeline.opening_tasks, timeline.moving
    found: dict[NodeName, list[TaskInfo]] = {}
    for key, task in timeline.tasks.items():
        state = (states if key in moving else opening)[key]
        if state.node:
            found.setdefault(state.node, []).append(_as_it_was(task, state))
    return found


def _as_it_was(task: TaskInfo, state: TaskState) -> TaskInfo:
    if state == (task.status, task.node_name):
        return task
    clone = task.clone()
    clone.status, clone.node_name = state
    return clone


def _before(name: NodeName, asked: Amounts, room: NodeIdle) -> Before:
    whole = lack(asked, room.allocatable)
    short = whole or lack(asked, room.future)
    kind = _kind((), too_small=bool(whole), short=short)
    return Before(NodeFit(name, kind, (), room.future, room.allocatable, short), bool(whole))


def lack(asked: Amounts, available: Resource) -> Lack:
    """What is asked for and not there."""
    return tuple([(name, amount - have) for name, amount in asked if not at_most(amount, have := available.get(name))])


def _kind(statuses: tuple[Status, ...], *, too_small: bool, short: Lack) -> Kind:
    if statuses and any(aborts(status) for status in statuses):
        return "unresolvable"
    if too_small:
        return "too small"
    if short:
        return "short" if any(name != PODS for name, _ in short) else "pods"
    if not statuses:
        return "free"
    return "pods" if any(status.reason == POD_NUMBER_EXCEEDED for status in statuses) else "refused"
