"""Arithmetic of the quota plugins: what a job holds, and what it still reserves. Upstream: plugins/util."""

import math
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass

from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.names import QueueName
from vcdebug.model.pod_group import INQUEUE, RUNNING
from vcdebug.model.queue import exceeded_part
from vcdebug.model.resource import CPU, MEMORY, PODS, Resource, at_most, is_scalar_resource_name
from vcdebug.model.task import ALLOCATED_CLASS, TaskStatus
from vcdebug.releases.queues import ELASTIC_IN_EVERY_DIMENSION, INQUEUE_FULL_MINRESOURCES, INQUEUE_SCALAR_UNITS
from vcdebug.releases.release import ReleaseRules, rule_of

_REQUESTED_STATUSES = frozenset((*ALLOCATED_CLASS, TaskStatus.PENDING, TaskStatus.PIPELINED))


def get_allocated_resource(job: JobInfo) -> Resource:
    """Requests of the Allocated-class tasks, added by status, then UID. Upstream: plugins/util.GetAllocatedResource."""
    # The job's own sum was made in another order, which gives the same number only where no addition rounds.
    if job.changes == len(job.tasks) and job.allocated.sums_exactly():
        return job.allocated.clone()
    return Resource().add_all(_requests_by_status(job, ALLOCATED_CLASS))


def add_allocated(total: Resource, jobs: Collection[JobInfo]) -> Resource:
    """Add the requests of the jobs' Allocated-class tasks to `total`, one by one."""
    return add_jobs(total, jobs, lambda job: job.allocated, lambda job: _requests_by_status(job, ALLOCATED_CLASS))


def add_requested(total: Resource, jobs: Collection[JobInfo]) -> Resource:
    """Same as add_allocated, but Pending tasks and those pipelined by an earlier cycle count too."""
    return add_jobs(total, jobs, _all_requested, lambda job: _requests_by_status(job, _REQUESTED_STATUSES))


def _all_requested(job: JobInfo) -> Resource | None:
    return job.total_request if job.task_status_index.keys() <= _REQUESTED_STATUSES else None


def _requests_by_status(job: JobInfo, statuses: Container[TaskStatus]) -> list[Resource]:
    """Requests of the tasks with these statuses, by status, then UID."""
    index = job.task_status_index
    return [task.resreq for status in sorted(index) if status in statuses for task in job.tasks_with_status(status)]


def add_jobs(
    total: Resource,
    jobs: Collection[JobInfo],
    cached_sum: Callable[[JobInfo], Resource | None],
    requests: Callable[[JobInfo], list[Resource]],
) -> Resource:
    """Add the requests of every job's tasks to `total` and return it.

    `cached_sum` gives a job's own sum, which is used while its tasks are unchanged; `requests` gives them singly.
    """
    # Sums of sums equal upstream's one-by-one addition only while no number is rounded: checked on the result.
    parts: list[Resource] = []
    for job in jobs:
        job_sum = cached_sum(job) if job.changes == len(job.tasks) else None
        parts += requests(job) if job_sum is None else (job_sum,)
    summed = total.clone().add_all(parts)
    if not summed.sums_exactly():
        return total.add_all(request for job in jobs for request in requests(job))
    total.milli_cpu, total.memory, total.scalars = summed.milli_cpu, summed.memory, summed.scalars
    return total


@dataclass(frozen=True, slots=True)
class ReservationForm(ReleaseRules):
    """How a release reserves a job's minimum."""

    whole_minimum: bool = rule_of(INQUEUE_FULL_MINRESOURCES)
    """An Inqueue job reserves its whole minimum, including what its tasks hold already."""
    whole_units: bool = rule_of(INQUEUE_SCALAR_UNITS)
    """Scalars are counted in units but compared with thousandths: a bug of old releases."""
    elastic_as_whole: bool = rule_of(ELASTIC_IN_EVERY_DIMENSION)
    """A job is elastic only if it exceeds its minimum in every dimension."""


NEWEST_FORM = ReservationForm()


def elastic_resource(job: JobInfo, form: ReservationForm = NEWEST_FORM) -> Resource:
    """The amount allocated to the job beyond its minimum. Upstream: api/job_info.GetElasticResources."""
    allocated, minimum = job.allocated, job.get_min_resources()
    names = (CPU, MEMORY, *(allocated.scalars or ()), *(minimum.scalars or ())) if form.elastic_as_whole else ()
    if any(at_most(allocated.get(name), minimum.get(name)) for name in names):
        return Resource()
    return exceeded_part(allocated, minimum)


def get_inqueue_resource(job: JobInfo, allocated: Resource, form: ReservationForm = NEWEST_FORM) -> Resource:
    """The part of minResources that is not yet allocated.

    `ephemeral-storage` is never reserved. A scalar stays even at 0 if none of it is allocated.
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
            _set_missing(inqueue, name, amount - allocated.get(name))
        elif not is_scalar_resource_name(name):
            continue
        elif not allocated.has_dimension(name):
            inqueue.set_scalar(name, amount)
        else:
            _set_missing(inqueue, name, amount - allocated.get(name))
    return inqueue


def _set_missing(inqueue: Resource, name: str, missing: float) -> None:
    if missing > 0:
        inqueue.set_scalar(name, missing)


def is_running_gang(job: JobInfo) -> bool:
    """Whether the job has a Running PodGroup with minResources and at least minMember allocated tasks."""
    group = job.pod_group
    return group.phase == RUNNING and group.min_resources is not None and job.allocated_task_num() >= group.min_member


def is_inqueue(job: JobInfo) -> bool:
    """Whether the job has an Inqueue PodGroup with minResources."""
    return job.pod_group.phase == INQUEUE and job.pod_group.min_resources is not None


def minimum_without_gated(job: JobInfo) -> Resource:
    """An admitted job's minimum minus the requests of scheduling-gated tasks."""
    return job.deduct_sch_gated_resources(job.get_min_resources())


def reserved_resource(job: JobInfo, form: ReservationForm = NEWEST_FORM) -> Resource | None:
    """The reservation of an Inqueue or Running job without scheduling-gated tasks; None for any other job."""
    if not (is_inqueue(job) or is_running_gang(job)):
        return None
    if form.whole_minimum and is_inqueue(job):
        return minimum_without_gated(job)
    return job.deduct_sch_gated_resources(get_inqueue_resource(job, job.allocated, form))


def reserved_resources(jobs: Iterable[JobInfo], form: ReservationForm = NEWEST_FORM) -> list[Resource]:
    """The reservations of all jobs that have one."""
    reserved = [reserved_resource(job, form) for job in jobs]
    return [amounts for amounts in reserved if amounts is not None]


def jobs_by_queue(jobs: Iterable[JobInfo]) -> dict[QueueName, list[JobInfo]]:
    """The jobs of each queue, in their order."""
    return group_by_key((job.queue, job) for job in jobs)


def format_resource_names(prefix: str, verb: str, names: Sequence[str]) -> str:
    """`prefix: verb cpu, verb memory`. Upstream: plugins/util.FormatResourceNames."""
    if not names:
        return prefix
    return f"{prefix}: {', '.join(f'{verb} {name}' for name in names)}"
