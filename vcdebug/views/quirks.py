"""Quirks of upstream that acted in this cycle: what happened, where, and what it can change."""

from __future__ import annotations

from vcdebug.framework.quirks import QUIRKS
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import HERE, YES, Column, Piece, Row, Table, make_line, muted_piece, plain_columns
from vcdebug.views.names import path_words

QUIRK_COLUMNS = (
    *plain_columns("event#", "", "quirk"),
    Column("what happened", flexible=True, least=24),
    Column("can change", flexible=True, least=16),
    Column("where", flexible=True),
)


def quirks_table(recording: Recording, seq: Seq) -> Table:
    """One row per note, in order; Enter goes to its event."""
    rows = [_quirk_row(recording, number, seq) for number in range(len(recording.notes))]
    codes = dict.fromkeys(note.code for note in recording.notes)
    known = [QUIRKS[code] for code in codes if code in QUIRKS]
    head = tuple(make_line(Piece(f"~ {quirk.code}", "warn"), f"  {quirk.what}") for quirk in known)
    foot = () if rows else (make_line(Piece(f"{YES} no quirk of the scheduler acted in this cycle", "good")),)
    current = next((row.key for row in rows if row.seq == seq), "")
    return Table("Quirks", QUIRK_COLUMNS, rows, head, foot, current=current)


def _quirk_row(recording: Recording, number: int, here: Seq) -> Row:
    note = recording.notes[number]
    quirk = QUIRKS.get(note.code)
    cells = (
        Piece(str(note.seq)),
        Piece(HERE if note.seq == here else "", "here"),
        Piece(note.code, "warn"),
        Piece(note.text),
        Piece(quirk.decides if quirk is not None else ""),
        muted_piece(" ▸ ".join(path_words(recording, note.seq)) or "between actions"),
    )
    return Row(f"quirk {number}", cells, note.seq)
