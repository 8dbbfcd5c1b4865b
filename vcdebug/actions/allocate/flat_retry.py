"""allocate before worksheets: a job with tasks left is queued again, even if its gang failed.

Upstream: actions/allocate (v1.13: allocateResourcesForTasks, allocateResourceForTasksWithTopology).
"""

import json
from functools import partial
from typing import NamedTuple

from vcdebug.actions.allocate.domains import DomainSearch, allocate_in_domains, tries_hyper_nodes
from vcdebug.actions.allocate.tasks import (
    TaskPlacement,
    TaskVisit,
    is_placeable,
    not_admitted,
    note_open_statement,
    place_task,
    take_turns,
)
from vcdebug.errors import NIL_POINTER_TEXT, SchedulerPanic
from vcdebug.framework.action import Action, QueuedJobs, is_invalid
from vcdebug.framework.hooks import HYPER_NODE_ORDER, JOB_PIPELINED, JOB_READY
from vcdebug.framework.order import PriorityQueue, Worksheet, build_worksheet, task_queue
from vcdebug.framework.placement import PredicateHelper
from vcdebug.framework.record import BestEvent, Level
from vcdebug.framework.registry import ActionFacts
from vcdebug.framework.scoring import best_with_score
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.hyper_nodes import TOP_HYPER_NODE
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows
from vcdebug.model.pod_group import hard_tier_of
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.releases.nodes import BEST_ABOVE_MINUS_ONE
from vcdebug.releases.scheduling import (
    ALLOCATE_TOPOLOGY_TIERS,
    BEST_NODE_NEEDED,
    HYPERNODE_SUM_OF_NODE_SCORES,
    NTA_SOFT_ONLY,
    REQUEUE_WHEN_READY,
)


class RetryingAllocate(Action):
    """The older form: a job has one heap of tasks for the whole action; a task that was tried is not tried again."""

    name = "allocate"
    facts = ActionFacts(places=True)

    def execute(self, ssn: Session) -> None:
        """Upstream: actions/allocate.Execute."""
        self._runs = TaskRuns(ssn, error_cache=self.error_cache)
        self._needs_ready = ssn.release.has_older_form(REQUEUE_WHEN_READY)
        self._tiers = TierSearch(ssn, self._runs) if ssn.release.has_older_form(ALLOCATE_TOPOLOGY_TIERS) else None
        self._domains = DomainSearch(ssn, TaskPlacement(ssn, error_cache=self.error_cache))
        self._worksheets: dict[JobId, Worksheet] = {}
        self._tasks: dict[JobId, PriorityQueue[TaskInfo]] = {}
        queued = self._build_allocate_context(ssn)
        take_turns(ssn, queued, partial(self._allocate_resources, ssn, queued), "turn")

    def _build_allocate_context(self, ssn: Session) -> QueuedJobs:
        """Queues all valid jobs, even without pending tasks. Upstream: actions/allocate.buildAllocateContext."""
        queued = QueuedJobs(ssn)
        for job in ssn.jobs.values():
            if not not_admitted(ssn, job) and not is_invalid(ssn, job):
                queued.add_job(ssn.queues[job.queue], job)
        ssn.log("try", len(queued.jobs))
        return queued

    def _allocate_resources(self, ssn: Session, queued: QueuedJobs, queue: QueueInfo) -> None:
        """Upstream: actions/allocate.allocateResources."""
        job = queued.jobs[queue.name].pop()
        with ssn.open_span(Level.JOB, job.uid):
            if self._ends_queue_turn(ssn, job):
                return
            goes_back = self._allocate_job(ssn, job)
        if goes_back:
            queued.jobs[queue.name].push(job)
        queued.queues.push(queue)

    def _ends_queue_turn(self, ssn: Session, job: JobInfo) -> bool:
        """Whether the job needs hard topology while the tree is not ready: the queue then gets no further turn."""
        if self._tiers is None or ssn.hyper_nodes.ready or hard_tier_of(job.network_topology) is None:
            return False
        tasks = self._tasks_of(ssn, job)
        if tasks:
            ssn.log("rest", len(tasks), job.uid)
            ssn.log("unready", job.uid)
        return bool(tasks)

    def _allocate_job(self, ssn: Session, job: JobInfo) -> bool:
        """Allocate one job; returns whether it goes back into its queue."""
        if self._tiers is None and tries_hyper_nodes(ssn, job):
            if job.uid not in self._worksheets:
                self._worksheets[job.uid] = build_worksheet(ssn, job, partial(is_placeable, ssn))
            worksheet = self._worksheets[job.uid]
            return not worksheet.empty and allocate_in_domains(ssn, self._domains, job, worksheet)
        tasks = self._tasks_of(ssn, job)
        if not tasks:
            return False
        ssn.log("rest", len(tasks), job.uid)
        highest = hard_tier_of(job.network_topology)
        if self._tiers is not None and highest is not None:
            statement, remaining = self._tiers.allocate_in_tiers(job, tasks, highest)
        else:
            statement, remaining = self._runs.allocate_tasks(job, tasks), tasks
        if statement is not None:
            statement.commit()
        self._tasks[job.uid] = remaining or tasks
        return bool(remaining) and (self._runs.ended_ready or not self._needs_ready)

    def _tasks_of(self, ssn: Session, job: JobInfo) -> PriorityQueue[TaskInfo]:
        if job.uid not in self._tasks:
            pending = [task for task in job.tasks_with_status(TaskStatus.PENDING) if is_placeable(ssn, task)]
            self._tasks[job.uid] = task_queue(ssn).extend(pending)
        return self._tasks[job.uid]


# Runs of the older allocate over a job's remaining tasks, on all nodes or on those of one HyperNode.


class TaskRuns:
    """All runs of an action, with the summed scores of the chosen nodes."""

    def __init__(self, ssn: Session, *, error_cache: bool) -> None:
        self._ssn = ssn
        self._error_cache = error_cache
        self.score_sums: dict[tuple[JobId, str], float] = {}
        """(job, HyperNode) → the sum of the scores of the nodes chosen there."""
        self.ended_ready = False
        """Whether the last run ended because the job became ready."""

    def allocate_tasks(self, job: JobInfo, tasks: PriorityQueue[TaskInfo], hyper_node: str = "") -> Statement | None:
        """The statement (possibly empty) if the job ends ready, else None; a pipelined job's statement stays open.
        Upstream: actions/allocate.allocateResourcesForTasks.
        """
        ssn = self._ssn
        nodes = ssn.hyper_node_rows(hyper_node) if hyper_node else ssn.all_rows()
        assert nodes is not None
        statement = Statement(ssn)
        visit = RetryingVisit(ssn, job, nodes, PredicateHelper(ssn, cache_on=self._error_cache), statement)
        visit.score = self.score_sums.get((job.uid, hyper_node), 0.0)
        visit.place_all(tasks)
        self.score_sums[job.uid, hyper_node] = visit.score
        self.ended_ready = visit.ended_ready
        if ssn.ask_plugins(JOB_READY, job):
            ssn.log("job-ready", job.uid)
            self._save_soft_hyper_node(job, visit.reached)
            return statement
        if not ssn.ask_plugins(JOB_PIPELINED, job):
            statement.discard()
        else:
            note_open_statement(ssn, job, statement)
        return None

    def _save_soft_hyper_node(self, job: JobInfo, reached: str) -> None:
        """Upstream: actions/allocate (v1.13: updateJobAllocatedHyperNode)."""
        if of_soft_topology(job):
            save_hyper_node(self._ssn, job, reached)


def of_soft_topology(job: JobInfo) -> bool:
    """Upstream: api/job_info.IsSoftTopologyMode."""
    return job.network_topology is not None and job.network_topology.mode == "soft"


def save_hyper_node(ssn: Session, job: JobInfo, hyper_node: str) -> None:
    """Set the job's HyperNode and mark the job for write-back at close."""
    if job.allocated_hyper_node != hyper_node:
        job.allocated_hyper_node = hyper_node
        ssn.mark_job_dirty(job)


class RetryingVisit(TaskVisit):
    """One pass over a job's remaining tasks."""

    def __init__(
        self, ssn: Session, job: JobInfo, nodes: NodeRows, helper: PredicateHelper, statement: Statement
    ) -> None:
        super().__init__(ssn, job, job.only_sub_job(), TOP_HYPER_NODE, nodes, helper, statement)
        self.reached = job.allocated_hyper_node
        """The HyperNode that holds the job, including the tasks placed in this visit."""
        self._shown_nodes = len(ssn.nodes)
        self._nears = (
            of_soft_topology(job) if ssn.release.has_older_form(NTA_SOFT_ONLY) else job.network_topology is not None
        )
        self.score = 0.0
        """The sum of the scores of all nodes chosen in this HyperNode."""
        self.ended_ready = False

    def try_task(self, task: TaskInfo) -> bool:
        """Try one task; returns False to end the loop. A task whose role failed before gets no fit error of its own."""
        if self._is_refused_by_queue(task):
            return True
        if self._job.task_has_fit_errors(self._of_roles, task):
            self._ssn.log("again", task.name, task.task_role)
            return True
        return self._search_node(task)

    def _place_on_best(self, task: TaskInfo, feasible: NodeRows) -> bool:
        """Place the task on its best node; returns False once the job is ready, even if the placement failed."""
        if self._nears:
            task.job_allocated_hyper_node = self.reached
        node, score = best_with_score(self._ssn, task, feasible)
        if node is None:
            if self._ssn.release.has_older_form(BEST_NODE_NEEDED):
                raise SchedulerPanic(NIL_POINTER_TEXT)
            return True
        self.score = self.score + score
        if place_task(self._ssn, self._statement, task, node) is None and self._nears:
            self._widen_hyper_node(node)
        self.ended_ready = self._ssn.ask_plugins(JOB_READY, self._job)
        return not self.ended_ready

    def _widen_hyper_node(self, node: NodeInfo) -> None:
        """Upstream: actions/allocate (v1.13: getJobNewAllocatedHyperNode)."""
        tree = self._ssn.hyper_nodes
        holder = tree.stated_for_node(node.name)
        if holder:
            self.reached = tree.stated_lca(holder, self.reached) if self.reached else holder


# Jobs with hard topology in the older allocate: a dry run in each HyperNode, from the lowest tier up.

WORST_SCORE = -1.0
"""In older releases a hypernode must score above this to be chosen."""


class TierSolution(NamedTuple):
    """A dry run in a HyperNode after which the job is ready."""

    statement: Statement
    remaining: PriorityQueue[TaskInfo]
    hyper_node: str
    """The HyperNode that then holds the whole job."""


class TierOutcome(NamedTuple):
    """The statement to commit, if any, and the remaining tasks."""

    statement: Statement | None = None
    remaining: PriorityQueue[TaskInfo] | None = None
    """The tasks for which the job is queued again."""


class TierSearch:
    """Searches tier by tier, from the lowest; the first tier with a HyperNode in which the job is ready decides."""

    def __init__(self, ssn: Session, runs: TaskRuns) -> None:
        self._ssn = ssn
        self._runs = runs
        self._score_sums = runs.score_sums if ssn.release.has_older_form(HYPERNODE_SUM_OF_NODE_SCORES) else {}

    def allocate_in_tiers(self, job: JobInfo, tasks: PriorityQueue[TaskInfo], highest: int) -> TierOutcome:
        """Apply the dry run of the best HyperNode again, on a new statement."""
        ssn = self._ssn
        solutions: dict[str, TierSolution] = {}
        for tier in ssn.hyper_nodes.stated_tiers():
            if tier > highest:
                ssn.log("tier-over", job.uid, highest, tier)
                break
            if solutions:
                ssn.log("tier-enough", tier)
                break
            solutions = self._in_tier(job, tasks, tier, highest)
        if solutions:
            return self._recover_best(job, solutions)
        ssn.log("tier-none", job.uid)
        return TierOutcome()

    def _in_tier(
        self, job: JobInfo, tasks: PriorityQueue[TaskInfo], tier: int, highest: int
    ) -> dict[str, TierSolution]:
        ssn = self._ssn
        solutions: dict[str, TierSolution] = {}
        names = ssn.cluster.ordering.order_keys(ssn.hyper_nodes.tiers[tier])
        holders = {name: holds for name in names if (holds := self._common_hyper_node(job, name, tier, highest))}
        for name in ssn.draws.job_domains.next_row(job.uid, list(holders)):
            # Reset per HyperNode: only the fit errors of the last one stay on the job.
            job.reset_fit_errors()
            ssn.log("tier-try", job.uid, name, tier)
            remaining = task_queue(ssn).extend(tasks)
            statement = self._runs.allocate_tasks(job, remaining, name)
            if statement is None:
                ssn.log("tier-refused", job.uid, name, tier)
            elif not len(statement):
                ssn.log("tier-nothing", job.uid, name, tier)
            else:
                solutions[name] = TierSolution(Statement.save_operations(ssn, statement), remaining, holders[name])
                statement.discard()
        return solutions

    def _common_hyper_node(self, job: JobInfo, name: str, tier: int, highest: int) -> str:
        """The lowest HyperNode that contains the job's and this one; empty if this one is not tried."""
        ssn, allocated = self._ssn, job.allocated_hyper_node
        tree = ssn.hyper_nodes
        if not tree.by_name[name].has_members():
            ssn.log("tier-missing", job.uid, name, tier)
            return ""
        if not allocated:
            return name
        common = tree.stated_lca(name, allocated)
        ssn.log("tier-common", job.uid, name, allocated, tier, common)
        if common not in tree.by_name:
            return ""
        if tree.by_name[common].tier <= highest:
            return common
        ssn.log("tier-high", job.uid, highest, tree.by_name[common].tier)
        return ""

    def _recover_best(self, job: JobInfo, solutions: dict[str, TierSolution]) -> TierOutcome:
        """Upstream: actions/allocate (v1.13: selectBestHyperNode)."""
        ssn = self._ssn
        first = ssn.hyper_nodes.by_name[next(iter(solutions))]
        ssn.log("tier-found", job.uid, first.tier, json.dumps(list(solutions), separators=(",", ":")))
        best = self._best_hyper_node(job, list(solutions)) if len(solutions) > 1 else next(iter(solutions))
        if not best:
            return TierOutcome()
        saved, remaining, holds = solutions[best]
        statement = Statement(ssn)
        recovered = statement.recover_operations(saved) is None
        if recovered:
            ssn.log("tier-best", job.uid, best)
        save_hyper_node(ssn, job, holds)
        return TierOutcome(statement if recovered else None, remaining or None)

    def _best_hyper_node(self, job: JobInfo, names: list[str]) -> str:
        """The HyperNode with the highest sum of plugin scores and node scores; empty if no sum is high enough.
        Upstream: util/scheduler_helper.SelectBestHyperNodeAndScore.
        """
        ssn = self._ssn
        names = ssn.cluster.ordering.order_keys(names)
        nodes = {name: rows.node_names for name in names if (rows := ssn.hyper_node_rows(name)) is not None}
        answers = ssn.ask_plugins(HYPER_NODE_ORDER, job.only_sub_job(), nodes)
        totals = dict.fromkeys(names, 0.0)
        for plugin in sorted(answers):
            for name, score in sorted(answers[plugin].items()):
                totals[name] = totals[name] + score
        totals = {name: total + self._score_sums.get((job.uid, name), 0.0) for name, total in totals.items()}
        best = max(totals.values())
        if best <= WORST_SCORE and ssn.release.has_older_form(BEST_ABOVE_MINUS_ONE):
            return ""
        tied = tuple(name for name in names if totals[name] == best)
        chosen = tied[ssn.draws.draw_domain([nodes[name] for name in tied], [task.key for task in job.tasks.values()])]
        ssn.record.append(BestEvent("hypernode", chosen, best, tied))
        return chosen
