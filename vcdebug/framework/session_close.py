"""Closing a session: plugins' close functions, PodGroup phases, queue statuses, and the process state.

Upstream: framework/session (closeSession, openSession: uuid), framework/job_updater, cache (updateJobInfo).
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from vcdebug.errors import NIL_POINTER_TEXT, PANICS, SchedulerPanic, blame_objects
from vcdebug.framework.record import CloseEvent, JobClose, TaskClose, fast_tuple
from vcdebug.framework.session import Session
from vcdebug.kube.listers import read_device_demand
from vcdebug.model import pod_claims
from vcdebug.model.job import JobInfo
from vcdebug.model.job_amounts import add_jobs
from vcdebug.model.names import NodeName, QueueName
from vcdebug.model.pod_group import COMPLETED, INQUEUE, PENDING, RUNNING, UNKNOWN
from vcdebug.model.queue import ROOT_QUEUE
from vcdebug.model.resource import MEMORY, PODS, Resource
from vcdebug.model.task import ALLOCATED_CLASS, ALLOCATED_MASK, TaskInfo, TaskStatus
from vcdebug.releases.devices import VGPU_SCALARS_IGNORED
from vcdebug.releases.queues import DRA_QUOTA
from vcdebug.releases.release import Release
from vcdebug.releases.scheduling import (
    FAILED_UNCOUNTED,
    PODGROUP_PHASE_RELEASING,
    PODGROUP_RUNNING_AT_ALLOCATION,
    QUEUE_STATUS_OWN,
    QUEUE_STATUS_RUNNING,
)
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.manifest import key_of
from vcdebug.snapshot.quantity import binary_text, decimal_text, milli_text, text_like

UNSCHEDULABLE_CONDITION = "Unschedulable"
_EXPLAINED_STATUSES = (TaskStatus.PENDING, TaskStatus.PIPELINED)
"""Task statuses for which each task has its own scheduling reason."""


def close_session(ssn: Session) -> None:
    """Run the plugins' close functions and the job updater, then record the close event.
    Upstream: framework.CloseSession, framework/session.closeSession.
    """
    ssn.close = _run_close(ssn)
    ssn.record.append(ssn.close)


def close_after_panic(ssn: Session) -> None:
    """Close after a panic, unrecorded: upstream defers it, and its writes persist. Upstream: scheduler.runOnce."""
    with ssn.record.silence_recording(), suppress(*PANICS):
        ssn.close = _run_close(ssn)


def _run_close(ssn: Session) -> CloseEvent:
    # Upstream iterates over a map of plugins; recordings use ascending order of its keys.
    for name in sorted(ssn.plugins):
        ssn.plugins[name].on_session_close(ssn)
    for job in ssn.jobs.values():
        _update_phase(ssn, job)
    closes: dict[tuple[TaskStatus, NodeName], TaskClose] = {}
    jobs = {uid: _job_close(job, closes) for uid, job in ssn.jobs.items()}
    # Kept before the queue statuses, which may panic after the job statuses have been written.
    ssn.close = CloseEvent(jobs, {}, ssn.node_table.node_amounts())
    return ssn.close._replace(queues=queue_statuses(ssn))


def _update_phase(ssn: Session, job: JobInfo) -> None:
    """Upstream: framework/session.jobStatus."""
    group = job.pod_group
    running, succeeded, failed = job.count_each(TaskStatus.RUNNING, TaskStatus.SUCCEEDED, TaskStatus.FAILED)
    unschedulable = any(
        c.type == UNSCHEDULABLE_CONDITION and c.status == "True" for c in group.conditions if c.transition_id == ssn.uid
    )
    finished = succeeded if ssn.release.has_older_form(FAILED_UNCOUNTED) else succeeded + failed
    phase = _get_pod_group_phase(ssn, job, running_unschedulable=running > 0 and unschedulable, finished=finished)
    if phase != group.phase:
        ssn.set_phase(job, phase)
    group.running, group.succeeded, group.failed = running, succeeded, failed


def _get_pod_group_phase(ssn: Session, job: JobInfo, *, running_unschedulable: bool, finished: int) -> str:
    """Upstream: framework/session.getPodGroupPhase."""
    if running_unschedulable:
        return UNKNOWN
    scheduled = counted_for_phase(job, ssn.release)
    if scheduled >= job.pod_group.min_member:
        return COMPLETED if scheduled == finished else RUNNING
    return INQUEUE if job.pod_group.phase == INQUEUE else PENDING


def counted_for_phase(job: JobInfo, release: Release) -> int:
    """The number of tasks that is compared with minMember when the session closes."""
    if release.has_older_form(PODGROUP_RUNNING_AT_ALLOCATION):
        count = job.count_tasks(*ALLOCATED_CLASS, TaskStatus.SUCCEEDED)
        count += 0 if release.has_older_form(FAILED_UNCOUNTED) else job.count_tasks(TaskStatus.FAILED)
    else:
        count = job.scheduled_task_num()
    return count if release.has_older_form(PODGROUP_PHASE_RELEASING) else count + job.releasing_scheduled_task_num()


def _job_close(job: JobInfo, closes: dict[tuple[TaskStatus, NodeName], TaskClose]) -> JobClose:
    """`closes` caches the equal closes of tasks of one status and node. Upstream: framework/job_updater.updateJob."""
    tasks: dict[str, TaskClose] = {}
    for uid in sorted(job.tasks):
        task = job.tasks[uid]
        place = (task.status, task.node_name)
        close = closes.get(place)
        if close is None:
            if task.status in _EXPLAINED_STATUSES:
                close = fast_tuple(TaskClose, (*place, *job.task_scheduling_reason(uid)))
            else:
                close = closes[place] = fast_tuple(TaskClose, (*place, None, None, None))
        tasks[task.key] = close
    group = job.pod_group
    fields = (group.phase, tuple(group.conditions), job.fit_error(), job.job_fit_errors, tasks)
    return fast_tuple(JobClose, fields)


def queue_statuses(ssn: Session) -> dict[str, dict[str, str]]:
    """The new status.allocated of each queue; tasks also count for the queue's ancestors below `root`.
    Upstream: framework/session.updateQueueStatus.
    """
    devices = not ssn.release.has_older_form(VGPU_SCALARS_IGNORED) and any(node.devices for node in ssn.nodes.values())
    charged: dict[QueueName, list[JobInfo]] = {name: [] for name in ssn.queues}
    only_running = ssn.release.has_older_form(QUEUE_STATUS_RUNNING)
    statuses = (TaskStatus.RUNNING,) if only_running else ALLOCATED_CLASS
    charging_jobs = [job for job in ssn.jobs.values() if job.count_tasks(*statuses)]
    ancestors = {name: _queue_ancestors(ssn, name) for name in dict.fromkeys(job.queue for job in charging_jobs)}
    for job in charging_jobs:
        for name in (job.queue, *ancestors[job.queue]):
            charged[name].append(job)

    def list_requests(job: JobInfo) -> list[Resource]:
        tasks = [job.tasks[uid] for uid in sorted(job.tasks) if job.tasks[uid].status in statuses]
        return [_charged_request(ssn, task) if devices else task.resreq for task in tasks]

    def known_allocated(job: JobInfo) -> Resource | None:
        return None if devices or only_running else job.allocated

    claimed = _claimed_devices(ssn, charged)
    return {
        name: quantity_texts(add_jobs(Resource(), jobs, known_allocated, list_requests)) | claimed.get(name, {})
        for name, jobs in charged.items()
    }


def _claimed_devices(ssn: Session, charged: Mapping[QueueName, list[JobInfo]]) -> dict[QueueName, dict[str, str]]:
    """The devices of resource claims that the queues' tasks hold, by queue; each claim counts once per queue.
    Upstream: framework/session_dra_queue_status (addTaskDRAAllocatedByQueue, mergeDRAAllocatedIntoResourceList).
    """
    claim_manifests = ssn.snapshot.objects_of("ResourceClaim")
    if not claim_manifests or ssn.release.has_older_form(DRA_QUOTA):
        return {}
    claims = pod_claims.DeviceClaims({key_of(manifest): manifest for manifest in claim_manifests}, ssn.snapshot.flags)
    volume_claims = {key_of(manifest): manifest for manifest in ssn.snapshot.objects_of("PersistentVolumeClaim")}
    result: dict[QueueName, dict[str, str]] = {}
    for name, jobs in charged.items():
        by_claim: dict[pod_claims.ClaimKey, pod_claims.DeviceDemand] = {}
        for task in (job.tasks[uid] for job in jobs for uid in sorted(job.tasks)):
            if task.status & ALLOCATED_MASK and task.pod.spec.get("resourceClaims"):
                demand = read_device_demand(task.pod, claims, volume_claims)
                by_claim |= demand.by_claim if demand is not None else {}
        total: pod_claims.DeviceDemand = {}
        for claim_demand in by_claim.values():
            pod_claims.merge_task_dra(total, claim_demand)
        result[name] = _device_texts(total)
    return result


def _device_texts(total: pod_claims.DeviceDemand) -> dict[str, str]:
    """Counts and capacities above 0, by their names in queue resource lists."""
    texts: dict[str, str] = {}
    for name, amount in total.items():
        if amount.count > 0:
            texts[f"{pod_claims.CLASS_COUNT_PREFIX}{name}"] = decimal_text(amount.count)
        for dimension, nano in amount.capacity.items():
            if nano:
                text = text_like(nano, amount.first_texts[dimension])
                texts[f"{dimension}{pod_claims.CLASS_CAPACITY_SEPARATOR}{name}"] = text
    return dict(sorted(texts.items()))


def _charged_request(ssn: Session, task: TaskInfo) -> Resource:
    """The task's request; for shared devices, the amounts that it holds replace the requested ones."""
    node = ssn.nodes.get(task.node_name)
    if node is None or not node.devices:
        return task.resreq
    request = task.resreq.clone()
    for ledger in node.devices.values():
        if ledger.has_device_request(task.pod):
            for name, amount in ledger.queue_amounts(task.pod).items():
                request.set_scalar(name, amount)
    return request


def _queue_ancestors(ssn: Session, queue: str) -> list[str]:
    """The queue's ancestors up to `root`, none without a root. A job directly in `root` counts twice there, as in
    upstream, and a parent that does not exist panics.
    """
    if ROOT_QUEUE not in ssn.queues or ssn.release.has_older_form(QUEUE_STATUS_OWN):
        return []
    result = [ssn.queues[queue].parent or ROOT_QUEUE]
    while result[-1] != ROOT_QUEUE and len(result) <= len(ssn.queues):
        if result[-1] not in ssn.queues:
            fix = f"create queue {result[-1]}, or name another spec.parent in the queue that has it as its parent"
            raise blame_objects(SchedulerPanic(NIL_POINTER_TEXT), (("Queue", queue), ("Queue", result[-1])), fix)
        result.append(ssn.queues[result[-1]].parent or ROOT_QUEUE)
    return result


def quantity_texts(resource: Resource) -> dict[str, str]:
    """The amounts as Kubernetes quantities: memory in binary units, others as whole or milli numbers."""
    texts = {MEMORY: binary_text, PODS: decimal_text}
    # int() truncates, as Go's conversion to int64 does.
    return {name: texts.get(name, milli_text)(int(amount)) for name, amount in resource.items()}


# The scheduler process: plugins replace their parts of `ssn.process`; hypernodes and session count are set here.

OWN_ENTRY: Final = ""
"""The key of the job's own hypernode; those of sub jobs are stored under their ids."""


def process_after(ssn: Session) -> SchedulerProcess:
    """The state of the scheduler process after the session has closed."""
    process = ssn.process
    return replace(
        process,
        started=None if process.assumed else process.started or ssn.snapshot.now,
        sessions=process.sessions + 1,
        hyper_nodes=_hyper_nodes(ssn),
    )


def _hyper_nodes(ssn: Session) -> Mapping[str, Mapping[str, str]]:
    """The cache's hypernodes by job after the session; entries of dirty jobs and their sub jobs are replaced."""
    by_job = {job: dict(names) for job, names in ssn.process.hyper_nodes.items()}
    for uid in ssn.dirty_jobs:
        job = ssn.jobs[uid]
        names = {OWN_ENTRY: job.allocated_hyper_node}
        names |= {sub_job: job.sub_jobs[sub_job].allocated_hyper_node for sub_job in sorted(job.sub_jobs)}
        by_job[uid] = {name: hyper_node for name, hyper_node in {**by_job.get(uid, {}), **names}.items() if hyper_node}
    return {uid: by_job[uid] for uid in sorted(by_job) if by_job[uid]}


def restore_hyper_nodes(job: JobInfo, process: SchedulerProcess) -> None:
    """At session open, set the job's hypernodes to those kept in the scheduler process."""
    names = process.hyper_nodes.get(job.uid)
    if not names:
        return
    job.allocated_hyper_node = names.get(OWN_ENTRY, "")
    for uid, sub_job in job.sub_jobs.items():
        sub_job.allocated_hyper_node = names.get(uid, "")
