"""reclaim: evicts running tasks of other queues for a queue that holds less than it deserves.

Upstream: actions/reclaim.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from vcdebug.framework.action import (
    NO_JOB,
    NOT_PREEMPTABLE,
    NOT_RECLAIMABLE,
    NOT_RUNNING,
    SAME_QUEUE,
    Action,
    CandidateFilter,
    candidates_on,
    collect_starving,
    copy_tasks,
    validate_victims,
)
from vcdebug.framework.hooks import (
    JOB_PIPELINED,
    JOB_STARVING,
    OVERUSED,
    PRE_PREDICATE,
    PREEMPTIVE,
    RECLAIMABLE,
)
from vcdebug.framework.order import PriorityQueue, build_victims_queue, task_queue
from vcdebug.framework.placement import (
    PredicateHelper,
    filter_out_unresolvable,
    predicate_for_preempt_action,
    shard_groups,
)
from vcdebug.framework.record import Level
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.node import NodeInfo
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.releases.scheduling import RECLAIM_EVICTS_BEFORE_TEST, RECLAIM_SHARED_STATEMENT

EVICTION_REASON = "reclaim"
NEVER_POLICY = "Never"


class Reclaim(Action):
    """Takes resources back from queues above their share."""

    name = "reclaim"
    places = evicts = across_queues = evicts_copies = True

    @staticmethod
    def victim_filter(ssn: Session, job: JobInfo, _asker: TaskInfo, *, within: bool = False) -> CandidateFilter:  # noqa: ARG004 - reclaim has no second turn
        return partial(skip_reason, ssn.jobs, ssn.queues, job)

    def execute(self, ssn: Session) -> None:
        """Pop queues; a queue is drained at its first turn, and pushed back once per job while it drains.
        Upstream: actions/reclaim.Execute.
        """
        self._shares_statement = ssn.release.has_older_form(RECLAIM_SHARED_STATEMENT)
        self._evicts_first = ssn.release.has_older_form(RECLAIM_EVICTS_BEFORE_TEST)
        ssn.log("total", len(ssn.jobs), len(ssn.queues))
        heaps: dict[JobId, PriorityQueue[TaskInfo]] = {}
        starving = collect_starving(ssn, lambda job: heaps.update({job.uid: pending_tasks(ssn, job)}))
        while starving.queues:
            queue = starving.queues.pop()
            with ssn.open_span(Level.QUEUE, queue.name):
                if ssn.ask_plugins(OVERUSED, queue):
                    ssn.log("overused", queue.name)
                    continue
                jobs = starving.jobs[queue.name]
                while jobs:
                    job = jobs.pop()
                    with ssn.open_span(Level.JOB, job.uid):
                        self._reclaim_for_job(ssn, queue, job, heaps[job.uid])
                    if jobs:
                        starving.queues.push(queue)
                ssn.log("no-jobs", queue.name)

    def _reclaim_for_job(self, ssn: Session, queue: QueueInfo, job: JobInfo, tasks: PriorityQueue[TaskInfo]) -> None:
        statement = Statement(ssn)
        while ssn.ask_plugins(JOB_STARVING, job):
            if not tasks:
                ssn.log("no-task", job.uid)
                break
            ssn.log("tasks", len(tasks), job.uid)
            task = tasks.pop()
            with ssn.open_span(Level.TASK, task.key):
                if self._may_reclaim(ssn, queue, task):
                    self._reclaim_for_task(ssn, statement, job, task)
        if ssn.ask_plugins(JOB_PIPELINED, job):
            statement.commit()
        else:
            statement.discard()

    def _may_reclaim(self, ssn: Session, queue: QueueInfo, task: TaskInfo) -> bool:
        if task.pod.preemption_policy == NEVER_POLICY:
            ssn.log("never", task.key)
            return False
        if not ssn.ask_plugins(PREEMPTIVE, queue, [task]):
            ssn.log("refused", queue.name, task.name)
            return False
        if ssn.ask_plugins(PRE_PREDICATE, task) is not None:
            ssn.log("pre-predicate", task.key)
            return False
        return True

    def _reclaim_for_task(self, ssn: Session, statement: Statement, job: JobInfo, task: TaskInfo) -> None:
        """The first node in search order whose victims make enough room; nodes are not scored.
        Upstream: actions/reclaim.reclaimForTask.
        """
        helper = PredicateHelper(ssn, cache_on=self.error_cache)
        feasible, _ = helper.predicate_nodes(task, filter_out_unresolvable(ssn, task), predicate_for_preempt_action)
        for group in shard_groups(ssn, feasible):
            for node in ssn.draws.in_known_order(group.node_infos, task.key):
                with ssn.open_span(Level.NODE, node.name):
                    if self._reclaim_on_node(ssn, statement, job, task, node):
                        return

    def _reclaim_on_node(
        self, ssn: Session, statement: Statement, job: JobInfo, task: TaskInfo, node: NodeInfo
    ) -> bool:
        ssn.log("node", task.key, node.name)
        reclaimees = candidates_on(node, partial(skip_reason, ssn.jobs, ssn.queues, job))
        if not reclaimees:
            ssn.log("nobody", node.name)
            return False
        victims = ssn.ask_plugins(RECLAIMABLE, task, reclaimees) or []
        if not validate_victims(ssn, task, node, victims):
            return False
        trial = statement if self._shares_statement else Statement(ssn)
        available = node.future_idle()
        heap = build_victims_queue(ssn, copy_tasks(victims), task)
        before, freed = len(trial), Resource()
        while heap and ((self._evicts_first and len(trial) == before) or not task.init_resreq.less_equal(available)):
            victim = heap.pop()
            ssn.log("victim", victim.key, task.key)
            trial.evict(victim, EVICTION_REASON)
            available.add(victim.resreq)
            freed.add(victim.resreq)
        ssn.log("sum", freed, task.key, task.init_resreq, node.name, available)
        evicted = len(trial) > before
        if self._shares_statement:
            return self._pipelined_in_shared(statement, task, node, available, evicted=evicted)
        if not task.init_resreq.less_equal(available):
            trial.discard()
            return False
        if trial.pipeline(task, node.name, eviction=evicted) is not None:
            trial.discard()
            return False
        statement.merge(trial)
        return True

    def _pipelined_in_shared(
        self, statement: Statement, task: TaskInfo, node: NodeInfo, available: Resource, *, evicted: bool
    ) -> bool:
        """Evictions stay where the task does not fit; a pipeline that is refused ends the search too."""
        if not task.init_resreq.less_equal(available):
            return False
        statement.pipeline(task, node.name, eviction=evicted)
        return True


def skip_reason(
    jobs: Mapping[JobId, JobInfo], queues: Mapping[QueueName, QueueInfo], job: JobInfo, candidate: TaskInfo
) -> str:
    """The rule by which a task is left alone; empty for a candidate."""
    if candidate.status is not TaskStatus.RUNNING:
        return NOT_RUNNING
    if not candidate.preemptable:
        return NOT_PREEMPTABLE
    owner = jobs.get(candidate.job)
    if owner is None:
        return NO_JOB
    if owner.queue == job.queue:
        return SAME_QUEUE
    return "" if queues[owner.queue].reclaimable else NOT_RECLAIMABLE


def pending_tasks(ssn: Session, job: JobInfo) -> PriorityQueue[TaskInfo]:
    """Those that reclaim is to find room for."""
    return task_queue(ssn).extend(task for task in job.tasks_with_status(TaskStatus.PENDING) if not task.sch_gated)
