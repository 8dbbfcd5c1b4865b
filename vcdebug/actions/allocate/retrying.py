"""allocate as it was before worksheets: a job comes back as long as it has tasks left, also when its gang failed.

Upstream: actions/allocate.
"""

from __future__ import annotations

from functools import partial

from vcdebug.actions.allocate.domains import DomainSearch
from vcdebug.actions.allocate.runs import TaskRuns
from vcdebug.actions.allocate.tasks import TaskPlacement
from vcdebug.actions.allocate.tiers import TierSearch
from vcdebug.actions.allocate.visits import (
    allocate_in_domains,
    goes_by_domains,
    is_placeable,
    not_admitted,
    take_turns,
)
from vcdebug.framework.action import Action, QueuedJobs, is_invalid
from vcdebug.framework.order import PriorityQueue, task_queue
from vcdebug.framework.record import Level
from vcdebug.framework.session import Session
from vcdebug.framework.worksheet import Worksheet, build_worksheet
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.queue import QueueInfo
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo
from vcdebug.releases.topology import ALLOCATE_TOPOLOGY_TIERS


class RetryingAllocate(Action):
    """One heap of tasks per job for the whole action: what a visit has taken out of it stays out."""

    name = "allocate"
    places = True

    def execute(self, ssn: Session) -> None:
        """Upstream: actions/allocate.Execute."""
        self._runs = TaskRuns(ssn, error_cache=self.error_cache)
        self._tiers = TierSearch(ssn, self._runs) if ssn.release.has_older_form(ALLOCATE_TOPOLOGY_TIERS) else None
        self._domains = DomainSearch(ssn, TaskPlacement(ssn, error_cache=self.error_cache))
        self._worksheets: dict[JobId, Worksheet] = {}
        self._tasks: dict[JobId, PriorityQueue[TaskInfo]] = {}
        waiting = self._build_allocate_context(ssn)
        take_turns(ssn, waiting, partial(self._allocate_resources, ssn, waiting), "turn")

    def _build_allocate_context(self, ssn: Session) -> QueuedJobs:
        """Jobs without pending tasks too. Upstream: actions/allocate.buildAllocateContext."""
        waiting = QueuedJobs(ssn)
        for job in ssn.jobs.values():
            if not not_admitted(ssn, job) and not is_invalid(ssn, job):
                waiting.add_job(ssn.queues[job.queue], job)
        ssn.log("try", len(waiting.jobs))
        return waiting

    def _allocate_resources(self, ssn: Session, waiting: QueuedJobs, queue: QueueInfo) -> None:
        """Upstream: actions/allocate.allocateResources."""
        job = waiting.jobs[queue.name].pop()
        with ssn.open_span(Level.JOB, job.uid):
            if self._ends_the_turn(ssn, job):
                return
            again = self._allocate_job(ssn, job)
        if again:
            waiting.jobs[queue.name].push(job)
        waiting.queues.push(queue)

    def _ends_the_turn(self, ssn: Session, job: JobInfo) -> bool:
        """Whether the job asks for hard topology where the tree cannot be used: then nobody behind it has a turn."""
        if self._tiers is None or ssn.hyper_nodes.ready or _hard_tier(job) is None:
            return False
        tasks = self._tasks_of(ssn, job)
        if tasks:
            ssn.log("rest", len(tasks), job.uid)
            ssn.log("unready", job.uid)
        return bool(tasks)

    def _allocate_job(self, ssn: Session, job: JobInfo) -> bool:
        """True when the job goes back into its queue."""
        if self._tiers is None and goes_by_domains(ssn, job):
            worksheet = self._worksheet_of(ssn, job)
            return not worksheet.empty and allocate_in_domains(ssn, self._domains, job, worksheet)
        tasks = self._tasks_of(ssn, job)
        if not tasks:
            return False
        ssn.log("rest", len(tasks), job.uid)
        highest = _hard_tier(job)
        if self._tiers is not None and highest is not None:
            statement, left = self._tiers.allocate_in_tiers(job, tasks, highest)
        else:
            statement, left = self._runs.allocate_tasks(job, tasks), tasks
        if statement is not None:
            statement.commit()
        self._tasks[job.uid] = left or tasks
        return bool(left)

    def _worksheet_of(self, ssn: Session, job: JobInfo) -> Worksheet:
        if job.uid not in self._worksheets:
            self._worksheets[job.uid] = build_worksheet(ssn, job, partial(is_placeable, ssn))
        return self._worksheets[job.uid]

    def _tasks_of(self, ssn: Session, job: JobInfo) -> PriorityQueue[TaskInfo]:
        if job.uid not in self._tasks:
            waiting = [task for task in job.tasks_with_status(TaskStatus.PENDING) if is_placeable(ssn, task)]
            self._tasks[job.uid] = task_queue(ssn).extend(waiting)
        return self._tasks[job.uid]


def _hard_tier(job: JobInfo) -> int | None:
    """The highest tier allowed; None where the job asks for no hard topology."""
    return None if job.network_topology is None else job.network_topology.hard_tier()
