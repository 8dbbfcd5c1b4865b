"""The panels Problems and Quirks."""

from typing import Final

from vcdebug.comparison.invariants import find_violations
from vcdebug.framework.forced_answers import FORCED_CODE
from vcdebug.framework.quirks import QUIRKS
from vcdebug.model.names import Seq
from vcdebug.recording.input_problems import input_problems
from vcdebug.recording.recording import Recording
from vcdebug.views.headline import path_words
from vcdebug.views.pieces import HERE, PATH, PROBLEM, YES, Line, Piece, make_line, muted_piece
from vcdebug.views.table import Row, Table, table_columns

MAX_CHECKED: Final = 200_000
"""Up to this number of events and pods all invariants are checked when the panel is drawn, in about half a second."""
UNCHECKED_SUMS: Final = "totals were not checked in a recording of this size: break invariant finds wrong ones"
PROBLEM_COLUMNS = table_columns("kind", "where~", "what~")


def problems_table(recording: Recording) -> Table:
    """Problems of snapshot and configuration, quirks with their events, then violated invariants."""
    rows: list[Row] = []
    for number, problem in enumerate(input_problems(recording)):
        place = ": ".join(part for part in (problem.file, problem.object, problem.field) if part)
        words = f"{problem.what}; {problem.effect}" if problem.effect else problem.what
        rows.append(Row(f"problem {number}", (Piece(f"{PROBLEM} problem", "warn"), Piece(place), Piece(words))))
    for number, note in enumerate(recording.notes):
        kind, words = ("forced", note.text) if note.code == FORCED_CODE else ("quirk", f"{note.code}: {note.text}")
        cells = (Piece(f"{PROBLEM} {kind}", "warn"), Piece(f"event {note.seq}"), Piece(words))
        rows.append(Row(f"quirk {number}", cells, note.seq))
    # A long cycle takes seconds to check: breakpoints of kind invariant do it on demand.
    checked = recording.size <= MAX_CHECKED
    for number, violation in enumerate(find_violations(recording) if checked else ()):
        cells = (Piece("≠ rule", "warn"), Piece(f"event {violation.seq}"), Piece(violation.violation_line))
        rows.append(Row(f"invariant {number}", cells, violation.seq))
    foot: tuple[Line, ...] = () if checked else (make_line(muted_piece(UNCHECKED_SUMS)),)
    foot += () if rows else (make_line(Piece(f"{YES} nothing wrong in the snapshot, no quirk occurred", "good")),)
    return Table("Problems", PROBLEM_COLUMNS, rows, footer=foot)


MEANING: Final = "a quirk is a bug or an oddity of Volcano that a replay repeats"
QUIRK_COLUMNS = table_columns("event#", "", "quirk", "what happened~24", "can change~16", "where~")


def quirks_table(recording: Recording, seq: Seq) -> Table:
    """A row per quirk that took effect, in order of events; a row leads to its event."""
    rows = [_quirk_row(recording, number, seq) for number in range(len(recording.notes))]
    codes = dict.fromkeys(note.code for note in recording.notes)
    quirks = [QUIRKS[code] for code in codes if code in QUIRKS]
    lines = [make_line(Piece(f"{PROBLEM} {quirk.code}", "warn"), f"  {quirk.description}") for quirk in quirks]
    head = (make_line(muted_piece(MEANING)), *lines) if lines else ()
    foot = () if rows else (make_line(Piece(f"{YES} no quirk of the scheduler occurred in this cycle", "good")),)
    current = next((row.key for row in rows if row.seq == seq), "")
    return Table("Quirks", QUIRK_COLUMNS, rows, head, foot, current=current)


def _quirk_row(recording: Recording, number: int, current: Seq) -> Row:
    note = recording.notes[number]
    quirk = QUIRKS.get(note.code)
    cells = (
        Piece(str(note.seq)),
        Piece(HERE if note.seq == current else "", "here"),
        Piece(note.code, "warn"),
        Piece(note.text),
        Piece(quirk.affected_decision if quirk is not None else ""),
        muted_piece(f" {PATH} ".join(path_words(recording, note.seq)) or "between actions"),
    )
    return Row(f"quirk {number}", cells, note.seq)
