"""The panel of the moment: each kind of event has the view that shows it best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from vcdebug.framework.forced import FORCED
from vcdebug.framework.record import (
    ActionEvent,
    BestEvent,
    CloseEvent,
    CutEvent,
    HookEvent,
    Note,
    OpEvent,
    PanicEvent,
    PopEvent,
    PredicateEvent,
    RandomEvent,
    ScoreEvent,
    StateEvent,
    StatementEvent,
)
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views import summary
from vcdebug.views.base import Table, line
from vcdebug.views.operation import operation
from vcdebug.views.order import order
from vcdebug.views.predicates import predicate_grid
from vcdebug.views.scores import best_of, score_grid
from vcdebug.views.votes import is_victims, victims, votes


def _hook(recording: Recording, seq: Seq, event: HookEvent) -> Table:
    return victims(recording, seq, event) if is_victims(event) else votes(recording, seq, event)


VIEWS: dict[type, Callable[[Recording, Seq, Any], Table]] = {  # Any: an event of the type before it
    HookEvent: _hook,
    PopEvent: order,
    PredicateEvent: predicate_grid,
    ScoreEvent: score_grid,
    BestEvent: best_of,
    OpEvent: operation,
    StatementEvent: summary.operations,
    ActionEvent: summary.action,
    StateEvent: summary.state,
    CloseEvent: summary.close,
    PanicEvent: summary.panic,
    CutEvent: summary.cut,
    RandomEvent: summary.random,
}


def event_view(recording: Recording, seq: Seq) -> Table:
    """The event, shown in full; quirks that act at it, and an answer that was forced, are named below."""
    event = recording.event(seq)
    table = VIEWS[type(event)](recording, seq, event)
    quirks = tuple(line(_note(note)) for note in recording.notes if note.seq == seq)
    if not quirks:
        return table
    return replace(table, foot=(*table.foot, *quirks))


def _note(note: Note) -> str:
    return f"! forced: {note.text}" if note.code == FORCED else f"! quirk {note.code}: {note.text}"
