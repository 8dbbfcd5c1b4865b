"""reclaim as it once was: one task per turn of its queue, and whoever is evicted is gone at once.

Upstream: actions/reclaim, up to v1.13.
"""

from __future__ import annotations

from functools import partial

from vcdebug.actions.reclaim import EVICTION_REASON, NEVER_POLICY, pending_tasks, skip_reason
from vcdebug.framework import transitions
from vcdebug.framework.action import (
    Action,
    CandidateFilter,
    candidates_on,
    collect_starving,
    copy_tasks,
    validate_victims,
)
from vcdebug.framework.hooks import JOB_STARVING, OVERUSED, PRE_PREDICATE, PREEMPTIVE, RECLAIMABLE
from vcdebug.framework.node_verdict_cache import PREEMPT
from vcdebug.framework.order import PriorityQueue, build_victims_queue
from vcdebug.framework.placement import filter_out_unresolvable, predicate_node
from vcdebug.framework.record import Level
from vcdebug.framework.session import Session
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.node import NodeInfo
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo


class ReclaimAtOnce(Action):
    """No statement and no gang: what was evicted stays evicted, whether or not it helped."""

    name = "reclaim"
    places = evicts = across_queues = evicts_copies = True

    @staticmethod
    def victim_filter(ssn: Session, job: JobInfo, _asker: TaskInfo, *, within: bool = False) -> CandidateFilter:  # noqa: ARG004 - reclaim has no second turn
        return partial(skip_reason, ssn.jobs, ssn.queues, job)

    def execute(self, ssn: Session) -> None:
        """Queues take turns, task by task. Upstream: actions/reclaim.Execute."""
        ssn.log("total", len(ssn.jobs), len(ssn.queues))
        heaps: dict[JobId, PriorityQueue[TaskInfo]] = {}
        starving = collect_starving(ssn, lambda job: heaps.update({job.uid: pending_tasks(ssn, job)}))
        while starving.queues:
            queue = starving.queues.pop()
            with ssn.open_span(Level.QUEUE, queue.name):
                again = self._take_turn(ssn, queue, starving.jobs[queue.name], heaps)
            if again:
                starving.queues.push(queue)

    def _take_turn(
        self, ssn: Session, queue: QueueInfo, jobs: PriorityQueue[JobInfo], heaps: dict[JobId, PriorityQueue[TaskInfo]]
    ) -> bool:
        """One task of the first job; whether the queue gets another turn: a job without a task ends it for all."""
        if ssn.ask_plugins(OVERUSED, queue):
            ssn.log("overused", queue.name)
            return False
        if not jobs:
            return False
        job = jobs.pop()
        tasks = heaps[job.uid]
        with ssn.open_span(Level.JOB, job.uid):
            if not tasks or not ssn.ask_plugins(JOB_STARVING, job):
                return False
            task = tasks.pop()
            with ssn.open_span(Level.TASK, task.key):
                if task.pod.preemption_policy == NEVER_POLICY:
                    ssn.log("never", task.key)
                    jobs.push(job)
                    return True
                if not _may_reclaim(ssn, queue, task):
                    return False
                if _reclaim_for_task(ssn, job, task):
                    jobs.push(job)
                return True


def _may_reclaim(ssn: Session, queue: QueueInfo, task: TaskInfo) -> bool:
    if not ssn.ask_plugins(PREEMPTIVE, queue, [task]):
        ssn.log("refused", queue.name, task.name)
        return False
    if ssn.ask_plugins(PRE_PREDICATE, task) is not None:
        ssn.log("pre-predicate", task.key)
        return False
    return True


def _reclaim_for_task(ssn: Session, job: JobInfo, task: TaskInfo) -> bool:
    """Whether some node in the session's order gave enough: neither searched as elsewhere, nor scored."""
    nodes = filter_out_unresolvable(ssn, task)
    for node in ssn.draws.in_known_order(nodes.node_infos, task.key):
        code = predicate_node(ssn, task, node)
        if ssn.reasons.blocking_masks()[PREEMPT][code]:
            ssn.log("predicate", task.key, node.name)
            continue
        with ssn.open_span(Level.NODE, node.name):
            if _reclaim_on_node(ssn, job, task, node):
                return True
    return False


def _reclaim_on_node(ssn: Session, job: JobInfo, task: TaskInfo, node: NodeInfo) -> bool:
    """Whether the victims of this node alone make up the request: what is free there does not count."""
    ssn.log("node", task.key, node.name)
    reclaimees = candidates_on(node, partial(skip_reason, ssn.jobs, ssn.queues, job))
    if not reclaimees:
        ssn.log("nobody", node.name)
        return False
    victims = ssn.ask_plugins(RECLAIMABLE, task, reclaimees) or []
    if not validate_victims(ssn, task, node, victims):
        return False
    heap, freed = build_victims_queue(ssn, copy_tasks(victims), task), Resource()
    while heap:
        victim = heap.pop()
        ssn.log("victim", victim.key, task.key)
        transitions.evict(ssn, victim, EVICTION_REASON, via="session")
        freed.add(victim.resreq)
        if task.init_resreq.less_equal(freed):
            break
    ssn.log("sum", freed, task.key, task.init_resreq, node.name, None)
    if not task.init_resreq.less_equal(freed):
        return False
    transitions.pipeline(ssn, task, node.name)
    return True
