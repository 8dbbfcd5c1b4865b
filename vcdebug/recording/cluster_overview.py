"""Jobs and pods that are not served after the cycle, and the dimensions and columns that a survey shows."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from vcdebug.framework.hooks import JOB_VALID
from vcdebug.framework.record import EVICT_OP, PIPELINE_OP, HookEvent, OpEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.pod import PodIdentity
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import TaskStatus
from vcdebug.recording.input_problems import noteworthy_nodes, overfull_dimensions
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.snapshot.manifest import key_of, namespace_in

SERVED_STATUSES: Final = (
    TaskStatus.RUNNING,
    TaskStatus.BOUND,
    TaskStatus.BINDING,
    TaskStatus.SUCCEEDED,
    TaskStatus.FAILED,
)
"""Statuses after the cycle of a pod that has its node or is finished."""


class WaitingSummary(Struct, frozen=True):
    """Jobs and pods that are or may be Pending, by name in the order of the manifests."""

    jobs: tuple[JobId, ...]
    """Jobs of PodGroups, and of pods that name a missing PodGroup."""
    pods_without_job: tuple[TaskKey, ...]
    """Pods of this scheduler without a node and without a job."""
    pods_without_node: Mapping[str, int]
    """Job, or pod without a job → how many of its pods had no node before the cycle."""
    incomplete_jobs: Mapping[JobId, None]
    """Jobs of the session with unserved pods after the cycle, or too few pods for their gang before it."""


@per_recording()
def waiting_summary(recording: Recording) -> WaitingSummary:
    """Summarizes all jobs, and all pods without a job."""
    jobs = dict.fromkeys(map(key_of, recording.snapshot.objects_of("PodGroup")))
    names = recording.snapshot.flags.scheduler_names
    lone: list[TaskKey] = []
    pods_without_node: dict[str, int] = {}
    for pod in map(PodIdentity.of_manifest, recording.snapshot.objects_of("Pod")):
        if pod.job:
            jobs[pod.job] = None
        elif not pod.node and pod.scheduler in names:
            lone.append(pod.key)
        if not pod.node:
            owner = pod.job or pod.key
            pods_without_node[owner] = pods_without_node.get(owner, 0) + 1
    unserved = (uid for uid, job in recording.session.jobs.items() if not _is_served(recording, job))
    broken = dict.fromkeys([*invalid_jobs(recording), *unserved])
    return WaitingSummary(tuple(jobs), tuple(lone), pods_without_node, broken)


@per_recording()
def invalid_jobs(recording: Recording) -> dict[JobId, None]:
    """Jobs whose first JobValid call of the cycle failed, such as gangs with too few pods."""
    first: dict[JobId, HookEvent] = {}
    for _, event in recording.hook_calls(JOB_VALID.upstream):
        first.setdefault(event.job, event)
    return dict.fromkeys(job for job, event in first.items() if event.result and not event.result["pass"])


def other_invalid_jobs(recording: Recording, job: JobId) -> list[JobId]:
    """The other invalid jobs of the job's namespace, which compete with it for its quotas."""
    namespace = namespace_in(job)
    return [one for one in invalid_jobs(recording) if one != job and one.startswith(f"{namespace}/")]


def _is_served(recording: Recording, job: JobInfo) -> bool:
    """Whether each pod of the job has a node or is finished; pods that were being deleted before do not count."""
    opening = recording.timeline.opening_tasks
    tasks = job.tasks.values()
    return bool(tasks) and all(
        task.status in SERVED_STATUSES or opening[task.key].status is TaskStatus.RELEASING for task in tasks
    )


# Dimensions that nodes have.


@per_recording()
def offered_dimensions(recording: Recording) -> tuple[str, ...]:
    """Dimensions of which some node has an amount above 0."""
    nodes = recording.session.nodes.values()
    return tuple(dict.fromkeys(name for node in nodes for name, value in node.allocatable.items() if value))


# Columns about nodes that are empty in many cycles.

RELEASING, PIPELINED, REMARKS = "releasing", "pipelined", "remarks"


@per_recording()
def optional_node_columns(recording: Recording) -> tuple[str, ...]:
    """The optional columns with a value for some node at some event."""
    opening = recording.timeline.opening_nodes.values()
    operations = {event.op: None for _, event in recording.events_of_type(OpEvent)}
    needed = {
        RELEASING: EVICT_OP in operations or any(_has_room_amount(node.releasing) for node in opening),
        PIPELINED: PIPELINE_OP in operations or any(_has_room_amount(node.pipelined) for node in opening),
        REMARKS: bool(noteworthy_nodes(recording)) or any(overfull_dimensions(node.idle) for node in opening),
    }
    return tuple(title for title, is_needed in needed.items() if is_needed)


def _has_room_amount(resource: Resource) -> bool:
    scalars = resource.scalars or {}
    return bool(resource.milli_cpu or resource.memory or any(scalars[name] for name in scalars if name != PODS))


@per_recording()
def jobs_pending_first(recording: Recording) -> Sequence[JobId]:
    """All jobs, first those with pending tasks in the opening state; the order is the same at every event."""
    counts = recording.timeline.opening_counts
    return tuple(sorted(recording.session.jobs, key=lambda job: TaskStatus.PENDING not in counts[job]))
