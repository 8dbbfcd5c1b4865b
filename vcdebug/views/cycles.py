"""All cycles of the original or the branch, and the changes from one capture or cycle to the next."""

from collections.abc import Iterator

from vcdebug.comparison.cycles import CaptureChanges, TaskOutcome, compare_captures
from vcdebug.debugger.commands.cycles import describe_repeat
from vcdebug.debugger.driver import DebuggerState
from vcdebug.recording.effects import Effects, cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.views.bars import draw_bar
from vcdebug.views.pieces import GANG_SIGNS, Line, Piece, make_line, muted_piece
from vcdebug.views.table import Row, Table, table_columns
from vcdebug.whatif.cycles import CycleRepeat, find_repeat

CYCLE_COLUMNS = table_columns(
    "cycle#",
    "clock",
    "events#",
    "bound#",
    "pipelined#",
    "evicted#",
    "unscheduled#",
    " ".join(map(" ".join, zip(GANG_SIGNS, ("bound", "pipelined", "Pending"), strict=True))),
    "~",
)
CYCLE_BAR_WIDTH = 24
PENDING_OUTCOMES = ("pending", "held: gang incomplete")


def shown_cycles_table(here: DebuggerState) -> Table:
    """Every cycle; a row's key is the command that shows it."""
    open_ = here.recordings
    if open_ is None:
        return cycle_table((here.recording,), 1, "Cycles of the original: 1 is shown")
    return cycle_table(open_.cycles_of(open_.side), open_.cycle, f"Cycles of the {open_.side}: {open_.cycle} is shown")


def cycle_table(recordings: tuple[Recording, ...], present: int, title: str) -> Table:
    """A row per cycle, the `present` one marked, and below whether a cycle repeats an earlier one."""
    repeat = find_repeat(recordings)
    largest_size = max((_bar_length(cycle_effects(recording)) for recording in recordings), default=1)
    rows = [_cycle_row(number, recording, repeat, largest_size) for number, recording in enumerate(recordings, start=1)]
    return Table(title, CYCLE_COLUMNS, rows, footer=_repeat_foot(repeat, len(recordings)), current=f"cycle {present}")


def _cycle_row(number: int, recording: Recording, repeat: CycleRepeat | None, largest_size: int) -> Row:
    effects = cycle_effects(recording)
    waiting = sum(job.waiting for job in effects.jobs)  # exact: ints
    counts = (len(recording), len(effects.bound), waiting, len(effects.evicted), count_unscheduled(effects))
    cells = (
        Piece(str(number)),
        Piece(recording.snapshot.now.strftime("%H:%M:%S")),
        *(Piece(str(count)) if count else muted_piece("–") for count in counts),
        Piece(_cycle_bar(counts[1], counts[2], counts[4], largest_size), "accent"),
        _cycle_remark(number, effects, repeat),
    )
    return Row(f"cycle {number}", cells)


def _bar_length(effects: Effects) -> int:
    """The length of a cycle's bar: bound and pipelined pods, plus unscheduled jobs."""
    return len(effects.bound) + sum(job.waiting for job in effects.jobs) + count_unscheduled(effects)  # exact: ints


def _cycle_bar(bound: int, pipelined: int, waits: int, largest_size: int) -> str:
    """A bar in proportion to the largest cycle, of size `largest_size`."""
    total = bound + pipelined + waits
    width = max(1, round(CYCLE_BAR_WIDTH * total / largest_size)) if total else 0
    return draw_bar((bound, pipelined, waits), GANG_SIGNS, total, width)


def count_unscheduled(effects: Effects) -> int:
    """The number of jobs that are Pending after the cycle."""
    return sum(job.outcome in PENDING_OUTCOMES for job in effects.jobs)  # exact: ints


def _cycle_remark(number: int, effects: Effects, repeat: CycleRepeat | None) -> Piece:
    if effects.panic is not None:
        return Piece("the real scheduler panics", "bad")
    if repeat is not None and number == repeat.later_cycle:
        return Piece(f"repeats cycle {repeat.earlier_cycle}", "warn")
    return Piece("")


def _repeat_foot(repeat: CycleRepeat | None, cycles: int) -> tuple[Line, ...]:
    if repeat is not None:
        return (make_line(Piece(describe_repeat(repeat), "warn")),)
    words = "} or :advance runs the next cycle" if cycles == 1 else "no repeating cycles"
    return (make_line(muted_piece(words)),)


# Changes since the previous capture or cycle: decisions, causes, objects.

CAPTURE_COLUMNS = table_columns("what", "name", "before", "now~")
NO_VALUE = "–"


def capture_changes(here: DebuggerState) -> Table:
    """The changes in the cluster between the previous capture and the shown one."""
    open_ = here.recordings
    if open_ is None or open_.cycle == 1:
        return Table(
            "Changes", CAPTURE_COLUMNS, [], footer=(make_line(muted_piece("there is nothing before this one")),)
        )
    before, after = open_.cycles_of(open_.side)[open_.cycle - 2 : open_.cycle]
    changes = compare_captures(before, after)
    span = f"from {open_.cycle - 1} ({_clock_text(before)}) to {open_.cycle} ({_clock_text(after)})"
    rows = list(iter_change_rows(changes))
    return Table(f"Changes {span}: {changes.format_changes()}", CAPTURE_COLUMNS, rows)


def iter_change_rows(changes: CaptureChanges) -> Iterator[Row]:
    """Decisions first, then causes, then the objects behind them."""
    for task in changes.decisions.tasks:
        cells = ("decision", task.task, _outcome_text(task.before), _outcome_text(task.after))
        yield Row(f"decision {task.task}", tuple(Piece(cell) for cell in cells), subject=("task", task.task))
    for cause in changes.causes:
        before, after = cause.before or "not Pending", cause.after or "no longer Pending"
        cells = ("cause", cause.job, before, after)
        yield Row(f"cause {cause.job}", tuple(Piece(cell) for cell in cells), subject=("job", cause.job))
    for change in changes.objects:
        cells = (change.kind, change.name, NO_VALUE if change.change_kind == "new" else "", change.change_kind)
        yield Row(f"object {change.kind} {change.name}", tuple(Piece(cell) for cell in cells))


def _outcome_text(outcome: TaskOutcome | None) -> str:
    if outcome is None:
        return NO_VALUE
    place = f" on {outcome.node}" if outcome.node else ""
    return f"{outcome.status.name.capitalize()}{place}{', evicted' if outcome.evicted else ''}"


def _clock_text(recording: Recording) -> str:
    return recording.snapshot.now.strftime("%H:%M:%S")
