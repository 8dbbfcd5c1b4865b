"""The jobs as they stand at an event."""

from __future__ import annotations

from functools import partial

from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq
from vcdebug.model.task import TaskStatus
from vcdebug.recording.cluster_overview import jobs_pending_first
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.timeline import ClusterState
from vcdebug.views.cell_figures import job_figure
from vcdebug.views.table import (
    MAX_CACHED_TABLES,
    NO,
    YES,
    Column,
    Piece,
    Row,
    RowsOnDemand,
    Table,
    muted_piece,
    plain_columns,
)

JOB_COLUMNS = (Column("job", name=True), *plain_columns("ready#", "wait#", "pend#", "phase", "queue", "prio#", "rel#"))


def jobs_table(recording: Recording, seq: Seq, current: str = "") -> Table:
    """Every job with its counts; those with which the cycle has something to do first."""
    rows = _job_rows(recording, recording.timeline.earliest_same_seq(seq))
    return Table("Jobs", JOB_COLUMNS, rows, current=current, figures=partial(job_figure, JOB_COLUMNS))


@per_recording(most=MAX_CACHED_TABLES)
def _job_rows(recording: Recording, changed: Seq) -> RowsOnDemand:
    """The jobs as an event left them: the same rows until something changes."""
    state = recording.timeline.state_at(changed)
    names, all_jobs = jobs_pending_first(recording), recording.session.jobs
    return RowsOnDemand(names, lambda i: _job_row(all_jobs[names[i]], state))


def _job_row(job: JobInfo, state: ClusterState) -> Row:
    counts = state.job_counts(job.uid)
    enough = counts.ready_count + counts.best_effort_pending >= counts.min_available
    ready = Piece(f"{YES if enough else NO} {counts.ready_count}/{counts.min_available}", "good" if enough else "bad")
    releasing = counts.status.get(TaskStatus.RELEASING, 0)
    cells = (
        Piece(job.uid, "strong" if counts.pending_count else ""),
        ready,
        _number_piece(counts.waiting_count, "warn"),
        _number_piece(counts.pending_count, "strong"),
        Piece(state.phases[job.uid] or "–"),
        Piece(job.queue),
        Piece(str(job.priority)),
        _number_piece(releasing, "warn"),
    )
    return Row(job.uid, cells, subject=("job", job.uid))


def _number_piece(value: int, style: str) -> Piece:
    return Piece(str(value), style) if value else muted_piece("0")  # type: ignore[arg-type]
