"""When a figure changed: its events with the value before and after, by index."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from vcdebug.debugger import figures
from vcdebug.debugger.figures import JOB, NODE, PLUGIN, STATUS_COUNTS, TASK, Figure
from vcdebug.framework.figures import Value
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskStatus
from vcdebug.recording import event_index
from vcdebug.recording.event_index import Seqs
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.timeline import JobCounts


class FigureChange(NamedTuple):
    """An event that changed a figure."""

    seq: Seq
    old: Value
    new: Value


class FigureHistory(NamedTuple):
    """All changes of one figure."""

    figure: Figure
    changes: tuple[FigureChange, ...]

    @property
    def change_seqs(self) -> Seqs:
        """The events, ascending."""
        return [change.seq for change in self.changes]

    def last_change(self, seq: Seq) -> FigureChange | None:
        """The last change at or before an event; None where the value is the opening one."""
        position = bisect_right(self.changes, seq, key=lambda change: change.seq)
        return self.changes[position - 1] if position else None

    def change_at(self, seq: Seq) -> FigureChange | None:
        """The change that an event made, if it made one."""
        found = self.last_change(seq)
        return found if found is not None and found.seq == seq else None


@per_recording(most=512)
def figure_history(recording: Recording, figure: Figure) -> FigureHistory:
    """Every event at which the figure changed; a write of the same value is none."""
    values = _iter_counts(recording, figure) if _is_count(figure) else _iter_values(recording, figure)
    last, changes = figures.figure_value(recording, figure, 0), []
    for seq, found in values:
        if 0 < seq <= len(recording) and not _is_same_value(last, found):
            changes.append(FigureChange(seq, last, found))
            last = found
    return FigureHistory(figure, tuple(changes))


def _iter_values(recording: Recording, figure: Figure) -> Iterator[tuple[Seq, Value]]:
    for seq in dict.fromkeys(_written_seqs(recording, figure)):
        yield seq, figures.figure_value(recording, figure, seq)


def _written_seqs(recording: Recording, figure: Figure) -> Seqs:
    written = recording.timeline.seqs_written
    if figure.kind == NODE:
        return written(event_index.NODE, figure.name) if figure.part not in figures.FIXED_NODE_PARTS else ()
    if figure.kind == TASK:
        return written(event_index.TASK, figure.name) if figure.part in ("status", "node") else ()
    if figure.kind == PLUGIN:
        return written(event_index.BOOK, (figure.name, "", figure.part))
    if figure.plugin:
        return written(event_index.BOOK, (figure.plugin, figure.name, figure.part))
    return written(event_index.PHASE, figure.name) if figure.part == "phase" else ()


def _is_count(figure: Figure) -> bool:
    return figure.kind == JOB and not figure.plugin and figure.part in (*STATUS_COUNTS, *figures.SUMMED_COUNTS)


def _iter_counts(recording: Recording, figure: Figure) -> Iterator[tuple[Seq, int]]:
    """A job's count after each event that moved one of its tasks, kept up to date from move to move."""
    counts = dict(recording.timeline.opening_counts[figure.name])
    minimum = recording.session.jobs[figure.name].min_available
    for seq, moves in groupby(_status_moves(recording, figure.name), key=itemgetter(0)):
        for _, before, now in moves:
            counts[before] -= 1
            counts[now] = counts.get(now, 0) + 1
        if figure.part in STATUS_COUNTS:
            yield seq, counts.get(STATUS_COUNTS[figure.part], 0)
        else:
            yield seq, getattr(JobCounts(counts, 0, minimum), f"{figure.part}_count")


def _status_moves(recording: Recording, job: JobId) -> list[tuple[Seq, TaskStatus, TaskStatus]]:
    """Every change of status of a job's tasks, in order."""
    moves: list[tuple[Seq, TaskStatus, TaskStatus]] = []
    for key in recording.timeline.touched.get(job, ()):
        moves += _iter_task_moves(recording, key)
    return sorted(moves, key=itemgetter(0))


def _iter_task_moves(recording: Recording, key: TaskKey) -> Iterator[tuple[Seq, TaskStatus, TaskStatus]]:
    line = recording.timeline
    before = line.opening_tasks[key].status
    for seq in dict.fromkeys(line.seqs_written(event_index.TASK, key)):
        now = line.state_at(seq).tasks[key].status
        if now is not before:
            yield seq, before, now
        before = now


def _is_same_value(old: object, new: object) -> bool:
    if isinstance(old, Resource) and isinstance(new, Resource):
        names = dict.fromkeys(name for amounts in (old, new) for name, _ in amounts.items())
        return all(old.get(name) == new.get(name) for name in names)
    return old == new
