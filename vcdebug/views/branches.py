"""Original and branch: the edits, and what they changed, each row with its event on either side."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from vcdebug.compare.cycles import Comparison, compare
from vcdebug.compare.first_difference import Divergence
from vcdebug.debugger.cursor import Kind
from vcdebug.debugger.driver import DebuggerState
from vcdebug.debugger.recordings import BRANCH, ORIGINAL, Recordings
from vcdebug.framework.record import OpEvent, StateEvent
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Piece, Row, Style, Table, line, muted
from vcdebug.views.comparison import (
    job_cell,
    outcome_cell,
    question_of,
    queue_cells,
    seat_cells,
    side_cell,
    summary,
    task_cell,
)
from vcdebug.views.headline import placing_words
from vcdebug.views.names import bare

COLUMNS = (Column("", flexible=True), Column("original", flexible=True), Column("branch", flexible=True))
EDIT_COLUMNS = (Column("", right=True), Column("edit", flexible=True), Column(""))
Sides = tuple[Recording, Recording]
Seqs2 = tuple[Seq, Seq]


def edits(here: DebuggerState) -> Table:
    """Edits in force and undone, and how to have them without a screen."""
    open_ = here.recordings
    if open_ is None or not (open_.edits or open_.undone):
        return Table("Edits", foot=(line(muted("none yet: w or :set changes something, :force an answer")),))
    done = [_edit_row(number, edit.text, "in force", "good") for number, edit in enumerate(open_.edits, start=1)]
    undone = [_edit_row(0, edit.text, "undone", "muted") for edit in reversed(open_.undone)]
    about = "" if open_.start == 1 else f" of cycle {open_.start}"
    return Table(f"Edits{about}", EDIT_COLUMNS, [*done, *undone], foot=(line(muted(command_line(open_))),))


def _edit_row(number: int, text: str, state: str, style: Style) -> Row:
    return Row(f"{number} {text}", (Piece(str(number) if number else ""), Piece(text), Piece(state, style)))


def command_line(open_: Recordings) -> str:
    """The command that compares the same two runs without a screen."""
    snapshot = open_.original[0].snapshot
    words = ["vcdebug", "diff", snapshot.origin or snapshot.name]
    words += [word for text in open_.texts for word in ("--set", text)]
    return shlex.join(words)


def difference(here: DebuggerState) -> Table:
    """What the edits changed in the shown cycle; a row's key holds the commands that show it on either side."""
    open_ = here.recordings
    if open_ is None or not open_.branch:
        return Table("Original and branch", foot=(line(muted("there is no branch: w or :set makes one")),))
    sides = open_.pair()
    found = open_.found if open_.found is not None else compare(*sides)
    head = tuple(line(muted("set "), text) for text in open_.texts)
    rows = [*_divergences(sides, found), *_changes(sides, found)]
    title = f"Original and branch, cycle {open_.cycle}: {summary(found)}"
    return Table(title, COLUMNS, rows, head=head)


def commands_of(row: Row) -> tuple[str, ...]:
    """The commands that show a row of `difference` in the branch and in the original; none without an event."""
    words = row.key.partition("#")[0].split()
    found = dict(zip(words[::2], words[1::2], strict=False))
    return tuple(f"{side} {found[side]}" for side in (BRANCH, ORIGINAL) if found.get(side, "0") != "0")


def _row(seqs: Seqs2, name: str, cells: tuple[Piece, Piece, Piece]) -> Row:
    """The key says where the row leads on either side."""
    return Row(f"{ORIGINAL} {seqs[0]} {BRANCH} {seqs[1]}#{name}", cells, seqs[1] or seqs[0])


def _at(cell: Piece, seq: Seq) -> Piece:
    """The cell with the number of the event that tells about it."""
    return cell._replace(text=f"{cell.text} (event {seq})") if seq else cell


def _divergences(sides: Sides, found: Comparison) -> Iterator[Row]:
    if found.divergence is not None:
        yield from _divergence(sides, found.divergence, "first difference")
    if found.deeds_part is not None and found.deeds_part != found.divergence:
        yield from _divergence(sides, found.deeds_part, "first operation that differs")


def _divergence(sides: Sides, divergence: Divergence, title: str) -> Iterator[Row]:
    both = divergence.before, divergence.after
    seqs = both[0].seq if both[0] else 0, both[1].seq if both[1] else 0
    cells = Piece(title, "title"), _at(side_cell(both[0]), seqs[0]), _at(side_cell(both[1]), seqs[1])
    yield _row(seqs, title, cells)
    questions = question_of(both[0]), question_of(both[1])
    if any(questions):
        for where, before, after in seat_cells(questions, sides):
            yield _row(seqs, f"{title} {where}", (muted(f"  {where}"), before, after))
        yield _row(seqs, f"{title} →", (muted("  →"), outcome_cell(questions[0]), outcome_cell(questions[1])))
        return
    for one in divergence.differences:
        cells = muted(f"  {one.field}"), Piece(placing_words(one.before)), Piece(placing_words(one.after))
        yield _row(seqs, f"{title} {one.field}", cells)


def _changes(sides: Sides, found: Comparison) -> Iterator[Row]:
    for job in found.jobs:
        yield _changed(sides, "job", job.job, job_cell(job.before), job_cell(job.after))
    for task in found.tasks:
        yield _changed(sides, "task", task.task, task_cell(task.before), task_cell(task.after))
    for queue in found.queues:
        name = f"queue {queue.queue} deserves ({queue.plugin})"
        yield _row((_opening(sides[0]), _opening(sides[1])), name, (Piece(name), *queue_cells(queue)))


def _changed(sides: Sides, kind: Kind, name: str, before: Piece, after: Piece) -> Row:
    """A job or pod that fared otherwise."""
    seqs = _last_deed(sides[0], kind, name), _last_deed(sides[1], kind, name)
    what = Piece(f"job {bare(name)}", "strong") if kind == "job" else Piece(f"pod {bare(name)}")
    return _row(seqs, f"{kind} {name}", (what, _at(before, seqs[0]), _at(after, seqs[1])))


def _last_deed(recording: Recording, kind: Kind, name: str) -> Seq:
    """The last operation about something, else the last event about it; 0 where there is none."""
    about: Seqs = recording.index.about(kind, name)
    deed = next((seq for seq in reversed(about) if isinstance(recording.event(seq), OpEvent)), 0)
    return deed or (about[-1] if len(about) else 0)


def _opening(recording: Recording) -> Seq:
    """The event that tells the state at which the session opened."""
    return next(iter(recording.index.of_type(StateEvent)), 0)
