"""Pictures of a few signs, to be seen before they are read: a gang, a funnel, what became of a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vcdebug.model.names import JobId, Seq
from vcdebug.model.status import TaskStatus
from vcdebug.trace.recording import Recording
from vcdebug.views.bars import IDLE, LEAVES, STAYS, bar
from vcdebug.views.base import Line, Piece, line, muted

WIDTH: Final = 24
PLACED: Final = (
    TaskStatus.ALLOCATED,
    TaskStatus.BINDING,
    TaskStatus.BOUND,
    TaskStatus.RUNNING,
    TaskStatus.SUCCEEDED,
)
"""Pods that have their place."""
PLACED_SIGN, WAITING_SIGN, MISSING_SIGN = STAYS, LEAVES, IDLE


def gang(recording: Recording, seq: Seq, name: JobId) -> Line:
    """`gang ███▒▒···  3 placed, 2 wait for room, 3 missing of 8 needed`; a sign is a pod, if there is room."""
    job = recording.session.jobs[name]
    state = recording.timeline.state_at(seq)
    statuses = [state.tasks[task.key].status for task in job.tasks.values()]
    placed = len([status for status in statuses if status in PLACED])
    waiting = statuses.count(TaskStatus.PIPELINED)
    needed = state.job(name).min_available
    missing = max(needed - placed - waiting, 0)
    total = placed + waiting + missing
    drawn = bar((placed, waiting, missing), (PLACED_SIGN, WAITING_SIGN, MISSING_SIGN), total, min(total, WIDTH))
    counts = ((placed, "placed"), (waiting, "wait for room"), (missing, "missing"))
    words = ", ".join(f"{number} {word}" for number, word in counts if number) or "no pods"
    style = "bad" if missing else "warn" if waiting else "good"
    return line(muted("gang "), Piece(drawn, style), f"  {words}", muted(f" of {needed} needed"))  # type: ignore[arg-type]


def stages(counts: Sequence[tuple[str, int]]) -> tuple[Line, ...]:
    """A funnel: one bar below the other, each as long as what the stage leaves."""
    most = max((number for _, number in counts), default=0)
    label = max((len(name) for name, _ in counts), default=0)
    if not most:
        return ()
    return tuple(
        line(
            muted(f"{name:>{label}} "),
            Piece(
                bar((number,), (PLACED_SIGN,), most, max(1, round(WIDTH * number / most))) if number else "", "accent"
            ),
            Piece(f" {number}", "" if number else "bad"),
        )
        for name, number in counts
    )
