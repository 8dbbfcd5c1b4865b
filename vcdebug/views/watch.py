"""What one keeps an eye on: each watch with its value now, after the event before, and its last change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from vcdebug.debugger.figure_words import figure_of
from vcdebug.debugger.figures import Figure
from vcdebug.debugger.watch import Watch, Watched, look
from vcdebug.errors import VcdebugError
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Piece, Row, Table, line, muted

COLUMNS = (
    Column("", right=True),
    Column("watched", flexible=True, least=16),
    Column("now", flexible=True),
    Column("before", flexible=True),
    Column("event", right=True),
    Column("last change", flexible=True),
)
NOW, BEFORE, CHANGE = 2, 3, 5


def watches(recording: Recording, seq: Seq, watched: Sequence[Watch]) -> Table:
    """Every watch; a row leads to the event that changed it last."""
    rows = [_row(look(recording, seq, watch), seq) for watch in watched]
    hint = "nothing is watched: A watches the number under the cursor, or :watch node NAME idle cpu"
    foot = () if rows else (line(muted(hint)),)
    return Table("Watch", COLUMNS, rows, foot=foot, figures=partial(_figure, recording, watched))


def _row(found: Watched, seq: Seq) -> Row:
    changed = found.change is not None and found.change.seq == seq
    cells = (
        Piece(str(found.watch.number)),
        Piece(found.watch.text),
        Piece(found.now, "strong" if found.now != found.before else ""),
        muted(found.before),
        Piece(str(found.change.seq), "here" if changed else "") if found.change is not None else muted("–"),
        Piece(f"{found.old} → {found.new}", "warn" if changed else "")
        if found.change is not None
        else muted("none yet"),
    )
    if not found.watch.is_figure:
        cells = (*cells[:CHANGE], muted("an expression"))
    return Row(str(found.watch.number), cells, found.change.seq if found.change is not None else 0)


def _figure(recording: Recording, watched: Sequence[Watch], row: Row, column: int) -> Figure | None:
    watch = next((watch for watch in watched if str(watch.number) == row.key), None)
    if watch is None or not watch.is_figure:
        return None
    try:
        return figure_of(recording, watch.text)
    except VcdebugError:
        return None
