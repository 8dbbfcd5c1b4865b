"""The cycles of the shown side: what each did, and which repeats an earlier one."""

from __future__ import annotations

from vcdebug.debugger.commands.cycles import describe_repeat
from vcdebug.debugger.cycles import CycleRepeat, find_repeat
from vcdebug.debugger.driver import DebuggerState
from vcdebug.trace.effects import Effects, cycle_effects
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Line, Piece, Row, Table, make_line, muted_piece, plain_columns
from vcdebug.views.pictures import IDLE, LEAVES, STAYS, draw_bar

CYCLE_COLUMNS = (
    *plain_columns("cycle#", "clock", "events#", "bound#", "pipelined#", "evicted#", "unscheduled#"),
    Column("█ bound ▒ pipelined · waits"),
    Column("", flexible=True),
)
CYCLE_BAR_WIDTH = 24
PENDING_OUTCOMES = ("pending", "waits for its gang")


def shown_cycles_table(here: DebuggerState) -> Table:
    """Every cycle; a row's key is the command that shows it."""
    open_ = here.recordings
    line_ = (here.recording,) if open_ is None else open_.cycles_of(open_.side)
    present = 1 if open_ is None else open_.cycle
    return cycle_table(
        line_, present, f"Cycles of the {'original' if open_ is None else open_.side}: {present} is shown"
    )


def cycle_table(recordings: tuple[Recording, ...], present: int, title: str) -> Table:
    """The cycles with the one that is shown marked, and what repeats below."""
    found = find_repeat(recordings)
    most = max((_drawn_size(cycle_effects(recording)) for recording in recordings), default=1)
    rows = [_cycle_row(number, recording, found, most) for number, recording in enumerate(recordings, start=1)]
    return Table(title, CYCLE_COLUMNS, rows, foot=_repeat_foot(found, len(recordings)), current=f"cycle {present}")


def _cycle_row(number: int, recording: Recording, found: CycleRepeat | None, most: int) -> Row:
    done = cycle_effects(recording)
    waiting = sum(job.waiting for job in done.jobs)  # exact: ints
    counts = (len(recording), len(done.bound), waiting, len(done.evicted), count_unscheduled(done))
    cells = (
        Piece(str(number)),
        Piece(recording.snapshot.now.strftime("%H:%M:%S")),
        *(Piece(str(count)) if count else muted_piece("–") for count in counts),
        Piece(_cycle_bar(counts[1], counts[2], counts[4], most), "accent"),
        _cycle_remark(number, done, found),
    )
    return Row(f"cycle {number}", cells)


def _drawn_size(done: Effects) -> int:
    """What there is to draw of a cycle."""
    return len(done.bound) + sum(job.waiting for job in done.jobs) + count_unscheduled(done)  # exact: ints


def _cycle_bar(bound: int, pipelined: int, waits: int, most: int) -> str:
    """The cycle as a bar, as long as its share of the largest one."""
    total = bound + pipelined + waits
    width = max(1, round(CYCLE_BAR_WIDTH * total / most)) if total else 0
    return draw_bar((bound, pipelined, waits), (STAYS, LEAVES, IDLE), total, width)


def count_unscheduled(done: Effects) -> int:
    """Jobs that still wait after the cycle."""
    return sum(job.outcome in PENDING_OUTCOMES for job in done.jobs)  # exact: ints


def _cycle_remark(number: int, done: Effects, found: CycleRepeat | None) -> Piece:
    if done.panic is not None:
        return Piece("the real scheduler panics", "bad")
    if found is not None and number == found.later:
        return Piece(f"repeats cycle {found.earlier}", "warn")
    return Piece("")


def _repeat_foot(found: CycleRepeat | None, cycles: int) -> tuple[Line, ...]:
    if found is not None:
        return (make_line(Piece(describe_repeat(found), "warn")),)
    return (
        make_line(
            muted_piece("} or :advance runs the next cycle" if cycles == 1 else "no cycle repeats an earlier one")
        ),
    )
