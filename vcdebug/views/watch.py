"""What one keeps an eye on: each watch with its value now and its last change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from vcdebug.amount_text import short_name
from vcdebug.debugger.figure_words import parse_figure_line
from vcdebug.debugger.figures import Figure
from vcdebug.debugger.watch import Watch, WatchValue, evaluate_watch
from vcdebug.errors import VcdebugError
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Piece, Row, Table, make_line, muted_piece
from vcdebug.views.names import bare_name

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
