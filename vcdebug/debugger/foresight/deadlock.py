"""Deadlocks: jobs that are not whole, hold what another one needs, and so never end."""

from __future__ import annotations

from typing import Final, NamedTuple

from vcdebug import amount_text
from vcdebug.causes.pending import explain_subject
from vcdebug.causes.subject import Subject
from vcdebug.debugger.foresight.course import HAS_NODE
from vcdebug.debugger.what_if import edited
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.edit import parse_edit
from vcdebug.trace.cut import whole
from vcdebug.trace.passing import passing
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay

_MOST: Final = 6
"""Holders that are tried one by one."""


class Deadlock(NamedTuple):
    """Who holds the job up by waiting itself."""

    holders: tuple[JobId, ...]
    """With these gone the job is placed: one where one is enough."""
    mutual: bool
    """Whether the job itself holds something, as they do."""
    edits: tuple[str, ...]
    """What ends them."""


def deadlock(recording: Recording, subject: Subject) -> Deadlock | None:
    """None unless the job would be placed if others that wait for the rest of their gang let go of what they hold."""
    jobs = recording.session.jobs
    holders = [job for job in jobs.values() if job.uid != subject.job and waits_and_holds(job)]
    if not holders:
        return None
    groups = [*([job] for job in holders[:_MOST]), *([holders] if len(holders) > 1 else [])]
    for group in groups:
        edits = tuple(f"Pod/{task.key}:-" for job in group for task in _held(job))
        changed = edited(recording.snapshot, [parse_edit(edit) for edit in edits])
        with passing(replay(changed, beside=recording)) as run:
            placed = explain_subject(whole(run), subject).scheduled
        if placed:
            own = jobs.get(subject.job)
            return Deadlock(tuple(job.uid for job in group), own is not None and waits_and_holds(own), edits)
    return None


def waits_and_holds(job: JobInfo) -> bool:
    """Whether some of its gang run and others find no place."""
    return 0 < len(_held(job)) < job.min_available and job.count(TaskStatus.PENDING, TaskStatus.PIPELINED) > 0


def holding(job: JobInfo) -> str:
    """`1 of the 2 pods of its gang, 4 cpu`."""
    return f"{len(_held(job))} of the {job.min_available} pods of its gang ({amount_text.resource(job.allocated)})"


def _held(job: JobInfo) -> list[TaskInfo]:
    return [task for task in job.tasks.values() if task.status in HAS_NODE and task.status is not TaskStatus.SUCCEEDED]
