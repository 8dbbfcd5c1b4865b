"""Bookmarks as a table: event, place, what happened there, note."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.debugger.bookmark import Bookmark
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Piece, Row, Table, make_line, muted_piece
from vcdebug.views.headline import event_headline
from vcdebug.views.names import path_words

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
