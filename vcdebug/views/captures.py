"""What is not as it was in the capture or cycle before: objects, decisions, causes."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.compare.captures import CaptureChanges, compare_captures
from vcdebug.compare.cycles import TaskOutcome
from vcdebug.debugger.driver import DebuggerState
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Piece, Row, Table, make_line, muted_piece

CAPTURE_COLUMNS = (Column("what"), Column("name"), Column("before"), Column("now", flexible=True))
NO_VALUE = "–"


def capture_changes(here: DebuggerState) -> Table:
    """What changed in the cluster between the previous capture and the shown one."""
    open_ = here.recordings
    if open_ is None or open_.cycle == 1:
        return Table("Changes", CAPTURE_COLUMNS, [], foot=(make_line(muted_piece("there is nothing before this one")),))
    before, after = open_.cycles_of(open_.side)[open_.cycle - 2 : open_.cycle]
    found = compare_captures(before, after)
    title = f"Changes from {open_.cycle - 1} ({_clock_text(before)}) to {open_.cycle} ({_clock_text(after)}): {found.format_changes()}"
    return Table(title, CAPTURE_COLUMNS, list(iter_change_rows(found)))


def iter_change_rows(found: CaptureChanges) -> Iterator[Row]:
    """Decisions first, then causes, then the objects behind them."""
    for task in found.decisions.tasks:
        cells = ("decision", task.task, _outcome_text(task.before), _outcome_text(task.after))
        yield Row(f"decision {task.task}", tuple(Piece(cell) for cell in cells), subject=("task", task.task))
    for cause in found.causes:
        before, after = cause.before or "not waiting", cause.after or "waits no more"
        cells = ("cause", cause.job, before, after)
        yield Row(f"cause {cause.job}", tuple(Piece(cell) for cell in cells), subject=("job", cause.job))
    for one in found.objects:
        cells = (one.kind, one.name, NO_VALUE if one.word == "new" else "", one.word)
        yield Row(f"object {one.kind} {one.name}", tuple(Piece(cell) for cell in cells))


def _outcome_text(outcome: TaskOutcome | None) -> str:
    if outcome is None:
        return NO_VALUE
    place = f" on {outcome.node}" if outcome.node else ""
    return f"{outcome.status.name.capitalize()}{place}{', evicted' if outcome.evicted else ''}"


def _clock_text(recording: Recording) -> str:
    return recording.snapshot.now.strftime("%H:%M:%S")
