"""Bookmarks as a table: event, place, what happened there, note."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.debugger.bookmark import Bookmark
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Piece, Row, Table, line, muted
from vcdebug.views.headline import headline
from vcdebug.views.names import path_words

COLUMNS = (
    Column("", right=True),
    Column("event", right=True),
    Column("note", flexible=True, least=12),
    Column("what happened", flexible=True, least=12),
    Column("where", flexible=True),
)
MARK = "▼"


def bookmarks(recording: Recording, seq: Seq, marks: Sequence[Bookmark], elsewhere: Sequence[Bookmark] = ()) -> Table:
    """Every bookmark of this recording in the order of events, then those of other cycles."""
    rows = [*(_row(recording, mark) for mark in marks), *map(_row_elsewhere, elsewhere)]
    current = next((str(mark.number) for mark in marks if mark.seq == seq), "")
    foot = () if rows else (line(muted("no bookmarks: m marks this event, or :bookmark NOTE")),)
    return Table("Bookmarks", COLUMNS, rows, foot=foot, current=current)


def _row(recording: Recording, mark: Bookmark) -> Row:
    there = mark.seq <= len(recording)
    where = " ▸ ".join(path_words(recording, mark.seq)) if there else ""
    cells = (
        Piece(str(mark.number)),
        Piece(str(mark.seq)),
        Piece(mark.note, "strong") if mark.note else muted("–"),
        Piece(happened(recording, mark.seq)) if there else Piece("! this recording is shorter", "warn"),
        muted(where or "between actions"),
    )
    return Row(str(mark.number), cells, mark.seq if there else 0)


def _row_elsewhere(mark: Bookmark) -> Row:
    """Its recording is not the one shown: the number leads there."""
    side = "the branch" if mark.branch else "the original"
    place = f"in cycle {mark.cycle} of {side}" if mark.cycle > 0 else f"{1 - mark.cycle} before the first that is open"
    cells = (
        Piece(str(mark.number)),
        Piece(str(mark.seq)),
        Piece(mark.note, "strong") if mark.note else muted("–"),
        muted(place),
        muted(""),
    )
    return Row(str(mark.number), cells)


def happened(recording: Recording, seq: Seq) -> str:
    """An event in a few words."""
    what = headline(recording.event(seq))
    return f"{what.what} {what.outcome.text}".strip()
