"""Bars made of characters: for a node's dimension, a gang, a funnel."""

from collections.abc import Sequence
from typing import Final

from vcdebug.framework.record import NodeAmounts
from vcdebug.model.names import JobId, Seq
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskStatus
from vcdebug.recording.recording import Recording
from vcdebug.views.pieces import (
    BAR_SIGNS,
    BOTH,
    GANG_SIGNS,
    IDLE,
    RELEASING,
    RESERVED,
    USED,
    Line,
    Piece,
    Style,
    make_line,
    muted_piece,
    sign_legend,
)

LEGEND: Final = f"{sign_legend(USED, RELEASING)}  {RESERVED} pipelined  {BOTH} both  {sign_legend(IDLE)}"


def node_bar(amounts: NodeAmounts, allocatable: Resource, dim: str, width: int) -> str:
    """A bar of one dimension of a node; pipelined amounts cover releasing ones first, then idle ones."""
    used, leaving = amounts.used.get(dim), min(amounts.releasing.get(dim), amounts.used.get(dim))
    idle = max(amounts.idle.get(dim), 0.0)
    promised = min(max(amounts.pipelined.get(dim), 0.0), leaving + idle)
    from_leaving = min(promised, leaving)
    from_idle = promised - from_leaving
    parts = (used - leaving, leaving - from_leaving, from_leaving, from_idle, idle - from_idle)
    return draw_bar(parts, BAR_SIGNS, max(allocatable.get(dim), used + idle), width)


def draw_bar(parts: Sequence[float], signs: Sequence[str], total: float, width: int) -> str:
    """A bar of `width` signs in proportion to the parts; each part above 0 has at least one sign."""
    if total <= 0:
        return ""
    sizes = [max(1, round(part * width / total)) if part > 0 else 0 for part in parts]
    # Rounding up small parts may exceed the width: the largest part is shortened, where it shows least.
    while sum(sizes) > width:  # exact: ints
        sizes[sizes.index(max(sizes))] -= 1
    short = width - sum(sizes)  # exact: ints
    if short > 0 and any(sizes):
        sizes[sizes.index(max(sizes))] += short
    return "".join(sign * size for sign, size in zip(signs, sizes, strict=True))


PICTURE_WIDTH: Final = 24
BINDING_STATUSES: Final = (TaskStatus.ALLOCATED, TaskStatus.BINDING, TaskStatus.BOUND)
PLACED_STATUSES: Final = (*BINDING_STATUSES, TaskStatus.RUNNING, TaskStatus.SUCCEEDED)
"""Statuses of pods that have a node."""


def gang_line(recording: Recording, seq: Seq, name: JobId) -> Line:
    """`pods ■■■□□···  3 placed, 2 pipelined, 3 not placed of 8 needed`: a sign per pod, at most PICTURE_WIDTH."""
    job = recording.session.jobs[name]
    state = recording.timeline.state_at(seq)
    statuses = [state.tasks[task.key].status for task in job.tasks.values()]
    placed = len([status for status in statuses if status in PLACED_STATUSES])
    waiting = statuses.count(TaskStatus.PIPELINED)
    needed = state.job_counts(name).min_available
    missing = max(needed - placed - waiting, 0)
    total = placed + waiting + missing
    drawn = draw_bar((placed, waiting, missing), GANG_SIGNS, total, min(total, PICTURE_WIDTH))
    counts = ((placed, "placed"), (waiting, "pipelined"), (missing, "not placed"))
    words = ", ".join(f"{number} {word}" for number, word in counts if number) or "no pods"
    style: Style = "bad" if missing else "warn" if waiting else "good"
    return make_line(muted_piece("pods "), Piece(drawn, style), f"  {words}", muted_piece(f" of {needed} needed"))


def stage_lines(counts: Sequence[tuple[str, int]]) -> tuple[Line, ...]:
    """A funnel: a bar per (stage, number that it leaves); empty if all numbers are 0."""
    largest = max((number for _, number in counts), default=0)
    label = max((len(name) for name, _ in counts), default=0)
    return tuple(_stage_line(f"{name:>{label}} ", number, largest) for name, number in counts) if largest else ()


def _stage_line(label: str, number: int, largest: int) -> Line:
    width = max(1, round(PICTURE_WIDTH * number / largest))
    drawn = draw_bar((number,), (USED,), largest, width) if number else ""
    return make_line(muted_piece(label), Piece(drawn, "accent"), Piece(f" {number}", "" if number else "bad"))
