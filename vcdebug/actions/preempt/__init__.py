"""preempt: evicts tasks of lower priority in the same queue for starving jobs, then within a job.

Upstream: actions/preempt (Execute, normalPreempt).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from vcdebug.framework import action, placement
from vcdebug.framework.action import Action, QueuedJobs, is_invalid
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import ALLOCATABLE, JOB_PIPELINED, JOB_STARVING, PRE_PREDICATE, PREEMPTABLE, VICTIM_TASKS
from vcdebug.framework.order import PriorityQueue, build_victims_queue
from vcdebug.framework.record import Level
from vcdebug.framework.registry import ActionFacts
from vcdebug.framework.scoring import prioritize_nodes, sort_nodes
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.fit_errors import UNSCHEDULABLE_AND_UNRESOLVABLE
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo, is_preemptable_status
from vcdebug.releases import scheduling
from vcdebug.releases.queues import PR_5373
from vcdebug.snapshot.manifest import find_condition

if TYPE_CHECKING:
    from vcdebug.actions.preempt.topology import TopologyAwarePreemption

NEVER_POLICY = "Never"
TOPOLOGY_AWARE_KEY = "enableTopologyAwarePreemption"

TaskHeaps = dict[JobId, PriorityQueue[TaskInfo]]


class Preempt(Action):
    """Preempts between the jobs of a queue first, then within each job."""

    name = "preempt"
    facts = ActionFacts(places=True, evicts=True, within_jobs=True, evicts_copies=True)
    later_arguments = {TOPOLOGY_AWARE_KEY: scheduling.TOPOLOGY_PREEMPT_ABSENT}

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.topology_aware: TopologyAwarePreemption | None = None
        if arguments.get_bool(TOPOLOGY_AWARE_KEY, default=False):
            from vcdebug.actions.preempt import topology

            self.topology_aware = topology.TopologyAwarePreemption(arguments)

    @staticmethod
    def victim_filter(ssn: Session, job: JobInfo, asker: TaskInfo, *, within: bool = False) -> action.CandidateFilter:
        return partial(skip_reason_within_job if within else skip_reason_between_jobs, ssn.jobs, job, asker)

    def execute(self, ssn: Session) -> None:
        """Preempt between jobs, then within jobs. Upstream: actions/preempt.Execute."""
        self._choose_forms(ssn)
        starving, heaps, under_request = self._collect_starving(ssn)
        # One helper for all queues, jobs and both phases: upstream's error cache lives as long as the action.
        helper = placement.PredicateHelper(ssn, cache_on=self.error_cache)
        all_starving = [job for job in ssn.jobs.values() if job.uid in heaps]
        while starving.queues:
            queue = self._next_queue(ssn, starving)
            with ssn.open_span(Level.QUEUE, queue.name):
                if not queue.preemptable and ssn.release.has_older_form(PR_5373):
                    continue
                jobs = starving.jobs[queue.name]
                while jobs:
                    job = jobs.pop()
                    with ssn.open_span(Level.JOB, job.uid):
                        goes_back = self._preempt_between_jobs(ssn, helper, job, heaps[job.uid])
                    if goes_back:
                        jobs.push(job)
                ssn.log("no-jobs", queue.name)
                for job in all_starving if self._queues_by_name else under_request.get(queue.name, ()):
                    with ssn.open_span(Level.JOB, job.uid):
                        self._preempt_within_job(ssn, helper, job, heaps)
        if ssn.release.has_older_form(scheduling.PREEMPT_EVICTS_NAMED):
            _evict_victim_tasks(ssn)

    def _choose_forms(self, ssn: Session) -> None:
        """Read once from the release which older forms apply."""
        has = ssn.release.has_older_form
        self._make_room = room_maker(ssn)
        self._shares_statement = has(scheduling.PREEMPT_SHARED_STATEMENT)
        self._requeues = has(scheduling.PREEMPT_REQUEUE_AFTER_ASSIGN)
        self._commits_failures = has(scheduling.PREEMPT_INTRA_JOB_COMMITS_FAILURES)
        self._queues_by_name = has(scheduling.PREEMPT_QUEUE_ORDER)
        self._shares_tasks = has(scheduling.PREEMPT_TASKS_PER_QUEUE)
        self._serves_topology = has(scheduling.PREEMPT_WITH_TOPOLOGY)
        self._heeds_nomination = not has(scheduling.PREEMPT_WHILE_NOMINATED)

    def _next_queue(self, ssn: Session, starving: QueuedJobs) -> QueueInfo:
        """The next queue in queue order, or in the session's order in releases that iterate over a map."""
        if not self._queues_by_name:
            return starving.queues.pop()
        # A heap cannot pop in map order, so the queue with the lowest position is taken out instead.
        places = {name: place for place, name in enumerate(ssn.queues)}
        return starving.queues.take_least(lambda queue: places[queue.name])

    def _collect_starving(self, ssn: Session) -> tuple[QueuedJobs, TaskHeaps, dict[QueueName, list[JobInfo]]]:
        """(starving jobs by queue, task heaps by job, jobs by queue); queues are pushed by name after all jobs."""
        jobs: dict[QueueName, list[JobInfo]] = {}
        heaps: TaskHeaps = {}
        walked: dict[QueueName, JobInfo] = {}
        starving = QueuedJobs(ssn)
        for job in ssn.jobs.values():
            if job.is_pending() or is_invalid(ssn, job):
                continue
            if self._queues_by_name and job.queue not in walked:
                ssn.log("walked", job.queue, job.uid)
                walked[job.queue] = job
            if not ssn.ask_plugins(JOB_STARVING, job):
                continue
            if job.contains_network_topology() and not self._serves_topology:
                ssn.log("topology", job.uid, job.queue)
                continue
            jobs.setdefault(job.queue, []).append(job)
            starving.job_heap_of(job.queue).push(job)
            heaps[job.uid] = action.pending_tasks(ssn, job)
        for name in sorted({**walked, **jobs}):
            starving.job_heap_of(name)
            starving.queues.push(ssn.queues[name])
        return starving, heaps, jobs

    def _preempt_between_jobs(
        self, ssn: Session, helper: placement.PredicateHelper, job: JobInfo, tasks: PriorityQueue[TaskInfo]
    ) -> bool:
        """Preempt for one job; returns whether it is queued again: in older releases, if its last task found room."""
        statement = Statement(ssn)
        is_placed = False
        while ssn.ask_plugins(JOB_STARVING, job):
            if not tasks:
                ssn.log("no-task", job.uid)
                break
            task = tasks.pop()
            with ssn.open_span(Level.TASK, task.key):
                is_placed = self._preempt_for_task(ssn, helper, statement, task, self.victim_filter(ssn, job, task))
        if not ssn.ask_plugins(JOB_PIPELINED, job):
            statement.discard()
            return False
        statement.commit()
        return is_placed and self._requeues

    def _preempt_within_job(
        self, ssn: Session, helper: placement.PredicateHelper, job: JobInfo, heaps: TaskHeaps
    ) -> None:
        """Preempt within the job: each task has its own statement; the first task without room ends the job."""
        # A new heap: the first phase has popped tasks from the other one.
        tasks = action.pending_tasks(ssn, job)
        if self._shares_tasks:
            heaps[job.uid] = tasks
        while tasks:
            task = tasks.pop()
            statement = Statement(ssn)
            with ssn.open_span(Level.TASK, task.key):
                is_placed = self._preempt_for_task(
                    ssn, helper, statement, task, self.victim_filter(ssn, job, task, within=True)
                )
                if is_placed or self._commits_failures:
                    statement.commit()
                else:
                    statement.discard()
                if not is_placed:
                    return

    def _preempt_for_task(
        self,
        ssn: Session,
        helper: placement.PredicateHelper,
        statement: Statement,
        task: TaskInfo,
        skip_rule: action.CandidateFilter,
    ) -> bool:
        """Preempt for one task, group by group; returns whether it found room. Upstream: actions/preempt.preempt."""
        if task.pod.preemption_policy == NEVER_POLICY or (self._heeds_nomination and _is_about_to_fit(ssn, task)):
            ssn.log("never" if task.pod.preemption_policy == NEVER_POLICY else "failed", task.key)
            return False
        if ssn.ask_plugins(PRE_PREDICATE, task) is not None:
            ssn.log("failed", task.key)
            return False
        feasible, _ = helper.predicate_nodes(
            task, placement.filter_out_unresolvable(ssn, task), placement.predicate_for_preempt_action
        )
        for group in placement.shard_groups(ssn, feasible):
            if self.topology_aware is not None:
                shared = self._shares_statement
                is_placed = self.topology_aware.preempt_for_task(ssn, statement, task, group, skip_rule, shared=shared)
            else:
                is_placed = self._preempt_normal(ssn, statement, task, group, skip_rule)
            if is_placed:
                return True
        if self.topology_aware is not None:
            ssn.log("no-candidates", task.key)
        return False

    def _preempt_normal(
        self, ssn: Session, statement: Statement, task: TaskInfo, nodes: NodeRows, skip_rule: action.CandidateFilter
    ) -> bool:
        """Upstream: actions/preempt.normalPreempt."""
        for node in sort_nodes(ssn, task, prioritize_nodes(ssn, task, nodes)):
            with ssn.open_span(Level.NODE, node.name):
                if self._preempt_on_node(ssn, statement, task, node, skip_rule):
                    return True
        return False

    def _preempt_on_node(
        self, ssn: Session, statement: Statement, task: TaskInfo, node: NodeInfo, skip_rule: action.CandidateFilter
    ) -> bool:
        ssn.log("node", task.key, node.name)
        ssn.draws.count_preempt(task.key, node.name)
        victims = ssn.ask_plugins(PREEMPTABLE, task, action.candidates_on(ssn, node, skip_rule)) or []
        if not action.validate_victims(ssn, task, node, victims):
            return False
        return self._make_room(ssn, statement, task, node, action.copy_tasks(victims))


def _evict_victim_tasks(ssn: Session) -> None:
    """Evict the tasks that plugins name, for no preemptor. Upstream: actions/preempt (v1.11: victimTasks)."""
    victims = {victim.uid: victim for victim in ssn.ask_plugins(VICTIM_TASKS, [])}
    statement = Statement(ssn)
    # Upstream iterates over a map: the session's order replaces Go's random one.
    for uid in ssn.cluster.ordering.order_keys(victims):
        statement.evict(victims[uid].clone(), NAMED_REASON)
    statement.commit()


def _basic_skip_reason(preemptor: TaskInfo, victim: TaskInfo) -> str:
    if not is_preemptable_status(victim.status):
        return action.NOT_RUNNING
    if not victim.preemptable:
        return action.NOT_PREEMPTABLE
    return action.ASKS_NOTHING if preemptor.best_effort and not victim.best_effort else ""


def skip_reason_between_jobs(jobs: Mapping[JobId, JobInfo], job: JobInfo, preemptor: TaskInfo, victim: TaskInfo) -> str:
    """The rule that excludes a task as victim when preempting between jobs; empty for a candidate."""
    rule = _basic_skip_reason(preemptor, victim)
    if rule:
        return rule
    owner = jobs.get(victim.job)
    if owner is None:
        return action.NO_JOB
    if owner.queue != job.queue:
        return action.OTHER_QUEUE
    return action.SAME_JOB if victim.job == preemptor.job else ""


def skip_reason_within_job(jobs: Mapping[JobId, JobInfo], job: JobInfo, preemptor: TaskInfo, victim: TaskInfo) -> str:
    """The rule that excludes a task as victim when preempting within a job; empty for a candidate."""
    rule = _basic_skip_reason(preemptor, victim)
    if rule:
        return rule
    if victim.job not in jobs:
        return action.NO_JOB
    return "" if victim.job == preemptor.job else action.OTHER_JOB


def _is_about_to_fit(ssn: Session, task: TaskInfo) -> bool:
    """Whether the nominated node has room, now or soon, or is gone. Upstream: actions/preempt.taskEligibleToPreempt."""
    nominated = task.pod.nominated_node_name
    if not nominated:
        return False
    node = ssn.nodes.get(nominated)
    if node is None:
        return True
    code = placement.predicate_node(ssn, task, node)
    if code == 0:
        return True
    if any(s.code == UNSCHEDULABLE_AND_UNRESOLVABLE for s in ssn.reasons.statuses_of(code)):
        return False
    return any(_terminating_for(task, other) for other in node.tasks_in_order())


def _terminating_for(preemptor: TaskInfo, other: TaskInfo) -> bool:
    """Whether preemption is already removing this lower pod. Upstream: actions/preempt.podTerminatingByPreemption."""
    if not other.pod.deleting or (other.pod.priority or 0) >= (preemptor.pod.priority or 0):
        return False
    target = find_condition(other.pod.status, "DisruptionTarget")
    return bool(target.get("status") == "True" and target.get("reason") == "PreemptionByScheduler")


# How preempt makes room on a node: the test that ends the evictions, and the statement that holds them.

EVICTION_REASON, NAMED_REASON = "preempt", "evict"

VictimQueue = PriorityQueue["TaskInfo"]
Evictor = Callable[["Session", Statement, VictimQueue, "TaskInfo", "NodeInfo"], bool]
"""Function that evicts victims one by one and returns whether the task then fits."""
RoomMaker = Callable[["Session", Statement, "TaskInfo", "NodeInfo", Sequence["TaskInfo"]], bool]
"""Function that evicts and pipelines on one node and returns whether the task found room."""


def room_maker(ssn: Session) -> RoomMaker:
    """The function that makes room on a node, in the form of this release."""
    has_older_form = ssn.release.has_older_form
    evicting = _until_size_fits if has_older_form(scheduling.PREEMPT_NO_PREDICATE_RECHECK) else _until_predicates_agree
    make = _in_shared_statement if has_older_form(scheduling.PREEMPT_SHARED_STATEMENT) else _evict_in_own_statement
    return partial(make, evicting=evicting)


def _evict_in_own_statement(
    ssn: Session, statement: Statement, task: TaskInfo, node: NodeInfo, victims: Sequence[TaskInfo], evicting: Evictor
) -> bool:
    """Evict in a statement of its own, which is discarded if the task does not fit."""
    trial = Statement(ssn)
    fits = evicting(ssn, trial, build_victims_queue(ssn, victims, task), task, node)
    frees = _frees_something(ssn, trial, 0, task)
    if not fits or trial.pipeline(task, node.name, eviction=frees) is not None:
        trial.discard()
        return False
    statement.merge(trial)
    return True


def _in_shared_statement(
    ssn: Session, statement: Statement, task: TaskInfo, node: NodeInfo, victims: Sequence[TaskInfo], evicting: Evictor
) -> bool:
    """Evict in the job's statement, never undone here; returns whether the task fits, even if pipelining fails."""
    begin = len(statement)
    fits = evicting(ssn, statement, build_victims_queue(ssn, victims, task), task, node)
    frees = _frees_something(ssn, statement, begin, task)
    if fits:
        statement.pipeline(task, node.name, eviction=frees)
    return fits


def _until_predicates_agree(
    ssn: Session, statement: Statement, heap: VictimQueue, task: TaskInfo, node: NodeInfo
) -> bool:
    fits = _has_room(ssn, task, node) and placement.predicate_node(ssn, task, node) == 0
    while heap and not fits:
        _evict_victim(ssn, statement, heap.pop(), task)
        fits = _has_room(ssn, task, node) and placement.predicate_node(ssn, task, node) == 0
    return fits


def _until_size_fits(ssn: Session, statement: Statement, heap: VictimQueue, task: TaskInfo, node: NodeInfo) -> bool:
    """Evict until the resources suffice; upstream tests once more after the loop."""
    while heap and not _has_room(ssn, task, node):
        _evict_victim(ssn, statement, heap.pop(), task)
    return _has_room(ssn, task, node)


def _has_room(ssn: Session, task: TaskInfo, node: NodeInfo) -> bool:
    """Whether the queue may take the task and FutureIdle holds it. Upstream: actions/preempt.preemptorFitsOnNode."""
    queue = ssn.queues[ssn.jobs[task.job].queue]
    return ssn.ask_plugins(ALLOCATABLE, queue, task) and node.fits_future_idle(task.init_resreq)


def _evict_victim(ssn: Session, statement: Statement, victim: TaskInfo, task: TaskInfo) -> None:
    ssn.log("victim", victim.key, task.key)
    statement.evict(victim, EVICTION_REASON)


def _frees_something(ssn: Session, statement: Statement, since: int, task: TaskInfo) -> bool:
    """Whether the tasks evicted on this node requested anything."""
    freed = Resource().add_all(operation.task.resreq for operation in statement.operations[since:])
    ssn.log("sum", freed, task.key, task.init_resreq)
    return len(statement) > since and not freed.is_empty()
