"""The panel of the moment: each kind of event has the view that shows it best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from vcdebug.framework.forced import FORCED_CODE
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
from vcdebug.views.base import Table, make_line
from vcdebug.views.operation import operation_table
from vcdebug.views.order import pops_table
from vcdebug.views.predicates import predicate_grid
from vcdebug.views.scores import best_grid, score_grid
from vcdebug.views.votes import is_victims, victims_table, votes_table


def _hook_view(recording: Recording, seq: Seq, event: HookEvent) -> Table:
    return victims_table(recording, seq, event) if is_victims(event) else votes_table(recording, seq, event)


EVENT_VIEWS: dict[type, Callable[[Recording, Seq, Any], Table]] = {  # Any: an event of the type before it
    HookEvent: _hook_view,
    PopEvent: pops_table,
    PredicateEvent: predicate_grid,
    ScoreEvent: score_grid,
    BestEvent: best_grid,
    OpEvent: operation_table,
    StatementEvent: summary.operations_table,
    ActionEvent: summary.action_table,
    StateEvent: summary.state_table,
    CloseEvent: summary.close_table,
    PanicEvent: summary.panic_table,
    CutEvent: summary.cut_table,
    RandomEvent: summary.random_table,
}


def event_view(recording: Recording, seq: Seq) -> Table:
    """The event, shown in full; quirks that act at it, and an answer that was forced, are named below."""
    event = recording.event_at(seq)
    table = EVENT_VIEWS[type(event)](recording, seq, event)
    quirks = tuple(make_line(_note_text(note)) for note in recording.notes if note.seq == seq)
    if not quirks:
        return table
    return replace(table, foot=(*table.foot, *quirks))


def _note_text(note: Note) -> str:
    return f"! forced: {note.text}" if note.code == FORCED_CODE else f"! quirk {note.code}: {note.text}"
