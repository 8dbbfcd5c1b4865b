"""Arithmetic that the quota plugins share: what a job holds and what it still reserves.

Upstream: plugins/util.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import NamedTuple

from vcdebug.model.job import JobInfo
from vcdebug.model.podgroup import INQUEUE, RUNNING
from vcdebug.model.resource import PODS, Resource, is_scalar_resource_name
from vcdebug.model.status import ALLOCATED_CLASS, TaskStatus
from vcdebug.releases.queues import INQUEUE_FULL_MINRESOURCES, INQUEUE_SCALAR_UNITS
from vcdebug.releases.release import Release

_REQUESTED = (*ALLOCATED_CLASS, TaskStatus.PENDING, TaskStatus.PIPELINED)


def get_allocated_resource(job: JobInfo) -> Resource:
    """Requests of the Allocated-class tasks, added by status, then UID. Upstream: plugins/util.GetAllocatedResource."""
    return add_allocated(Resource(), job)


def add_allocated(total: Resource, job: JobInfo) -> Resource:
    """Add the requests of the job's Allocated-class tasks to `total`, one by one."""
    return _add_tasks(total, job, ALLOCATED_CLASS, job.allocated)


def add_requested(total: Resource, job: JobInfo) -> Resource:
    """As add_allocated, with the tasks that wait: Pending, and pipelined by an earlier cycle."""
    others = [status for status in job.task_status_index if status not in _REQUESTED]
    return _add_tasks(total, job, _REQUESTED, None if others else job.total_request)


def _add_tasks(total: Resource, job: JobInfo, statuses: Container[TaskStatus], known: Resource | None) -> Resource:
    """By status, then UID; at once what the job has added up as its tasks came, where that is the same."""
    if known is not None and adds_at_once(total, job, known):
        return total.add(known)
    for status in sorted(job.task_status_index):
        if status in statuses:
            for task in job.with_status(status):
                total.add(task.resreq)
    return total


def adds_at_once(total: Resource, job: JobInfo, known: Resource) -> bool:
    """Whether adding the job's own sum is adding task by task: none has changed since, and nothing is rounded."""
    return job.changes == len(job.tasks) and known.sums_exactly() and total.sums_exactly()


class Reserving(NamedTuple):
    """How a job's minimum is reserved."""

    whole_minimum: bool = False
    """An Inqueue job reserves also what its tasks hold already."""
    whole_units: bool = False
    """Accelerators are counted in units, and compared with thousandths."""

    @classmethod
    def of(cls, release: Release) -> Reserving:
        """As the release does it."""
        return cls(release.has(INQUEUE_FULL_MINRESOURCES), release.has(INQUEUE_SCALAR_UNITS))


NEWEST_FORM = Reserving()


def get_inqueue_resource(job: JobInfo, allocated: Resource, form: Reserving = NEWEST_FORM) -> Resource:
    """What of minResources is not yet allocated.

    `ephemeral-storage` is never reserved, and a scalar of which nothing is allocated is kept even at 0.
    Upstream: plugins/util.GetInqueueResource.
    """
    inqueue = Resource()
    minimum = job.get_min_resources()
    inqueue.milli_cpu = max(minimum.milli_cpu - allocated.milli_cpu, 0.0)
    inqueue.memory = max(minimum.memory - allocated.memory, 0.0)
    for name, amount in (minimum.scalars or {}).items():
        if form.whole_units:
            amount = float(math.ceil(amount / 1000.0))
        if name == PODS and not form.whole_units:
            _reserve(inqueue, name, amount - allocated.get(name))
        elif not is_scalar_resource_name(name):
            continue
        elif not allocated.has(name):
            inqueue.set_scalar(name, amount)
        else:
            _reserve(inqueue, name, amount - allocated.get(name))
    return inqueue


def _reserve(inqueue: Resource, name: str, missing: float) -> None:
    if missing > 0:
        inqueue.set_scalar(name, missing)


def is_running_gang(job: JobInfo) -> bool:
    """A Running PodGroup with minResources of which at least minMember tasks are allocated."""
    group = job.pod_group
    return group.phase == RUNNING and group.min_resources is not None and job.allocated_task_num() >= group.min_member


def is_inqueue(job: JobInfo) -> bool:
    """An Inqueue PodGroup with minResources."""
    return job.pod_group.phase == INQUEUE and job.pod_group.min_resources is not None


def whole_minimum(job: JobInfo) -> Resource:
    """What an admitted job reserves: its minimum, scheduling-gated tasks deducted."""
    return job.deduct_sch_gated_resources(job.get_min_resources())


def reserved_resource(job: JobInfo, form: Reserving = NEWEST_FORM) -> Resource | None:
    """What an Inqueue or Running job still reserves of its minimum, scheduling-gated tasks deducted."""
    if not (is_inqueue(job) or is_running_gang(job)):
        return None
    if form.whole_minimum and is_inqueue(job):
        return whole_minimum(job)
    return job.deduct_sch_gated_resources(get_inqueue_resource(job, job.allocated, form))


def format_resource_names(prefix: str, verb: str, names: Sequence[str]) -> str:
    """`prefix: verb cpu, verb memory`. Upstream: plugins/util.FormatResourceNames."""
    if not names:
        return prefix
    return f"{prefix}: {', '.join(f'{verb} {name}' for name in names)}"
