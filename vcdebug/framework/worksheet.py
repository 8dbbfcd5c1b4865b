"""What is left to place of a job: its sub jobs in order, and the tasks of each.

Upstream: actions/allocate (organizeJobWorksheet), actions/utils (organizeEvictionWorksheet).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key

from vcdebug.framework.order import PriorityQueue, task_queue
from vcdebug.framework.session import Session
from vcdebug.model.job import JobInfo
from vcdebug.model.names import SubJobId
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo, TaskStatus


class Worksheet:
    """Sub jobs in a heap; a heap of tasks for each."""

    __slots__ = ("sub_jobs", "tasks")

    def __init__(self, sub_jobs: PriorityQueue[SubJobInfo], tasks: dict[SubJobId, PriorityQueue[TaskInfo]]) -> None:
        self.sub_jobs = sub_jobs
        self.tasks = tasks

    @property
    def empty(self) -> bool:
        """No sub job with tasks is left. Upstream: actions/allocate.Empty."""
        return not self.sub_jobs

    def clone(self) -> Worksheet:
        """Independent heaps over the same objects. Upstream: actions/allocate.Clone."""
        return Worksheet(self.sub_jobs.clone(), {uid: heap.clone() for uid, heap in self.tasks.items()})

    def shallow_copy_from(self, other: Worksheet) -> None:
        """Take over what another worksheet has left. Upstream: actions/allocate.ShallowCopyFrom."""
        self.sub_jobs, self.tasks = other.sub_jobs, other.tasks


def build_worksheet(ssn: Session, job: JobInfo, placeable: Callable[[TaskInfo], bool]) -> Worksheet:
    """Pending tasks that are `placeable`; sub jobs that their policy still requires come first.
    Upstream: actions/allocate.organizeJobWorksheet.
    """
    required = _required_sub_jobs(ssn, job)

    def sub_job_less(left: SubJobInfo, right: SubJobInfo) -> bool:
        if (left.uid in required) != (right.uid in required):
            return left.uid in required
        return ssn.sub_job_order_less(left, right)

    sub_jobs: PriorityQueue[SubJobInfo] = PriorityQueue(sub_job_less, "subjob", lambda sj: sj.uid, ssn.record)
    tasks: dict[SubJobId, PriorityQueue[TaskInfo]] = {}
    for sub_job in job.sub_jobs_in_order():
        waiting = [*sub_job.tasks_with_status(TaskStatus.PENDING), *_restored_tasks(ssn, sub_job)]
        heap = task_queue(ssn).extend(task for task in waiting if placeable(task))
        if heap:
            tasks[sub_job.uid] = heap
            sub_jobs.push(sub_job)
    return Worksheet(sub_jobs, tasks)


def _restored_tasks(ssn: Session, sub_job: SubJobInfo) -> list[TaskInfo]:
    """Tasks that still wait where an earlier cycle pipelined them."""
    if not ssn.restored:
        return []
    return [task for task in sub_job.tasks_with_status(TaskStatus.PIPELINED) if task.uid in ssn.restored]


def _required_sub_jobs(ssn: Session, job: JobInfo) -> dict[SubJobId, None]:
    ready_count: dict[str, int] = {}
    unready: list[SubJobInfo] = []
    for sub_job in job.sub_jobs_in_order():
        if ssn.sub_job_ready(job, sub_job):
            ready_count[sub_job.gid] = ready_count.get(sub_job.gid, 0) + 1
        else:
            unready.append(sub_job)
    required: dict[SubJobId, None] = {}

    def compare_sub_jobs(left: SubJobInfo, right: SubJobInfo) -> int:
        return -1 if ssn.sub_job_order_less(left, right) else 1

    for sub_job in sorted(unready, key=cmp_to_key(compare_sub_jobs)):
        if ready_count.get(sub_job.gid, 0) < job.min_sub_jobs.get(sub_job.gid, 0):
            required[sub_job.uid] = None
            ready_count[sub_job.gid] = ready_count.get(sub_job.gid, 0) + 1
    return required
