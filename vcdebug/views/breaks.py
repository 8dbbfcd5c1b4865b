"""Breakpoints: how often they stop, and which kind suits an event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from vcdebug.debugger.driver import BreakpointStatus
from vcdebug.framework.hooks import (
    JOB_ENQUEUEABLE,
    JOB_STARVING,
    OVERUSED,
    PREDICATE,
    PREEMPTABLE,
    RECLAIMABLE,
    UNIFIED_EVICTABLE,
)
from vcdebug.framework.record import BestEvent, HookEvent, OpEvent, PredicateEvent, ScoreEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import NO, YES, Column, Piece, Row, Table, make_line

BREAKPOINT_COLUMNS: Final = (
    Column("", right=True),
    Column(""),
    Column("breakpoint", flexible=True),
    Column("stops", right=True),
)


def breakpoints_table(breakpoints: Iterable[BreakpointStatus]) -> Table:
    """One row per breakpoint."""
    cells = ((str(one.number), YES if one.enabled else NO, one.text, str(len(one.hits))) for one in breakpoints)
    rows = [Row(words[0], tuple(map(Piece, words))) for words in cells]
    return Table("Breaks", BREAKPOINT_COLUMNS, rows, foot=() if rows else (make_line("none"),))


_KIND_BY_POINT = {
    JOB_STARVING.upstream: "starving",
    OVERUSED.upstream: "overused",
    JOB_ENQUEUEABLE.upstream: "enqueue",
    PREEMPTABLE.upstream: "victim",
    RECLAIMABLE.upstream: "victim",
    UNIFIED_EVICTABLE.upstream: "victim",
    PREDICATE.upstream: "predicate",
}
_KIND_BY_TYPE = {
    PredicateEvent: "predicate",
    ScoreEvent: "score",
    BestEvent: "tie",
    OpEvent: "statement",
    StatementEvent: "statement",
}
USUAL_KIND = "victim"


def fitting_kind(recording: Recording, seq: Seq) -> str:
    """The kind that would stop here."""
    event = recording.event_at(seq)
    if isinstance(event, HookEvent):
        return _KIND_BY_POINT.get(event.point, USUAL_KIND)
    return _KIND_BY_TYPE.get(type(event), USUAL_KIND)
