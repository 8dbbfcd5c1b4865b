"""reclaim: evicts running tasks of other queues for a queue that has less than it deserves.

Upstream: actions/reclaim, and its form up to v1.13.
"""

from collections.abc import Mapping
from functools import partial

from vcdebug.framework import action, hooks, placement, transitions
from vcdebug.framework.action import Action, collect_starving, is_starving, pending_tasks
from vcdebug.framework.node_verdict_cache import PREEMPT
from vcdebug.framework.order import PriorityQueue, build_victims_queue
from vcdebug.framework.record import Level
from vcdebug.framework.registry import ActionFacts
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.node import NodeInfo
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.releases import scheduling

EVICTION_REASON = "reclaim"
NEVER_POLICY = "Never"


def victim_filter(ssn: Session, job: JobInfo, _asker: TaskInfo, /, *, within: bool = False) -> action.CandidateFilter:
    """The filter of both forms of reclaim: task → the rule that excludes it as victim, empty for a candidate."""
    return partial(skip_reason, ssn.jobs, ssn.queues, job)


class Reclaim(Action):
    """Reclaims resources from queues that have more than they deserve."""

    name = "reclaim"
    facts = ActionFacts(places=True, evicts=True, across_queues=True, evicts_copies=True)

    victim_filter = staticmethod(victim_filter)

    def execute(self, ssn: Session) -> None:
        """Pop queues; the first turn of a queue visits all of its jobs. Upstream: actions/reclaim.Execute."""
        self._shares_statement = ssn.release.has_older_form(scheduling.RECLAIM_SHARED_STATEMENT)
        self._evicts_first = ssn.release.has_older_form(scheduling.RECLAIM_EVICTS_BEFORE_TEST)
        ssn.log("total", len(ssn.jobs), len(ssn.queues))
        heaps: dict[JobId, PriorityQueue[TaskInfo]] = {}
        starving = collect_starving(ssn, lambda job: heaps.update({job.uid: pending_tasks(ssn, job)}))
        while starving.queues:
            queue = starving.queues.pop()
            with ssn.open_span(Level.QUEUE, queue.name):
                if ssn.ask_plugins(hooks.OVERUSED, queue):
                    ssn.log("overused", queue.name)
                    continue
                jobs = starving.jobs[queue.name]
                while jobs:
                    job = jobs.pop()
                    with ssn.open_span(Level.JOB, job.uid):
                        self._reclaim_for_job(ssn, queue, job, heaps[job.uid])
                    # Pushed once per remaining job, as upstream does: each push causes an empty turn later.
                    if jobs:
                        starving.queues.push(queue)
                ssn.log("no-jobs", queue.name)

    def _reclaim_for_job(self, ssn: Session, queue: QueueInfo, job: JobInfo, tasks: PriorityQueue[TaskInfo]) -> None:
        statement = Statement(ssn)
        while ssn.ask_plugins(hooks.JOB_STARVING, job):
            if not tasks:
                ssn.log("no-task", job.uid)
                break
            ssn.log("tasks", len(tasks), job.uid)
            task = tasks.pop()
            with ssn.open_span(Level.TASK, task.key):
                if self._may_reclaim(ssn, queue, task):
                    self._reclaim_for_task(ssn, statement, job, task)
        if ssn.ask_plugins(hooks.JOB_PIPELINED, job):
            statement.commit()
        else:
            statement.discard()

    def _may_reclaim(self, ssn: Session, queue: QueueInfo, task: TaskInfo) -> bool:
        if task.pod.preemption_policy == NEVER_POLICY:
            ssn.log("never", task.key)
            return False
        return _may_reclaim(ssn, queue, task)

    def _reclaim_for_task(self, ssn: Session, statement: Statement, job: JobInfo, task: TaskInfo) -> None:
        """Use the first node whose victims make room, without scoring. Upstream: actions/reclaim.reclaimForTask."""
        helper = placement.PredicateHelper(ssn, cache_on=self.error_cache)
        feasible, _ = helper.predicate_nodes(
            task, placement.filter_out_unresolvable(ssn, task), placement.predicate_for_preempt_action
        )
        for group in placement.shard_groups(ssn, feasible):
            for node in ssn.draws.in_known_order(group.node_infos, task.key):
                with ssn.open_span(Level.NODE, node.name):
                    if self._reclaim_on_node(ssn, statement, job, task, node):
                        return

    def _reclaim_on_node(
        self, ssn: Session, statement: Statement, job: JobInfo, task: TaskInfo, node: NodeInfo
    ) -> bool:
        victims = _valid_victims(ssn, job, task, node)
        if victims is None:
            return False
        trial = statement if self._shares_statement else Statement(ssn)
        # A running sum, as upstream: evictions also change the node's FutureIdle, which would count them twice.
        available = node.future_idle()
        heap = build_victims_queue(ssn, action.copy_tasks(victims), task)
        begin, freed = len(trial), Resource()
        while heap and ((self._evicts_first and len(trial) == begin) or not task.init_resreq.less_equal(available)):
            victim = heap.pop()
            ssn.log("victim", victim.key, task.key)
            trial.evict(victim, EVICTION_REASON)
            available.add(victim.resreq)
            freed.add(victim.resreq)
        ssn.log("sum", freed, task.key, task.init_resreq, node.name, available)
        evicted = len(trial) > begin
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
        """Pipeline in the shared statement; returns False if the task does not fit, in which case evictions stay."""
        if not task.init_resreq.less_equal(available):
            return False
        statement.pipeline(task, node.name, eviction=evicted)
        return True


def skip_reason(
    jobs: Mapping[JobId, JobInfo], queues: Mapping[QueueName, QueueInfo], job: JobInfo, candidate: TaskInfo
) -> str:
    """The rule that excludes a task as victim; empty for a candidate."""
    if candidate.status is not TaskStatus.RUNNING:
        return action.NOT_RUNNING
    if not candidate.preemptable:
        return action.NOT_PREEMPTABLE
    owner = jobs.get(candidate.job)
    if owner is None:
        return action.NO_JOB
    if owner.queue == job.queue:
        return action.SAME_QUEUE
    return "" if queues[owner.queue].reclaimable else action.NOT_RECLAIMABLE


def _valid_victims(ssn: Session, job: JobInfo, task: TaskInfo, node: NodeInfo) -> list[TaskInfo] | None:
    """The victims on the node that the plugins allow; None if the task does not fit even without them."""
    ssn.log("node", task.key, node.name)
    reclaimees = action.candidates_on(ssn, node, partial(skip_reason, ssn.jobs, ssn.queues, job))
    if not reclaimees:
        ssn.log("nobody", node.name)
        return None
    victims = ssn.ask_plugins(hooks.RECLAIMABLE, task, reclaimees) or []
    return victims if action.validate_victims(ssn, task, node, victims) else None


# reclaim up to v1.13: one task per turn of its queue, and each eviction takes effect at once.


class ReclaimAtOnce(Action):
    """The older form, without statement and gang: evicted tasks stay evicted, whether or not that helped."""

    name = "reclaim"
    facts = Reclaim.facts
    victim_filter = staticmethod(victim_filter)

    def execute(self, ssn: Session) -> None:
        """Give each queue a turn of one task. Upstream: actions/reclaim.Execute."""
        ssn.log("total", len(ssn.jobs), len(ssn.queues))
        heaps: dict[JobId, PriorityQueue[TaskInfo]] = {}
        self._wants_more = (
            has_pending if ssn.release.has_older_form(scheduling.RECLAIM_BEYOND_STARVING) else is_starving
        )
        starving = collect_starving(ssn, lambda job: heaps.update({job.uid: pending_tasks(ssn, job)}), self._wants_more)
        while starving.queues:
            queue = starving.queues.pop()
            with ssn.open_span(Level.QUEUE, queue.name):
                goes_back = self._take_turn(ssn, queue, starving.jobs[queue.name], heaps)
            if goes_back:
                starving.queues.push(queue)

    def _take_turn(
        self, ssn: Session, queue: QueueInfo, jobs: PriorityQueue[JobInfo], heaps: dict[JobId, PriorityQueue[TaskInfo]]
    ) -> bool:
        """Reclaim for one task of the first job; returns whether the queue gets another turn."""
        if ssn.ask_plugins(hooks.OVERUSED, queue):
            ssn.log("overused", queue.name)
            return False
        if not jobs:
            return False
        job = jobs.pop()
        tasks = heaps[job.uid]
        with ssn.open_span(Level.JOB, job.uid):
            if not tasks or not self._wants_more(ssn, job):
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


def has_pending(_ssn: Session, job: JobInfo) -> bool:
    """Whether the job has Pending tasks, gated ones included. Upstream: api/job_info.HasPendingTasks."""
    return job.count_tasks(TaskStatus.PENDING) > 0


def _may_reclaim(ssn: Session, queue: QueueInfo, task: TaskInfo) -> bool:
    asks_room = ssn.release.has_older_form(scheduling.RECLAIM_ASKS_ALLOCATABLE)
    if asks_room and not ssn.ask_plugins(hooks.ALLOCATABLE, queue, task):
        return False
    if not ssn.ask_plugins(hooks.PREEMPTIVE, queue, [task]):
        ssn.log("refused", queue.name, task.name)
        return False
    if ssn.ask_plugins(hooks.PRE_PREDICATE, task) is not None:
        ssn.log("pre-predicate", task.key)
        return False
    return True


def _reclaim_for_task(ssn: Session, job: JobInfo, task: TaskInfo) -> bool:
    """Reclaim on the first node that gives enough room; returns whether there was one. No sampling or scoring."""
    nodes = placement.filter_out_unresolvable(ssn, task)
    for node in ssn.draws.in_known_order(nodes.node_infos, task.key):
        code = placement.predicate_node(ssn, task, node)
        if ssn.reasons.blocking_masks()[PREEMPT][code]:
            ssn.log("predicate", task.key, node.name)
            continue
        with ssn.open_span(Level.NODE, node.name):
            if _reclaim_on_node(ssn, job, task, node):
                return True
    return False


def _reclaim_on_node(ssn: Session, job: JobInfo, task: TaskInfo, node: NodeInfo) -> bool:
    """Evict victims on the node until they cover the request, without idle room; returns whether they do."""
    victims = _valid_victims(ssn, job, task, node)
    if victims is None:
        return False
    heap, freed = build_victims_queue(ssn, action.copy_tasks(victims), task), Resource()
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
