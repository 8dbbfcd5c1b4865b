"""The jobs as they stand at an event."""

from __future__ import annotations

from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq
from vcdebug.model.status import TaskStatus
from vcdebug.trace.recording import Recording
from vcdebug.trace.timeline import ClusterState
from vcdebug.views.base import NO, YES, Column, Piece, Row, Table, muted

COLUMNS = (
    Column("job", flexible=True),
    Column("ready", right=True),
    Column("wait", right=True),
    Column("pend", right=True),
    Column("phase"),
    Column("queue"),
    Column("prio", right=True),
    Column("rel", right=True),
)


def jobs(recording: Recording, seq: Seq, current: str = "") -> Table:
    """Every job with its counts; those with something pending first."""
    state = recording.timeline.state_at(seq)
    rows = [_row(job, state) for job in recording.session.jobs.values()]
    rows.sort(key=lambda row: row.cells[3].text == "0")
    return Table("Jobs", COLUMNS, rows, current=current)


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
