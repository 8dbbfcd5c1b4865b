"""What actions share: their base class, heaps of queues and jobs, fit errors, and candidate victims.

Upstream: framework/interface (Action), actions.
Upstream: util (ValidateVictims).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import JOB_STARVING, JOB_VALID
from vcdebug.framework.order import PriorityQueue
from vcdebug.framework.plugin_answers import PluginError
from vcdebug.framework.session import Session
from vcdebug.framework.subject import CandidateTasks
from vcdebug.model.fit_errors import FitErrors
from vcdebug.model.job import JobInfo
from vcdebug.model.names import QueueName
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo
from vcdebug.releases.change import Change

ERROR_CACHE_KEY = "predicateErrorCacheEnable"


class Action(ABC):
    """Base of all actions."""

    name: ClassVar[str]
    later_arguments: ClassVar[Mapping[str, Change]] = {}
    """Arguments that a release does not read while the older form of the change is in force."""

    # What it does: `facts_of` reads these, and explanations know actions by them.
    admits: ClassVar[bool] = False
    """Whether it admits PodGroups (Pending → Inqueue)."""
    places: ClassVar[bool] = False
    """Whether it gives pods a node: it allocates or pipelines."""
    evicts: ClassVar[bool] = False
    """Whether it may evict pods."""
    by_gang: ClassVar[bool] = False
    """Whether it evicts for all pods of a gang together, in a domain, instead of pod by pod and node by node."""
    across_queues: ClassVar[bool] = False
    """Whether its victims are pods of other queues; else of the queue that it evicts for."""
    within_jobs: ClassVar[bool] = False
    """Whether it visits each job a second time, to evict pods of that job itself."""
    evicts_copies: ClassVar[bool] = False
    """Whether it evicts copies, so that the session's own objects of running pods stay as they are."""

    @staticmethod
    def victim_filter(_ssn: Session, _job: JobInfo, _asker: TaskInfo, /, *, within: bool = False) -> CandidateFilter:  # noqa: ARG004
        """For an action that evicts pod by pod: the function that names the rule which excludes a task as victim of
        `_asker` (empty for a candidate); `within`: while it looks inside the asker's own job.

        Of the asker it reads the queue of its job, whether it is best-effort, and which tasks are of its own job.
        """
        return lambda _: ""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments

    @cached_property
    def error_cache(self) -> bool:
        """Whether searches remember for a role which nodes refused it."""
        return self.arguments.get_bool(ERROR_CACHE_KEY, default=True)

    @abstractmethod
    def execute(self, ssn: Session) -> None:
        """Run the action on the session."""


def queue_heap(ssn: Session) -> PriorityQueue[QueueInfo]:
    """Queues in queue order."""
    return PriorityQueue(ssn.queue_order_less, "queue", lambda queue: queue.name, ssn.record)


def job_heap(ssn: Session) -> PriorityQueue[JobInfo]:
    """Jobs in job order."""
    return PriorityQueue(ssn.job_order_less, "job", lambda job: job.uid, ssn.record)


class QueuedJobs:
    """Queues in a heap, and the jobs of each in heaps of their own."""

    __slots__ = ("_ssn", "jobs", "queues")

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self.queues = queue_heap(ssn)
        self.jobs: dict[QueueName, PriorityQueue[JobInfo]] = {}

    def add_queue(self, queue: QueueInfo, job: JobInfo) -> None:
        """Add the queue, unless it has been added for another job."""
        if queue.name not in self.jobs:
            self._ssn.log("queue", queue.name, job.uid)
            self.jobs[queue.name] = job_heap(self._ssn)
            self.queues.push(queue)

    def add_job(self, queue: QueueInfo, job: JobInfo) -> None:
        """Add the job, and its queue the first time."""
        self.add_queue(queue, job)
        self._ssn.log("job", job.uid, queue.name)
        self.jobs[queue.name].push(job)

    def add_job_only(self, job: JobInfo) -> None:
        """Add the job, but not its queue."""
        self.job_heap_of(job.queue).push(job)

    def job_heap_of(self, queue: QueueName) -> PriorityQueue[JobInfo]:
        """The jobs of a queue."""
        if queue not in self.jobs:
            self.jobs[queue] = job_heap(self._ssn)
        return self.jobs[queue]


def is_invalid(ssn: Session, job: JobInfo) -> bool:
    """Whether a plugin says that the job cannot be scheduled as it is."""
    verdict = ssn.ask_plugins(JOB_VALID, job)
    if verdict is None:
        return False
    ssn.log("invalid", job.uid, job.queue, verdict.reason, verdict.message)
    return True


def is_starving(ssn: Session, job: JobInfo) -> bool:
    """Whether the plugins say that the job lacks tasks of its minimum."""
    return ssn.ask_plugins(JOB_STARVING, job)


def collect_starving(
    ssn: Session, on_starving: Callable[[JobInfo], None], is_waiting: Callable[[Session, JobInfo], bool] = is_starving
) -> QueuedJobs:
    """Queues of all admitted valid jobs with the starving jobs in heaps; `on_starving` is called with each of these."""
    queued = QueuedJobs(ssn)
    for job in ssn.jobs.values():
        if job.is_pending() or is_invalid(ssn, job):
            continue
        queue = ssn.queues[job.queue]
        queued.add_queue(queue, job)
        if is_waiting(ssn, job):
            queued.add_job(queue, job)
            on_starving(job)
    return queued


def pre_predicate_errors(ssn: Session, error: PluginError, nodes: NodeRows) -> FitErrors:
    """A PrePredicate error, as the reason of every node."""
    errors = FitErrors(ssn.reasons)
    code = ssn.reasons.code_of(error.statuses) if error.statuses else ssn.reasons.error_code(error.text)
    errors.set_nodes(nodes.rows, np.full(len(nodes), code, dtype=np.uint16))
    return errors


# Victims of the evicting actions: candidates and their copies, and whether they make enough room.

CandidateFilter = Callable[[TaskInfo], str]
"""Task → the rule that excludes it as victim; empty for a candidate."""
NOT_RUNNING, NOT_PREEMPTABLE, ASKS_NOTHING = "status", "preemptable", "best-effort"
NO_JOB, SAME_QUEUE, OTHER_QUEUE, SAME_JOB, OTHER_JOB = "no-job", "same-queue", "other-queue", "same-job", "other-job"
NOT_RECLAIMABLE, GROUP_NOT_PREEMPTABLE, NOT_LOWER = "not-reclaimable", "group-preemptable", "not-lower"
"""The rules; ASKS_NOTHING: for a best-effort preemptor, pods with requests are no candidates."""


def candidates_on(ssn: Session, node: NodeInfo, excludes: CandidateFilter) -> CandidateTasks:
    """The node's tasks that the action's own filter does not exclude, by `namespace/name`."""
    # Upstream copies each candidate; here only victims are copied, when they are about to be evicted.
    return CandidateTasks([task for task in ssn.draws.next_visit(node.tasks_in_order()) if not excludes(task)])


def copy_tasks(tasks: Sequence[TaskInfo]) -> list[TaskInfo]:
    """Copies to evict in place of the tasks; a task that is listed twice has one copy."""
    of = {id(task): task.clone() for task in tasks}
    return [of[id(task)] for task in tasks]


def validate_victims(ssn: Session, task: TaskInfo, node: NodeInfo, victims: Sequence[TaskInfo]) -> bool:
    """Whether FutureIdle without the victims holds the task.
    Upstream: util/scheduler_helper.ValidateVictims.
    """
    if node.fits_future_idle(task.init_resreq, victims):
        return True
    ssn.log("no-victims", node.name, task.init_resreq, [victim.key for victim in victims])
    return False
