"""Deadlocks: jobs that are not whole, hold what another one needs, and so never end."""

from __future__ import annotations

from typing import Final, NamedTuple

from vcdebug import amount_text
from vcdebug.causes.pending import explain_subject
from vcdebug.causes.subject import ExplainSubject
from vcdebug.debugger.foresight.course import STATUSES_WITH_NODE
from vcdebug.debugger.what_if import edited_snapshot
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.edit import parse_edit
from vcdebug.trace.cut import require_whole
from vcdebug.trace.passing import disposing
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay_cycle

_MAX_HOLDERS: Final = 6
"""Holders that are tried one by one."""


class Deadlock(NamedTuple):
    """Who holds the job up by waiting itself."""

    holders: tuple[JobId, ...]
    """With these gone the job is placed: one where one is enough."""
    mutual: bool
    """Whether the job itself holds something, as they do."""
    edits: tuple[str, ...]
    """What ends them."""


def find_deadlock(recording: Recording, subject: ExplainSubject) -> Deadlock | None:
    """None unless the job would be placed if others that wait for the rest of their gang let go of what they hold."""
    jobs = recording.session.jobs
    holders = [job for job in jobs.values() if job.uid != subject.job and holds_while_pending(job)]
    if not holders:
        return None
    groups = [*([job] for job in holders[:_MAX_HOLDERS]), *([holders] if len(holders) > 1 else [])]
    for group in groups:
        edits = tuple(f"Pod/{task.key}:-" for job in group for task in _held_tasks(job))
        changed = edited_snapshot(recording.snapshot, [parse_edit(edit) for edit in edits])
        with disposing(replay_cycle(changed, beside=recording)) as run:
            placed = explain_subject(require_whole(run), subject).scheduled
        if placed:
            own = jobs.get(subject.job)
            return Deadlock(tuple(job.uid for job in group), own is not None and holds_while_pending(own), edits)
    return None


def holds_while_pending(job: JobInfo) -> bool:
    """Whether some of its gang run and others find no place."""
    return (
        0 < len(_held_tasks(job)) < job.min_available and job.count_tasks(TaskStatus.PENDING, TaskStatus.PIPELINED) > 0
    )


def describe_holding(job: JobInfo) -> str:
    """`1 of the 2 pods of its gang, 4 cpu`."""
    return f"{len(_held_tasks(job))} of the {job.min_available} pods of its gang ({amount_text.format_resource(job.allocated)})"


def _held_tasks(job: JobInfo) -> list[TaskInfo]:
    return [
        task
        for task in job.tasks.values()
        if task.status in STATUSES_WITH_NODE and task.status is not TaskStatus.SUCCEEDED
    ]
