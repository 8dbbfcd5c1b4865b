"""What the actions share: the base class, heaps of queues and jobs, fit errors, and candidate victims.

Upstream: framework/interface (Action), actions, util (ValidateVictims).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import JOB_STARVING, JOB_VALID
from vcdebug.framework.order import PriorityQueue, task_queue
from vcdebug.framework.plugin_answers import PluginError
from vcdebug.framework.registry import ActionFacts
from vcdebug.framework.session import Session
from vcdebug.framework.subject import CandidateTasks
from vcdebug.model.fit_errors import FitErrors
from vcdebug.model.job import JobInfo
from vcdebug.model.names import QueueName
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.releases.change import Change

ERROR_CACHE_KEY = "predicateErrorCacheEnable"


class Action(ABC):
    """Base of all actions."""

    name: ClassVar[str]
    later_arguments: ClassVar[Mapping[str, Change]] = {}
    """Arguments that a release does not read while the older form of the change is in force."""

    facts: ClassVar[ActionFacts] = ActionFacts()

    @staticmethod
    def victim_filter(_ssn: Session, _job: JobInfo, _asker: TaskInfo, /, *, within: bool = False) -> CandidateFilter:  # noqa: ARG004
        """For actions that evict pod by pod: a function from a task to the rule that excludes it as victim of `_asker`
        (empty for a candidate). `within`: whether the victims are sought in the asker's own job.

        Of the asker it reads the queue of its job, whether it is best-effort, and which tasks are of its own job.
        """
        return lambda _: ""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments

    @cached_property
    def error_cache(self) -> bool:
        """Whether searches cache, per task role, which nodes rejected it."""
        return self.arguments.get_bool(ERROR_CACHE_KEY, default=True)

    @abstractmethod
    def execute(self, ssn: Session) -> None:
        """Run the action on the session."""


class QueuedJobs:
    """A heap of queues, and a heap of jobs for each queue."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self.queues = PriorityQueue[QueueInfo](ssn.queue_order_less, "queue", lambda queue: queue.name, ssn.record)
        self.jobs: dict[QueueName, PriorityQueue[JobInfo]] = {}

    def add_queue(self, queue: QueueInfo, job: JobInfo) -> None:
        """Add the queue, unless an earlier job has already added it."""
        if queue.name not in self.jobs:
            self._ssn.log("queue", queue.name, job.uid)
            self.job_heap_of(queue.name)
            self.queues.push(queue)

    def add_job(self, queue: QueueInfo, job: JobInfo) -> None:
        """Add the job, and its queue if it is not there yet."""
        self.add_queue(queue, job)
        self._ssn.log("job", job.uid, queue.name)
        self.jobs[queue.name].push(job)

    def job_heap_of(self, queue: QueueName) -> PriorityQueue[JobInfo]:
        """The heap of jobs of a queue, created on first use."""
        if queue not in self.jobs:
            self.jobs[queue] = PriorityQueue(self._ssn.job_order_less, "job", lambda job: job.uid, self._ssn.record)
        return self.jobs[queue]


def is_invalid(ssn: Session, job: JobInfo) -> bool:
    """Whether a plugin's JobValid rejects the job."""
    verdict = ssn.ask_plugins(JOB_VALID, job)
    if verdict is None:
        return False
    ssn.log("invalid", job.uid, job.queue, verdict.reason, verdict.message)
    return True


def is_starving(ssn: Session, job: JobInfo) -> bool:
    """Whether the plugins report that the job still lacks tasks to reach its minimum."""
    return ssn.ask_plugins(JOB_STARVING, job)


def pending_tasks(ssn: Session, job: JobInfo) -> PriorityQueue[TaskInfo]:
    """A heap of the job's pending tasks without a gate, in task order."""
    return task_queue(ssn).extend(task for task in job.tasks_with_status(TaskStatus.PENDING) if not task.sch_gated)


def collect_starving(
    ssn: Session, on_starving: Callable[[JobInfo], None], is_waiting: Callable[[Session, JobInfo], bool] = is_starving
) -> QueuedJobs:
    """The queues of all admitted, valid jobs, with heaps of the starving jobs; `on_starving` is called for each one."""
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
    """A PrePredicate error as the fit error of every node."""
    errors = FitErrors(ssn.reasons)
    code = ssn.reasons.code_of(error.statuses) if error.statuses else ssn.reasons.error_code(error.text)
    errors.set_nodes(nodes.rows, np.full(len(nodes), code, dtype=np.uint16))
    return errors


# Victims of the evicting actions: candidates, their copies, and whether evicting them makes enough room.

CandidateFilter = Callable[[TaskInfo], str]
"""Function from a task to the rule that excludes it as victim; empty for a candidate."""
NOT_RUNNING, NOT_PREEMPTABLE, ASKS_NOTHING = "status", "preemptable", "best-effort"
NO_JOB, SAME_QUEUE, OTHER_QUEUE, SAME_JOB, OTHER_JOB = "no-job", "same-queue", "other-queue", "same-job", "other-job"
NOT_RECLAIMABLE, GROUP_NOT_PREEMPTABLE, NOT_LOWER = "not-reclaimable", "group-preemptable", "not-lower"
"""The rules that exclude a task. ASKS_NOTHING: a best-effort preemptor cannot evict pods with requests."""


def candidates_on(ssn: Session, node: NodeInfo, excludes: CandidateFilter) -> CandidateTasks:
    """The node's tasks that the action's filter does not exclude, in order of `namespace/name`."""
    # Upstream copies each candidate; here only victims are copied, when they are about to be evicted.
    return CandidateTasks([task for task in ssn.draws.next_visit(node.tasks_in_order()) if not excludes(task)])


def copy_tasks(tasks: Sequence[TaskInfo]) -> list[TaskInfo]:
    """Copies of the tasks, to be evicted in their place; a task that is listed twice has one copy."""
    of = {id(task): task.clone() for task in tasks}
    return [of[id(task)] for task in tasks]


def validate_victims(ssn: Session, task: TaskInfo, node: NodeInfo, victims: Sequence[TaskInfo]) -> bool:
    """Whether the task fits FutureIdle once the victims are gone. Upstream: util/scheduler_helper.ValidateVictims."""
    if node.fits_future_idle(task.init_resreq, victims):
        return True
    ssn.log("no-victims", node.name, task.init_resreq, [victim.key for victim in victims])
    return False
