"""What is wrong in the input, and which quirks of upstream acted."""

from __future__ import annotations

from typing import Final

from vcdebug.compare.invariants import find_violations
from vcdebug.framework.forced import FORCED_CODE
from vcdebug.trace.input_problems import input_problems
from vcdebug.trace.recording import Recording
from vcdebug.views.base import YES, Column, Line, Piece, Row, Table, make_line, muted_piece

MAX_CHECKED_EVENTS: Final = 300_000
"""Events up to which every invariant is checked before the list is drawn: less than a second."""
UNCHECKED_SUMS: Final = (
    "sums were not checked in a recording of this size: break invariant looks for those that do not hold"
)
PROBLEM_COLUMNS = (Column("kind"), Column("where", flexible=True), Column("what", flexible=True))


def problems_table(recording: Recording) -> Table:
    """Problems of the snapshot and the configuration, quirks with their events, then rules that do not hold."""
    rows: list[Row] = []
    for number, problem in enumerate(input_problems(recording)):
        where = ": ".join(part for part in (problem.file, problem.object, problem.field) if part)
        what = f"{problem.what}; {problem.effect}" if problem.effect else problem.what
        rows.append(Row(f"problem {number}", (Piece("! problem", "warn"), Piece(where), Piece(what))))
    for number, note in enumerate(recording.notes):
        kind, what = ("~ forced", note.text) if note.code == FORCED_CODE else ("~ quirk", f"{note.code}: {note.text}")
        cells = (Piece(kind, "warn"), Piece(f"event {note.seq}"), Piece(what))
        rows.append(Row(f"quirk {number}", cells, note.seq))
    checked = len(recording) <= MAX_CHECKED_EVENTS
    for number, violation in enumerate(find_violations(recording) if checked else ()):
        cells = (Piece("≠ rule", "warn"), Piece(f"event {violation.seq}"), Piece(violation.violation_line))
        rows.append(Row(f"invariant {number}", cells, violation.seq))
    foot: tuple[Line, ...] = () if checked else (make_line(muted_piece(UNCHECKED_SUMS)),)
    foot += () if rows else (make_line(Piece(f"{YES} nothing wrong in the snapshot, no quirk acted", "good")),)
    return Table("Problems", PROBLEM_COLUMNS, rows, foot=foot)
