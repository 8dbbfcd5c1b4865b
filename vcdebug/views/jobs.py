"""The jobs as they stand at an event."""

from __future__ import annotations

from functools import partial

from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq
from vcdebug.model.status import TaskStatus
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording
from vcdebug.trace.timeline import ClusterState
from vcdebug.trace.waiting_first import waiting_first
from vcdebug.views.base import KEPT_TABLES, NO, YES, Column, OnDemand, Piece, Row, Table, muted, plain_columns
from vcdebug.views.cell_figures import job_figure

COLUMNS = (Column("job", name=True), *plain_columns("ready#", "wait#", "pend#", "phase", "queue", "prio#", "rel#"))


def jobs(recording: Recording, seq: Seq, current: str = "") -> Table:
    """Every job with its counts; those with which the cycle has something to do first."""
    rows = _rows(recording, recording.timeline.same_as(seq))
    return Table("Jobs", COLUMNS, rows, current=current, figures=partial(job_figure, COLUMNS))


@per_recording(most=KEPT_TABLES)
def _rows(recording: Recording, changed: Seq) -> OnDemand:
    """The jobs as an event left them: the same rows until something changes."""
    state = recording.timeline.state_at(changed)
    names, all_jobs = waiting_first(recording), recording.session.jobs
    return OnDemand(names, lambda i: _row(all_jobs[names[i]], state))


def _row(job: JobInfo, state: ClusterState) -> Row:
    counts = state.job(job.uid)
    enough = counts.ready + counts.best_effort_pending >= counts.min_available
    ready = Piece(f"{YES if enough else NO} {counts.ready}/{counts.min_available}", "good" if enough else "bad")
    releasing = counts.status.get(TaskStatus.RELEASING, 0)
    cells = (
        Piece(job.uid, "strong" if counts.pending else ""),
        ready,
        _number(counts.waiting, "warn"),
        _number(counts.pending, "strong"),
        Piece(state.phases[job.uid] or "–"),
        Piece(job.queue),
        Piece(str(job.priority)),
        _number(releasing, "warn"),
    )
    return Row(job.uid, cells, subject=("job", job.uid))


def _number(value: int, style: str) -> Piece:
    return Piece(str(value), style) if value else muted("0")  # type: ignore[arg-type]
