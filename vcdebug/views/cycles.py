"""The cycles of the shown side: what each did, and which repeats an earlier one."""

from __future__ import annotations

from vcdebug.debugger.commands.cycles import repeat_words
from vcdebug.debugger.cycles import Repeat, repeat
from vcdebug.debugger.driver import DebuggerState
from vcdebug.trace.effects import Effects, effects
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Line, Piece, Row, Table, line, muted, plain_columns
from vcdebug.views.pictures import IDLE, LEAVES, STAYS, bar

COLUMNS = (
    *plain_columns("cycle#", "clock", "events#", "bound#", "pipelined#", "evicted#", "unscheduled#"),
    Column("█ bound ▒ pipelined · waits"),
    Column("", flexible=True),
)
BAR = 24
WAITING = ("pending", "waits for its gang")


def cycles(here: DebuggerState) -> Table:
    """Every cycle; a row's key is the command that shows it."""
    open_ = here.recordings
    line_ = (here.recording,) if open_ is None else open_.line(open_.side)
    present = 1 if open_ is None else open_.cycle
    return cycle_table(
        line_, present, f"Cycles of the {'original' if open_ is None else open_.side}: {present} is shown"
    )


def cycle_table(recordings: tuple[Recording, ...], present: int, title: str) -> Table:
    """The cycles with the one that is shown marked, and what repeats below."""
    found = repeat(recordings)
    most = max((_size(effects(recording)) for recording in recordings), default=1)
    rows = [_row(number, recording, found, most) for number, recording in enumerate(recordings, start=1)]
    return Table(title, COLUMNS, rows, foot=_foot(found, len(recordings)), current=f"cycle {present}")


def _row(number: int, recording: Recording, found: Repeat | None, most: int) -> Row:
    done = effects(recording)
    waiting = sum(job.waiting for job in done.jobs)  # exact: ints
    counts = (len(recording), len(done.bound), waiting, len(done.evicted), unscheduled(done))
    cells = (
        Piece(str(number)),
        Piece(recording.snapshot.now.strftime("%H:%M:%S")),
        *(Piece(str(count)) if count else muted("–") for count in counts),
        Piece(_drawn(counts[1], counts[2], counts[4], most), "accent"),
        _remark(number, done, found),
    )
    return Row(f"cycle {number}", cells)


def _size(done: Effects) -> int:
    """What there is to draw of a cycle."""
    return len(done.bound) + sum(job.waiting for job in done.jobs) + unscheduled(done)  # exact: ints


def _drawn(bound: int, pipelined: int, waits: int, most: int) -> str:
    """The cycle as a bar, as long as its share of the largest one."""
    total = bound + pipelined + waits
    width = max(1, round(BAR * total / most)) if total else 0
    return bar((bound, pipelined, waits), (STAYS, LEAVES, IDLE), total, width)


def unscheduled(done: Effects) -> int:
    """Jobs that still wait after the cycle."""
    return sum(job.outcome in WAITING for job in done.jobs)  # exact: ints


def _remark(number: int, done: Effects, found: Repeat | None) -> Piece:
    if done.panic is not None:
        return Piece("the real scheduler panics", "bad")
    if found is not None and number == found.later:
        return Piece(f"repeats cycle {found.earlier}", "warn")
    return Piece("")


def _foot(found: Repeat | None, cycles: int) -> tuple[Line, ...]:
    if found is not None:
        return (line(Piece(repeat_words(found), "warn")),)
    return (line(muted("} or :advance runs the next cycle" if cycles == 1 else "no cycle repeats an earlier one")),)
