"""Original and branch: the edits, and what they changed, each row with its event on either side."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from vcdebug.comparison.cycles import CycleComparison, Divergence, compare_cycles
from vcdebug.debugger.cursor import SelectionKind
from vcdebug.debugger.driver import DebuggerState
from vcdebug.framework.record import OpEvent, StateEvent
from vcdebug.model.names import Seq
from vcdebug.recording.event_index import Seqs
from vcdebug.recording.recording import Recording
from vcdebug.views.comparison import (
    iter_answer_cells,
    job_cell,
    outcome_cell,
    question_of,
    queue_cells,
    side_cell,
    summarize_comparison,
    task_cell,
)
from vcdebug.views.headline import placing_words
from vcdebug.views.short_names import bare_name
from vcdebug.views.table import Column, Piece, Row, Style, Table, make_line, muted_piece
from vcdebug.whatif.branch import BRANCH, ORIGINAL, OpenRecordings

SIDE_COLUMNS = (Column("", flexible=True), Column("original", flexible=True), Column("branch", flexible=True))
EDIT_COLUMNS = (Column("", right=True), Column("edit", flexible=True), Column(""))
RecordingPair = tuple[Recording, Recording]
SeqPair = tuple[Seq, Seq]


def edits_table(here: DebuggerState) -> Table:
    """Edits in force and undone, and how to have them without a screen."""
    open_ = here.recordings
    if open_ is None or not (open_.edits or open_.undone):
        return Table("Edits", foot=(make_line(muted_piece("none yet: w or :set changes something, :force an answer")),))
    done = [_edit_row(number, edit.text, "in force", "good") for number, edit in enumerate(open_.edits, start=1)]
    undone = [_edit_row(0, edit.text, "undone", "muted") for edit in reversed(open_.undone)]
    about = "" if open_.start == 1 else f" of cycle {open_.start}"
    return Table(f"Edits{about}", EDIT_COLUMNS, [*done, *undone], foot=(make_line(muted_piece(command_line(open_))),))


def _edit_row(number: int, text: str, state: str, style: Style) -> Row:
    return Row(f"{number} {text}", (Piece(str(number) if number else ""), Piece(text), Piece(state, style)))


def command_line(open_: OpenRecordings) -> str:
    """The command that compares the same two runs without a screen."""
    snapshot = open_.original[0].snapshot
    words = ["vcdebug", "diff", snapshot.origin or snapshot.name]
    words += [word for text in open_.edit_texts for word in ("--set", text)]
    return shlex.join(words)


def difference_table(here: DebuggerState) -> Table:
    """What the edits changed in the shown cycle; a row's key holds the commands that show it on either side."""
    open_ = here.recordings
    if open_ is None or not open_.branch:
        return Table("Original and branch", foot=(make_line(muted_piece("there is no branch: w or :set makes one")),))
    sides = open_.both_sides()
    found = open_.found if open_.found is not None else compare_cycles(*sides)
    head = tuple(make_line(muted_piece("set "), text) for text in open_.edit_texts)
    rows = [*_iter_divergence_rows(sides, found), *_iter_change_rows(sides, found)]
    title = f"Original and branch, cycle {open_.cycle}: {summarize_comparison(found)}"
    return Table(title, SIDE_COLUMNS, rows, head=head)


def commands_of(row: Row) -> tuple[str, ...]:
    """The commands that show a row of `difference` in the branch and in the original; none without an event."""
    words = row.key.partition("#")[0].split()
    found = dict(zip(words[::2], words[1::2], strict=False))
    return tuple(f"{side} {found[side]}" for side in (BRANCH, ORIGINAL) if found.get(side, "0") != "0")


def _side_row(seqs: SeqPair, name: str, cells: tuple[Piece, Piece, Piece]) -> Row:
    """The key says where the row leads on either side."""
    return Row(f"{ORIGINAL} {seqs[0]} {BRANCH} {seqs[1]}#{name}", cells, seqs[1] or seqs[0])


def _cell_with_event(cell: Piece, seq: Seq) -> Piece:
    """The cell with the number of the event that tells about it."""
    return cell._replace(text=f"{cell.text} (event {seq})") if seq else cell


def _iter_divergence_rows(sides: RecordingPair, found: CycleComparison) -> Iterator[Row]:
    if found.divergence is not None:
        yield from _iter_divergence_detail_rows(sides, found.divergence, "first difference")
    if found.deeds_part is not None and found.deeds_part != found.divergence:
        yield from _iter_divergence_detail_rows(sides, found.deeds_part, "first operation that differs")


def _iter_divergence_detail_rows(sides: RecordingPair, divergence: Divergence, title: str) -> Iterator[Row]:
    both = divergence.before, divergence.after
    seqs = both[0].seq if both[0] else 0, both[1].seq if both[1] else 0
    cells = (
        Piece(title, "title"),
        _cell_with_event(side_cell(both[0]), seqs[0]),
        _cell_with_event(side_cell(both[1]), seqs[1]),
    )
    yield _side_row(seqs, title, cells)
    questions = question_of(both[0]), question_of(both[1])
    if any(questions):
        for where, before, after in iter_answer_cells(questions, sides):
            yield _side_row(seqs, f"{title} {where}", (muted_piece(f"  {where}"), before, after))
        yield _side_row(
            seqs, f"{title} →", (muted_piece("  →"), outcome_cell(questions[0]), outcome_cell(questions[1]))
        )
        return
    for one in divergence.differences:
        cells = muted_piece(f"  {one.field}"), Piece(placing_words(one.before)), Piece(placing_words(one.after))
        yield _side_row(seqs, f"{title} {one.field}", cells)


def _iter_change_rows(sides: RecordingPair, found: CycleComparison) -> Iterator[Row]:
    for job in found.jobs:
        yield _changed_row(sides, "job", job.job, job_cell(job.before), job_cell(job.after))
    for task in found.tasks:
        yield _changed_row(sides, "task", task.task, task_cell(task.before), task_cell(task.after))
    for queue in found.queues:
        name = f"queue {queue.queue} deserves ({queue.plugin})"
        yield _side_row((_opening_seq(sides[0]), _opening_seq(sides[1])), name, (Piece(name), *queue_cells(queue)))


def _changed_row(sides: RecordingPair, kind: SelectionKind, name: str, before: Piece, after: Piece) -> Row:
    """A job or pod that fared otherwise."""
    seqs = _last_deed(sides[0], kind, name), _last_deed(sides[1], kind, name)
    what = Piece(f"job {bare_name(name)}", "strong") if kind == "job" else Piece(f"pod {bare_name(name)}")
    return _side_row(
        seqs, f"{kind} {name}", (what, _cell_with_event(before, seqs[0]), _cell_with_event(after, seqs[1]))
    )


def _last_deed(recording: Recording, kind: SelectionKind, name: str) -> Seq:
    """The last operation about something, else the last event about it; 0 where there is none."""
    about: Seqs = recording.index.seqs_about(kind, name)
    deed = next((seq for seq in reversed(about) if isinstance(recording.event_at(seq), OpEvent)), 0)
    return deed or (about[-1] if len(about) else 0)


def _opening_seq(recording: Recording) -> Seq:
    """The event that tells the state at which the session opened."""
    return next(iter(recording.index.seqs_of_type(StateEvent)), 0)
