"""The arithmetic behind an event: which numbers, compared how, led to the answer."""

from __future__ import annotations

from dataclasses import replace

from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.equations_nodes import operation, room_on, search
from vcdebug.explain.equations_scores import choice, node_score
from vcdebug.explain.orders import Compared, Order, order_at, rival
from vcdebug.explain.plugins import words
from vcdebug.framework.record import (
    BestEvent,
    HookEvent,
    Level,
    OpEvent,
    PopEvent,
    PredicateEvent,
    ScoreEvent,
    StatementEvent,
)
from vcdebug.model.names import NodeName, Seq
from vcdebug.trace.recording import Recording

FORMULA = "the first difference decides"
COLUMNS = ("goes first", "the next")
LATER = "the next would go first: it entered the queue later, or the heap had not been put in order since it changed"
GATES = ("JobPipelined", "JobReady", "SubJobPipelined", "SubJobReady", "Allocatable")


def equation(recording: Recording, seq: Seq, node: NodeName | None = None) -> Equation | None:
    """The arithmetic of an event; for a pass over nodes that of one node, where one is named."""
    event = recording.event(seq)
    if isinstance(event, HookEvent):
        said = words(event.plugin)
        compute = said.equations.get(event.point)
        if compute is None:
            return None
        told = compute(recording, seq, event)
        return replace(told, compared=told.compared or said.compared.get(event.point, ""))
    if isinstance(event, PredicateEvent):
        return search(recording, seq, event, node)
    if isinstance(event, ScoreEvent):
        return node_score(recording, seq, event, node)
    if isinstance(event, BestEvent):
        return choice(recording, seq, event)
    if isinstance(event, PopEvent):
        return _pop(recording, seq, event)
    if isinstance(event, OpEvent):
        return operation(recording, seq, event)
    if isinstance(event, StatementEvent):
        return _statement(recording, seq, event)
    return None


def _statement(recording: Recording, seq: Seq, event: StatementEvent) -> Equation | None:
    if event.what not in ("commit", "discard"):
        return None
    guard = _gate(recording, seq)
    asked = equation(recording, guard) if guard is not None else None
    if asked is None:
        return _unfinished_trial(recording, seq, event)
    return replace(asked, title=f"{event.what}: {asked.title}")


def _gate(recording: Recording, seq: Seq) -> Seq | None:
    """The hook call on which a commit or discard depended: the last one before it that guards a statement."""
    while seq > 1:
        seq -= 1
        event = recording.event(seq)
        if isinstance(event, OpEvent | StatementEvent):
            return None
        if isinstance(event, HookEvent):
            return seq if event.point in GATES else None
    return None


def _unfinished_trial(recording: Recording, seq: Seq, event: StatementEvent) -> Equation | None:
    """A trial on one node is discarded when the task does not fit there after all evictions."""
    task, node = recording.tree.around(seq, Level.TASK), recording.tree.around(seq, Level.NODE)
    if event.what != "discard" or task is None or node is None:
        return None
    room = room_on(recording, seq, task.name, node.name)
    return replace(room, title=f"discarded: {room.title} after the evictions")


# What left a queue of elements


def _pop(recording: Recording, seq: Seq, event: PopEvent) -> Equation | None:
    """Everything that the two were compared by, up to the first difference; None for the last one of a queue."""
    other = rival(recording, seq)
    order = order_at(recording, seq, other.name) if other is not None else None
    if order is None:
        return None
    terms = tuple(_term(step) for step in order.steps)
    title = f"why {order.left} goes before {order.right}"
    decided = order.deciding
    name = decided.difference.what if decided is not None else None
    return Equation(title, FORMULA, COLUMNS, "check", terms, order.sign, name, _note(order))


def _term(step: Compared) -> Term:
    holds = None if not step.sign else step.sign < 0
    return Term(step.difference.what, (step.difference.left, step.difference.right), holds, asked_by(step))


def asked_by(step: Compared) -> str:
    """The hook, its tier and plugin."""
    where = f"{step.point} tier {step.tier} {step.plugin}" if step.point else "no plugin decides"
    return f"{where}, reversed for victims" if step.reverse else where


def _note(order: Order) -> str:
    if order.sign > 0:
        return LATER
    unknown = [step.plugin for step in order.steps if not step.difference.known]
    return f"a recording does not keep what {', '.join(unknown)} compares" if unknown else ""
