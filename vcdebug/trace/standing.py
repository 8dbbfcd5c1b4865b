"""Who is there and who is not served when the cycle is over: what every survey asks first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from vcdebug.framework.hooks import JOB_VALID
from vcdebug.framework.record import HookEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.pod import PodIdentity
from vcdebug.model.status import TaskStatus
from vcdebug.snapshot.manifest import key_of
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

SERVED_STATUSES: Final = (
    TaskStatus.RUNNING,
    TaskStatus.BOUND,
    TaskStatus.BINDING,
    TaskStatus.SUCCEEDED,
    TaskStatus.FAILED,
)
"""What a pod that has its node, or is done, ends the cycle as."""


class WaitingSummary(NamedTuple):
    """By name, in the order of the manifests."""

    jobs: tuple[JobId, ...]
    """Those of PodGroups, and of pods that name a missing PodGroup."""
    lone: tuple[TaskKey, ...]
    """Waiting pods of this scheduler without any job."""
    homeless: Mapping[str, int]
    """How many pods of a job, or pods that belong to none, have no node before the cycle."""
    broken: Mapping[JobId, None]
    """Jobs of the session that are not whole after the cycle, or lacked pods of their gang before it."""


@per_recording()
def waiting_summary(recording: Recording) -> WaitingSummary:
    """Of all jobs and lone pods."""
    jobs = dict.fromkeys(map(key_of, recording.snapshot.objects_of("PodGroup")))
    names = recording.snapshot.flags.scheduler_names
    lone: list[TaskKey] = []
    homeless: dict[str, int] = {}
    for pod in map(PodIdentity.of_manifest, recording.snapshot.objects_of("Pod")):
        if pod.job:
            jobs[pod.job] = None
        elif not pod.node and pod.scheduler in names:
            lone.append(pod.key)
        if not pod.node:
            who = pod.job or pod.key
            homeless[who] = homeless.get(who, 0) + 1
    return WaitingSummary(tuple(jobs), tuple(lone), homeless, _unserved_jobs(recording))


def _unserved_jobs(recording: Recording) -> dict[JobId, None]:
    invalid = _invalid_jobs(recording)
    session = recording.session.jobs
    return dict.fromkeys([*invalid, *(uid for uid, job in session.items() if not _is_served(recording, job))])


def _invalid_jobs(recording: Recording) -> dict[JobId, None]:
    """Jobs that lacked pods of their gang before anything happened in this cycle."""
    first: dict[JobId, HookEvent] = {}
    for seq in recording.index.seqs_at_point(JOB_VALID.upstream):
        event = recording.event_at(seq)
        if isinstance(event, HookEvent):
            first.setdefault(event.job, event)
    return dict.fromkeys(job for job, event in first.items() if event.result and not event.result["pass"])


def _is_served(recording: Recording, job: JobInfo) -> bool:
    """Whether each pod of a job has its node, or is done; one that was being deleted before is nobody's matter."""
    opening = recording.timeline.opening_tasks
    tasks = job.tasks.values()
    return bool(tasks) and all(
        task.status in SERVED_STATUSES or opening[task.key].status is TaskStatus.RELEASING for task in tasks
    )
