"""The arithmetic behind an event: which numbers, compared how, led to the answer."""

from __future__ import annotations

from dataclasses import replace

from vcdebug.explain.equation import Equation
from vcdebug.explain.equations_nodes import operation, search
from vcdebug.explain.equations_orders import pop
from vcdebug.explain.equations_scores import choice, node_score
from vcdebug.explain.equations_statements import gate, unfinished_trial
from vcdebug.explain.plugins import words
from vcdebug.framework.record import (
    BestEvent,
    HookEvent,
    OpEvent,
    PopEvent,
    PredicateEvent,
    ScoreEvent,
    StatementEvent,
)
from vcdebug.model.names import NodeName, Seq
from vcdebug.trace.recording import Recording


def equation(recording: Recording, seq: Seq, node: NodeName | None = None) -> Equation | None:
    """The arithmetic of an event; for a pass over nodes that of one node, where one is named."""
    event = recording.event(seq)
    if isinstance(event, HookEvent):
        compute = words(event.plugin).equations.get(event.point)
        return None if compute is None else compute(recording, seq, event)
    if isinstance(event, PredicateEvent):
        return search(recording, seq, event, node)
    if isinstance(event, ScoreEvent):
        return node_score(recording, seq, event, node)
    if isinstance(event, BestEvent):
        return choice(recording, seq, event)
    if isinstance(event, PopEvent):
        return pop(recording, seq, event)
    if isinstance(event, OpEvent):
        return operation(recording, seq, event)
    if isinstance(event, StatementEvent):
        return _statement(recording, seq, event)
    return None


def _statement(recording: Recording, seq: Seq, event: StatementEvent) -> Equation | None:
    if event.what not in ("commit", "discard"):
        return None
    guard = gate(recording, seq)
    asked = equation(recording, guard) if guard is not None else None
    if asked is None:
        return unfinished_trial(recording, seq, event)
    return replace(asked, title=f"{event.what}: {asked.title}")
