"""What a cycle would write to the API server, in the order of the events that cause it.

Upstream: cache (AddBindTask, Evict, UpdateJobStatus), framework/session (closeSession).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from vcdebug.framework.persistence import annotation_patches
from vcdebug.framework.record import CloseEvent
from vcdebug.model.fit_errors import ALL_NODES_UNAVAILABLE
from vcdebug.model.job import JobInfo
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.model.pod_group import Condition, GroupStatus, PodGroup
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.recording.effects import committed_evictions, cycle_effects
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import task_of
from vcdebug.snapshot.manifest import JsonObject, find_condition, status_of

WAITING_STATUSES = (TaskStatus.ALLOCATED, TaskStatus.PENDING, TaskStatus.PIPELINED)
POD_SCHEDULED = "PodScheduled"
UNSCHEDULABLE_PHASES = ("Unknown", "Pending", "Inqueue")


class ClusterWrite(NamedTuple):
    """One write to the API server, and the event that causes it."""

    seq: Seq
    kind: str
    object: str
    verb: str
    """bind, evict, status, condition, annotations or event."""
    text: str


class PodStatusWrite(Struct, frozen=True):
    """The condition PodScheduled=False of a pod, and its nominated node where that is new."""

    pod: TaskKey
    reason: str
    message: str
    nominated: NodeName


@per_recording()
def api_writes(recording: Recording) -> Sequence[ClusterWrite]:
    """All writes of the cycle; the writes of the close belong to the last event, even if that is a panic."""
    writes = [*_bind_writes(recording), *_eviction_writes(recording), *_admission_event_writes(recording)]
    close = recording.session.close
    if close is not None:
        writes.extend(_closing_writes(recording, close, len(recording)))
    writes.extend(_annotation_writes(recording))
    return tuple(sorted(writes, key=lambda write: write.seq))


def _bind_writes(recording: Recording) -> Iterator[ClusterWrite]:
    devices = devices_of_pods(recording)
    for effect in cycle_effects(recording).bound:
        text = ", ".join((f"to {effect.node}", *devices.get((effect.task, effect.node), ())))
        yield ClusterWrite(effect.seq, "Pod", effect.task, "bind", text)


@per_recording()
def devices_of_pods(recording: Recording) -> Mapping[tuple[TaskKey, NodeName], Sequence[str]]:
    """(pod, its node) → the cards that it holds, as its annotations name them, and the CPUs that numa-aware assigns."""
    session = recording.session
    cpus = {(reserved.pod, reserved.node): [f"CPUs {reserved.cpus}"] for reserved in session.process.reserved_cpus}
    found: dict[tuple[TaskKey, NodeName], list[str]] = {}
    bound = {
        (effect.task, effect.node): task_of(recording, effect.task).pod for effect in cycle_effects(recording).bound
    }
    tasks = [task for job in session.jobs.values() for task in job.tasks.values()]
    held = {(task.key, task.node_name): task.pod for task in tasks if task.node_name}
    for (task, host), pod in (held | bound).items():
        node = session.nodes.get(host)
        ledgers = [] if node is None else [each for each in node.devices.values() if each.has_device_request(pod)]
        annotations = [f"{key}={text}" for each in ledgers for key, text in each.bind_annotations(pod).items()]
        if devices := [*annotations, *cpus.get((task, host), ())]:
            found[task, host] = devices
    return found


def _eviction_writes(recording: Recording) -> Iterator[ClusterWrite]:
    for effect, reason in committed_evictions(recording):
        text = f"deleted, because of {reason}; DisruptionTarget, Ready=False"
        yield ClusterWrite(effect.seq, "Pod", effect.task, "evict", text)


def _admission_event_writes(recording: Recording) -> Iterator[ClusterWrite]:
    for event in recording.record.pod_group_events:
        yield ClusterWrite(event.seq, "PodGroup", event.job, "event", f"{event.type} {event.reason}: {event.message}")


def _closing_writes(recording: Recording, close: CloseEvent, seq: Seq) -> Iterator[ClusterWrite]:
    for uid, job in recording.session.jobs.items():
        changes = pod_group_changes(job)
        if changes:
            yield ClusterWrite(seq, "PodGroup", uid, "status", "; ".join(changes))
        if job.pod_group.phase in UNSCHEDULABLE_PHASES:
            pending = job.count_tasks(TaskStatus.PENDING)
            text = f"Warning Unschedulable: {pending}/{len(job.tasks)} tasks in gang unschedulable: {job.fit_error()}"
            yield ClusterWrite(seq, "PodGroup", job.uid, "event", text)
        elif changes:
            yield ClusterWrite(seq, "PodGroup", job.uid, "event", "Normal Scheduled: pod group is ready")
        yield from _pod_conditions(job, seq)
    yield from _queue_statuses(recording, close.queues, seq)


def pod_group_changes(job: JobInfo) -> tuple[str, ...]:
    """The job updater's changes to the job's PodGroup, in words; empty where it writes nothing."""
    return tuple(_status_changes(GroupStatus.from_manifest(job.pod_group.manifest), job.pod_group))


def _status_changes(before: GroupStatus, after: PodGroup) -> Iterator[str]:
    """The changes of phase, counts and conditions."""
    if before.phase != after.phase:
        yield f"phase {before.phase or 'none'} → {after.phase}"
    for field in ("running", "succeeded", "failed"):
        old, new = getattr(before, field), getattr(after, field)
        if old != new:
            yield f"{field} {old} → {new}"
    for index, condition in enumerate(after.conditions):
        # By position, as upstream does: a condition that moved is written again.
        old_condition = before.conditions[index] if index < len(before.conditions) else None
        if old_condition is None or _without_transition(old_condition) != _without_transition(condition):
            text = f": {condition.message}" if condition.message else ""
            yield f"condition {condition.type} {condition.reason}{text}"


def _without_transition(condition: Condition) -> Condition:
    return condition._replace(transition_id="")


def pod_status_writes(job: JobInfo) -> Iterator[PodStatusWrite]:
    """The statuses that the job updater writes to pending pods."""
    waiting = (job.task_status_index.get(status, {}) for status in WAITING_STATUSES)
    job_message = ""
    for uid in sorted(uid for tasks in waiting for uid, task in tasks.items() if not task.sch_gated):
        task = job.tasks[uid]
        reason, message, nominated = job.task_scheduling_reason(uid)
        if not message:
            # Computed once for all pods: the job's message reads all of its tasks.
            job_message = job_message or job.fit_error() or ALL_NODES_UNAVAILABLE
            message = job_message
        renominated = bool(nominated) and nominated != str(task.pod.status.get("nominatedNodeName") or "")
        if renominated or not _has_condition(task, reason, message):
            yield PodStatusWrite(task.key, reason, message, nominated if renominated else "")


def _pod_conditions(job: JobInfo, seq: Seq) -> Iterator[ClusterWrite]:
    for status in pod_status_writes(job):
        extra = f"; nominatedNodeName {status.nominated}" if status.nominated else ""
        text = f"{POD_SCHEDULED}=False {status.reason}: {status.message}{extra}"
        yield ClusterWrite(seq, "Pod", status.pod, "condition", text)


def _has_condition(task: TaskInfo, reason: str, message: str) -> bool:
    stated = find_condition(task.pod.status, POD_SCHEDULED)
    return (stated.get("status"), stated.get("reason") or "", stated.get("message") or "") == ("False", reason, message)


def _annotation_writes(recording: Recording) -> Iterator[ClusterWrite]:
    """Annotations with the task state that the next cycle restores; none without persistence."""
    for patch in annotation_patches(recording.session):
        assignments = [f"{name}={text}" for name, text in patch.set.items()]
        removed = [f"without {name}" for name in patch.remove]
        yield ClusterWrite(len(recording), "Pod", patch.pod, "annotations", ", ".join(assignments + removed))


def _queue_statuses(recording: Recording, queues: Mapping[str, Mapping[str, str]], seq: Seq) -> Iterator[ClusterWrite]:
    for name, allocated in queues.items():
        manifest = recording.session.queues[name].manifest
        before = status_of(manifest).get("allocated") or {}
        is_same = before.keys() == allocated.keys() and Resource.from_list(before).equal(Resource.from_list(allocated))
        if not before or not is_same:
            text = ", ".join(f"{dimension} {amount}" for dimension, amount in allocated.items())
            yield ClusterWrite(seq, "Queue", name, "status", f"allocated: {text}")


def iter_unscheduled_messages(pod: JsonObject) -> Iterator[tuple[str, str]]:
    """Reason and message of PodScheduled=False."""
    for condition in status_of(pod).get("conditions") or ():
        if condition.get("type") == POD_SCHEDULED and condition.get("status") == "False":
            yield str(condition.get("reason") or ""), str(condition.get("message") or "")
