"""Bookmarks as a table: event, place, what happened there, note."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from vcdebug.amount_text import short_name
from vcdebug.debugger.driver import BreakpointStatus
from vcdebug.debugger.figures import Figure, parse_figure_line
from vcdebug.debugger.notebook import Bookmark, Watch, WatchValue, evaluate_watch
from vcdebug.errors import VcdebugError
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
from vcdebug.recording.recording import Recording
from vcdebug.views.headline import event_headline
from vcdebug.views.short_names import bare_name, path_words
from vcdebug.views.table import NO, YES, Column, Piece, Row, Table, make_line, muted_piece

BOOKMARK_COLUMNS = (
    Column("", right=True),
    Column("event", right=True),
    Column("note", flexible=True, least=12),
    Column("what happened", flexible=True, least=12),
    Column("where", flexible=True),
)
BOOKMARK_MARK = "▼"


def bookmarks_table(
    recording: Recording, seq: Seq, marks: Sequence[Bookmark], elsewhere: Sequence[Bookmark] = ()
) -> Table:
    """Every bookmark of this recording in the order of events, then those of other cycles."""
    rows = [*(_bookmark_row(recording, mark) for mark in marks), *map(_row_elsewhere, elsewhere)]
    current = next((str(mark.number) for mark in marks if mark.seq == seq), "")
    foot = () if rows else (make_line(muted_piece("no bookmarks: m marks this event, or :bookmark NOTE")),)
    return Table("Bookmarks", BOOKMARK_COLUMNS, rows, foot=foot, current=current)


def _bookmark_row(recording: Recording, mark: Bookmark) -> Row:
    there = mark.seq <= len(recording)
    where = " ▸ ".join(path_words(recording, mark.seq)) if there else ""
    cells = (
        Piece(str(mark.number)),
        Piece(str(mark.seq)),
        Piece(mark.note, "strong") if mark.note else muted_piece("–"),
        Piece(event_words(recording, mark.seq)) if there else Piece("! this recording is shorter", "warn"),
        muted_piece(where or "between actions"),
    )
    return Row(str(mark.number), cells, mark.seq if there else 0)


def _row_elsewhere(mark: Bookmark) -> Row:
    """Its recording is not the one shown: the number leads there."""
    side = "the branch" if mark.branch else "the original"
    place = f"in cycle {mark.cycle} of {side}" if mark.cycle > 0 else f"{1 - mark.cycle} before the first that is open"
    cells = (
        Piece(str(mark.number)),
        Piece(str(mark.seq)),
        Piece(mark.note, "strong") if mark.note else muted_piece("–"),
        muted_piece(place),
        muted_piece(""),
    )
    return Row(str(mark.number), cells)


def event_words(recording: Recording, seq: Seq) -> str:
    """An event in a few words."""
    what = event_headline(recording.event_at(seq))
    return f"{what.what} {what.outcome.text}".strip()


# Breakpoints: how often they stop, and which kind suits an event.

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


# What one keeps an eye on: each watch with its value now and its last change.

WATCH_COLUMNS = (
    Column("", right=True),
    Column("watched", flexible=True),
    Column("now", flexible=True),
    Column("event", right=True),
    Column("change", flexible=True),
)


def watches_table(recording: Recording, seq: Seq, watched: Sequence[Watch]) -> Table:
    """Every watch; a row leads to the event that changed it last."""
    rows = [_watch_row(evaluate_watch(recording, seq, watch), seq) for watch in watched]
    hint = "nothing is watched: A watches the number under the cursor, or :watch node NAME idle cpu"
    foot = () if rows else (make_line(muted_piece(hint)),)
    return Table("Watch", WATCH_COLUMNS, rows, foot=foot, figures=partial(_watch_figure, recording, watched))


def _watch_row(found: WatchValue, seq: Seq) -> Row:
    """The change that the present event made stands out: its first value is the one before the event."""
    number, now = Piece(str(found.watch.number)), Piece(found.now, "strong" if found.now != found.before else "")
    name = Piece(_short_watch(found.watch))
    change = found.change
    if change is None:
        was = "" if found.now == found.before or not found.before else f"{found.before} → {found.now}"
        never = muted_piece("–")
        return Row(number.text, (number, name, now, muted_piece("–"), Piece(was, "warn") if was else never))
    here = change.seq == seq
    cells = (
        Piece(str(change.seq), "here" if here else ""),
        Piece(f"{found.old} → {found.new}", "warn" if here else ""),
    )
    return Row(number.text, (number, name, now, *cells), change.seq)


def _short_watch(watch: Watch) -> str:
    """A figure without what everybody knows of it: `research allocated cpu`."""
    if not watch.is_figure:
        return watch.text
    _, name, part, *dim = watch.text.split(" ")
    return " ".join((bare_name(name), bare_name(part), *map(short_name, dim)))


def _watch_figure(recording: Recording, watched: Sequence[Watch], row: Row, column: int) -> Figure | None:
    watch = next((watch for watch in watched if str(watch.number) == row.key), None)
    if watch is None or not watch.is_figure:
        return None
    try:
        return parse_figure_line(recording, watch.text)
    except VcdebugError:
        return None
