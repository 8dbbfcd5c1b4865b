"""allocate as it was before worksheets: a job comes back as long as it has tasks left, also when its gang failed.

Upstream: actions/allocate.
"""

from __future__ import annotations

from functools import partial

from vcdebug.actions.allocate.domains import DomainSearch
from vcdebug.actions.allocate.tasks import TaskPlacement, Visit, place_task
from vcdebug.actions.allocate.visits import (
    allocate_in_domains,
    goes_by_domains,
    left_open,
    not_admitted,
    placeable,
    take_turns,
)
from vcdebug.framework.action import Action, QueuedJobs, is_invalid
from vcdebug.framework.hooks import JOB_PIPELINED, JOB_READY
from vcdebug.framework.order import PriorityQueue, task_queue
from vcdebug.framework.placement import PredicateHelper
from vcdebug.framework.record import Level
from vcdebug.framework.scoring import best_node
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.framework.worksheet import Worksheet, build_worksheet
from vcdebug.model.hypernode import TOP_HYPER_NODE
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.nodetable import NodeRows
from vcdebug.model.queue import QueueInfo
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo


class RetryingAllocate(Action):
    """One heap of tasks per job for the whole action: what a visit has taken out of it stays out."""

    name = "allocate"

    def execute(self, ssn: Session) -> None:
        """Upstream: actions/allocate.Execute."""
        self._domains = DomainSearch(ssn, TaskPlacement(ssn, error_cache=self.error_cache))
        self._worksheets: dict[JobId, Worksheet] = {}
        self._tasks: dict[JobId, PriorityQueue[TaskInfo]] = {}
        waiting = self._collect(ssn)
        take_turns(ssn, waiting, partial(self._visit, ssn, waiting))

    def _collect(self, ssn: Session) -> QueuedJobs:
        """Jobs without pending tasks too. Upstream: actions/allocate.buildAllocateContext."""
        waiting = QueuedJobs(ssn)
        for job in ssn.jobs.values():
            if not not_admitted(ssn, job) and not is_invalid(ssn, job):
                waiting.add_job(ssn.queues[job.queue], job)
        ssn.log("try", len(waiting.jobs))
        return waiting

    def _visit(self, ssn: Session, waiting: QueuedJobs, queue: QueueInfo) -> None:
        """Upstream: actions/allocate.allocateResources."""
        ssn.log("turn", queue.name)
        job = waiting.jobs[queue.name].pop()
        with ssn.scope(Level.JOB, job.uid):
            again = self._allocate(ssn, job)
        if again:
            waiting.jobs[queue.name].push(job)
        waiting.queues.push(queue)

    def _allocate(self, ssn: Session, job: JobInfo) -> bool:
        """True when the job goes back into its queue."""
        if goes_by_domains(ssn, job):
            worksheet = self._worksheet_of(ssn, job)
            return not worksheet.empty and allocate_in_domains(ssn, self._domains, job, worksheet)
        tasks = self._tasks_of(ssn, job)
        if not tasks:
            return False
        ssn.log("rest", len(tasks), job.uid)
        statement = self._allocate_tasks(ssn, job, tasks)
        if statement is not None:
            statement.commit()
        return bool(tasks)

    def _worksheet_of(self, ssn: Session, job: JobInfo) -> Worksheet:
        if job.uid not in self._worksheets:
            self._worksheets[job.uid] = build_worksheet(ssn, job, partial(placeable, ssn))
        return self._worksheets[job.uid]

    def _tasks_of(self, ssn: Session, job: JobInfo) -> PriorityQueue[TaskInfo]:
        if job.uid not in self._tasks:
            waiting = [task for task in job.with_status(TaskStatus.PENDING) if placeable(ssn, task)]
            self._tasks[job.uid] = task_queue(ssn).extend(waiting)
        return self._tasks[job.uid]

    def _allocate_tasks(self, ssn: Session, job: JobInfo, tasks: PriorityQueue[TaskInfo]) -> Statement | None:
        """The statement, perhaps without operations, if the job ends ready; a pipelined job's stays open.
        Upstream: actions/allocate.allocateResourcesForTasks.
        """
        statement = Statement(ssn)
        helper = PredicateHelper(ssn, cache_on=self.error_cache)
        RetryingVisit(ssn, job, job.only_sub_job(), TOP_HYPER_NODE, ssn.all_rows(), helper, statement).place_all(tasks)
        if ssn.ask(JOB_READY, job):
            ssn.log("job-ready", job.uid)
            return statement
        if not ssn.ask(JOB_PIPELINED, job):
            statement.discard()
        else:
            left_open(ssn, job, statement)
        return None


class RetryingVisit(Visit):
    """One pass over the tasks that a job has left."""

    def place(self, task: TaskInfo) -> bool:
        """Try one task; False ends the loop. A task whose role has failed before leaves no fit error of its own."""
        if self._lost_to_queue(task):
            return True
        if self._job.task_has_fit_errors(self._of_roles, task):
            self._ssn.log("again", task.name, task.task_role)
            return True
        return self._search(task)

    def _place_on_best(self, task: TaskInfo, feasible: NodeRows) -> bool:
        """A ready job ends the loop also where the task's placement was refused."""
        topology = self._sub_job.with_network_topology()
        if topology:
            task.job_allocated_hyper_node = self._allocated_in
        node = best_node(self._ssn, task, feasible)
        if node is None:
            return True
        if place_task(self._ssn, self._statement, task, node) is None and topology:
            self._widen(node)
        return not self._ssn.ask(JOB_READY, self._job)
