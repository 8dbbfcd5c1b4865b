"""What is wrong in the input, and which quirks of upstream acted."""

from __future__ import annotations

from vcdebug.explain.coverage import uncovered
from vcdebug.snapshot.problem import Problem
from vcdebug.trace.recording import Recording
from vcdebug.views.base import YES, Column, Piece, Row, Table, line

COLUMNS = (Column("kind"), Column("where", flexible=True), Column("what", flexible=True))


def all_problems(recording: Recording) -> tuple[Problem, ...]:
    """Of the snapshot, its configuration and its plugins."""
    return (*recording.problems, *uncovered(recording.conf))


def problems(recording: Recording) -> Table:
    """Problems of the snapshot and the configuration, then quirks with their events."""
    rows: list[Row] = []
    for number, problem in enumerate(all_problems(recording)):
        where = ": ".join(part for part in (problem.file, problem.object, problem.field) if part)
        what = f"{problem.what}; {problem.effect}" if problem.effect else problem.what
        rows.append(Row(f"problem {number}", (Piece("! problem", "warn"), Piece(where), Piece(what))))
    for number, note in enumerate(recording.notes):
        cells = (Piece("~ quirk", "warn"), Piece(f"event {note.seq}"), Piece(f"{note.code}: {note.text}"))
        rows.append(Row(f"quirk {number}", cells, note.seq))
    foot = () if rows else (line(Piece(f"{YES} nothing wrong in the snapshot, no quirk acted", "good")),)
    return Table("Problems", COLUMNS, rows, foot=foot)
