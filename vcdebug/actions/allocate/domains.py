"""allocate for jobs with hard topology or sub groups: a dry run per hypernode, then the best dry run is applied.

Upstream: actions/allocate (allocateForJob, allocateForSubJob, allocateFromNomination), actions/allocate (recorder).
"""

import numpy as np
from msgspec import Struct

from vcdebug.actions.allocate.tasks import TaskPlacement, is_ready, place_task
from vcdebug.framework import hooks
from vcdebug.framework.order import PriorityQueue, Worksheet
from vcdebug.framework.placement import PredicateHelper, allocate_judge
from vcdebug.framework.record import BestEvent
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.hyper_nodes import TOP_HYPER_NODE
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, SubJobId
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo
from vcdebug.releases.scheduling import SUBGROUP_WITHOUT_HARD

ALLOCATE_PURPOSE = 0


class Solution(Struct, frozen=True):
    """The result of a successful dry run in one hypernode: saved operations, remaining work, and score."""

    statement: Statement
    worksheet: Worksheet
    score: float


class DomainDecisions:
    """The hypernodes chosen during the action, per job and sub job; they are set on the job at a commit.
    Upstream: actions/allocate/recorder.NewRecorder.
    """

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._jobs: dict[JobId, str] = {}
        self._sub_jobs: dict[tuple[JobId, str], dict[SubJobId, str]] = {}

    def save_job_decision(self, job: JobInfo, hyper_node: str) -> None:
        """Save the hypernode chosen for the job in this visit. Upstream: actions/allocate/recorder.SaveJobDecision."""
        self._jobs[job.uid] = hyper_node

    def save_sub_job_decision(self, job: JobInfo, hyper_node: str, sub_job: SubJobInfo) -> None:
        """Save a sub job's hypernode within the job's. Upstream: actions/allocate/recorder.SaveSubJobDecision."""
        self._sub_jobs.setdefault((job.uid, hyper_node), {})[sub_job.uid] = sub_job.allocated_hyper_node

    def update_decision_to_job(self, job: JobInfo) -> None:
        """Widen the hypernodes of the job and its sub jobs by the saved ones, earlier visits included.
        Upstream: actions/allocate/recorder.UpdateDecisionToJob.
        """
        decided = self._jobs.get(job.uid, "")
        if not decided:
            return
        tree = self._ssn.hyper_nodes
        old = job.allocated_hyper_node
        job.allocated_hyper_node = tree.get_lca_hyper_node(old, decided)
        if old != job.allocated_hyper_node:
            self._ssn.log("recorder.job", job.uid, old, job.allocated_hyper_node)
        for uid, hyper_node in sorted(self._sub_jobs.get((job.uid, decided), {}).items()):
            sub_job = job.sub_jobs.get(uid)
            if sub_job is not None:
                old = sub_job.allocated_hyper_node
                sub_job.allocated_hyper_node = tree.get_lca_hyper_node(old, hyper_node)
                if old != sub_job.allocated_hyper_node:
                    self._ssn.log("recorder.sub-job", uid, old, sub_job.allocated_hyper_node)
                sub_job.nominated_hyper_node = ""


class DomainSearch:
    """Tries hypernodes row by row; the first row with a solution decides."""

    def __init__(self, ssn: Session, placement: TaskPlacement) -> None:
        self._ssn = ssn
        self._placement = placement
        self.decisions = DomainDecisions(ssn)

    def allocate_job(self, job: JobInfo, worksheet: Worksheet, hyper_node: str) -> Statement | None:
        """Apply the dry run of the best hypernode to `worksheet`. Upstream: actions/allocate.allocateForJob."""
        self._ssn.log("domains", job.queue, job.uid, job.allocated_hyper_node, len(worksheet.sub_jobs))
        if worksheet.empty:
            return None
        old = {sub_job.uid: sub_job.allocated_hyper_node for sub_job in job.sub_jobs.values()}
        gradients = self._ssn.ask_plugins(hooks.HYPER_NODE_GRADIENT_FOR_JOB, job, hyper_node, ALLOCATE_PURPOSE)
        for gradient, row in enumerate([[hyper_node]] if gradients is None else gradients):
            solutions: dict[str, Solution] = {}
            for candidate in self._ssn.draws.job_domains.next_row(job.uid, row):
                solution = self._try_job(job, worksheet.clone(), candidate, old)
                if solution is not None:
                    solutions[candidate] = solution
            if solutions:
                return self._recover_best(job, worksheet, solutions)
            self._ssn.log("domain-fail", job.uid, gradient)
        self._ssn.log("job-fail", job.uid)
        return None

    def _try_job(self, job: JobInfo, trial: Worksheet, hyper_node: str, old: dict[SubJobId, str]) -> Solution | None:
        ssn = self._ssn
        ssn.log("domain", job.uid, hyper_node)
        job.reset_fit_errors()
        statements: list[Statement] = []
        total = 0.0
        while not trial.empty:
            sub_job = trial.sub_jobs.pop()
            statement, score = self._allocate_sub_job(job, sub_job, trial, hyper_node)
            if statement is None or not len(statement):
                continue
            statements.append(statement)
            total += score
            if trial.tasks[sub_job.uid]:
                trial.sub_jobs.push(sub_job)
            if ssn.ask_plugins(hooks.JOB_READY, job):
                break
        # The dry run changed the hypernodes of sub jobs: restore them for the next hypernode.
        for uid, value in old.items():
            job.sub_jobs[uid].allocated_hyper_node = value
        if not statements:
            return None
        saved = Statement.save_operations(ssn, *statements)
        # Must be asked before the discards, while the placements are in effect.
        solved = ssn.ask_plugins(hooks.JOB_READY, job) or ssn.ask_plugins(hooks.JOB_PIPELINED, job)
        for statement in statements:
            statement.discard()
        return Solution(saved, trial, total) if solved else None

    def _recover_best(self, job: JobInfo, worksheet: Worksheet, solutions: dict[str, Solution]) -> Statement | None:
        """Upstream: actions/allocate.selectBestHyperNodeForJob."""
        best, best_score = "", -np.inf
        # Upstream iterates over a map: among equal scores, the first in the session's order wins.
        for name in self._ssn.cluster.ordering.order_keys(solutions):
            if solutions[name].score > best_score:
                best, best_score = name, solutions[name].score
        if not best:
            return None
        statement = Statement(self._ssn)
        if statement.recover_operations(solutions[best].statement) is not None:
            return None
        worksheet.shallow_copy_from(solutions[best].worksheet)
        self.decisions.save_job_decision(job, best)
        self._ssn.log("domain-success", job.uid, best)
        return statement

    def _allocate_sub_job(
        self, job: JobInfo, sub_job: SubJobInfo, worksheet: Worksheet, hyper_node: str
    ) -> tuple[Statement | None, float]:
        """Upstream: actions/allocate.allocateForSubJob."""
        ssn, tasks = self._ssn, worksheet.tasks[sub_job.uid]
        if not tasks:
            return None, 0.0
        allocated, nominated = sub_job.allocated_hyper_node, sub_job.nominated_hyper_node
        ssn.log("sub-job", job.uid, sub_job.uid, allocated, nominated, len(tasks))
        if nominated:
            statement = allocate_from_nomination(ssn, self._placement, job, sub_job, tasks)
            if statement is not None:
                self.decisions.save_sub_job_decision(job, hyper_node, sub_job)
                return statement, 0.0
        gradients = ssn.ask_plugins(hooks.HYPER_NODE_GRADIENT_FOR_SUB_JOB, sub_job, hyper_node, ALLOCATE_PURPOSE)
        for gradient, row in enumerate([[hyper_node]] if gradients is None else gradients):
            solutions = self._try_sub_job(job, sub_job, tasks, row)
            if solutions:
                return self._recover_sub_job(job, sub_job, worksheet, hyper_node, solutions)
            ssn.log("sub-job-row", sub_job.uid, gradient)
        ssn.log("sub-job-fail", sub_job.uid)
        return None, 0.0

    def _try_sub_job(
        self, job: JobInfo, sub_job: SubJobInfo, tasks: PriorityQueue[TaskInfo], row: list[str]
    ) -> dict[str, tuple[Statement, PriorityQueue[TaskInfo]]]:
        """Dry-run every hypernode of the row, even after a success: hypernode → (saved operations, tasks left)."""
        solutions: dict[str, tuple[Statement, PriorityQueue[TaskInfo]]] = {}
        for candidate in self._ssn.draws.sub_job_domains.next_row(sub_job.uid, row):
            self._ssn.log("tasks", job.uid, sub_job.uid, len(tasks), candidate)
            job.reset_sub_job_fit_errors(sub_job)
            leftover = tasks.clone()
            statement = self._placement.allocate_tasks(job, sub_job, leftover, candidate)
            if statement is not None and len(statement):
                saved = Statement.save_operations(self._ssn, statement)
                solutions[candidate] = (saved, leftover)
                statement.discard()
        return solutions

    def _recover_sub_job(
        self,
        job: JobInfo,
        sub_job: SubJobInfo,
        worksheet: Worksheet,
        hyper_node: str,
        solutions: dict[str, tuple[Statement, PriorityQueue[TaskInfo]]],
    ) -> tuple[Statement | None, float]:
        best, score = self._best_hyper_node(sub_job, sorted(solutions))
        if not best:
            return None, 0.0
        saved, leftover = solutions[best]
        statement = Statement(self._ssn)
        if statement.recover_operations(saved) is not None:
            return None, 0.0
        sub_job.allocated_hyper_node = self._ssn.hyper_nodes.get_lca_hyper_node(sub_job.allocated_hyper_node, best)
        worksheet.tasks[sub_job.uid] = leftover
        self.decisions.save_sub_job_decision(job, hyper_node, sub_job)
        self._ssn.log("sub-job-success", sub_job.uid, best, score, sub_job.allocated_hyper_node)
        return statement, score

    def _best_hyper_node(self, sub_job: SubJobInfo, candidates: list[str]) -> tuple[str, float]:
        """(the hypernode with the highest sum of the plugins' scores, that sum); the first one if several are equal.
        Upstream: actions/allocate.selectBestHyperNodeForSubJob, util/scheduler_helper.SelectBestHyperNodeAndScore.
        """
        ssn = self._ssn
        nodes = {name: rows.node_names for name in candidates if (rows := ssn.hyper_node_rows(name)) is not None}
        answers = ssn.ask_plugins(hooks.HYPER_NODE_ORDER, sub_job, nodes)
        totals = dict.fromkeys(candidates, 0.0)
        # In a fixed order of plugins: summing floats in another order could change the last bit.
        for plugin in sorted(answers):
            for name, score in sorted(answers[plugin].items()):
                if name in totals:
                    totals[name] = totals[name] + score
                    ssn.log("score.plugin", sub_job.uid, plugin, name, score)
        ssn.log("score.domains", sub_job.uid, totals)
        best = max(totals.values())
        tied = tuple(name for name in candidates if totals[name] == best)
        if not tied:
            return "", 0.0
        tasks = sub_job.tasks.values()
        chosen = tied[ssn.draws.draw_domain([nodes.get(name, ()) for name in tied], [task.key for task in tasks])]
        ssn.record.append(BestEvent("hypernode", chosen, best, tied))
        return chosen, best


def tries_hyper_nodes(ssn: Session, job: JobInfo) -> bool:
    """Whether the action tries hypernodes for the job, because of hard topology or sub groups."""
    if job.contains_hard_topology():
        return True
    return bool(job.pod_group.sub_group_policies) and not ssn.release.has_older_form(SUBGROUP_WITHOUT_HARD)


def allocate_in_domains(ssn: Session, domains: DomainSearch, job: JobInfo, worksheet: Worksheet) -> bool:
    """Allocate by hypernodes; returns whether the job is queued again. Upstream: actions/allocate.allocateForJob."""
    statement = domains.allocate_job(job, worksheet, TOP_HYPER_NODE)
    if statement is None or not is_ready(ssn, job, statement):
        return False
    statement.commit()
    ssn.mark_job_dirty(job)
    domains.decisions.update_decision_to_job(job)
    return not worksheet.empty


# The fast path of a sub job with a nominated hypernode, set by a gang action earlier in this session.

Placements = list[tuple[TaskInfo, NodeInfo]]


def allocate_from_nomination(
    ssn: Session, placement: TaskPlacement, job: JobInfo, sub_job: SubJobInfo, tasks: PriorityQueue[TaskInfo]
) -> Statement | None:
    """Place all tasks on their nominated nodes; returns None and drops the nomination if one does not fit.
    Upstream: actions/allocate.allocateFromNomination.
    """
    nodes = ssn.hyper_node_rows(sub_job.nominated_hyper_node)
    statement: Statement | None = None
    if nodes is not None and len(nodes):
        # All tasks are validated before any is placed, as upstream does: two may both pass for room for one.
        placements = _validate_nomination(ssn, job, nodes, tasks.clone(), placement.error_cache)
        if placements is not None:
            statement = _place_nominated(ssn, sub_job, placements)
    if statement is None:
        _invalidate_nomination(sub_job, tasks)
        return None
    while tasks:
        tasks.pop()
    nominated = sub_job.nominated_hyper_node
    sub_job.allocated_hyper_node = ssn.hyper_nodes.get_lca_hyper_node(sub_job.allocated_hyper_node, nominated)
    return statement


def _validate_nomination(
    ssn: Session, job: JobInfo, nodes: NodeRows, tasks: PriorityQueue[TaskInfo], error_cache: bool
) -> Placements | None:
    """Upstream: actions/allocate.validateNomination."""
    helper = PredicateHelper(ssn, cache_on=error_cache)
    placements: Placements = []
    while tasks:
        task = tasks.pop()
        if not ssn.ask_plugins(hooks.ALLOCATABLE, ssn.queues[job.queue], task):
            return None
        node = ssn.nodes.get(task.pod.nominated_node_name)
        if node is None:
            return None
        alone = nodes.select_where(nodes.rows == node.row)
        if not len(alone) or ssn.ask_plugins(hooks.PRE_PREDICATE, task) is not None:
            return None
        feasible, _ = helper.predicate_nodes(task, alone, allocate_judge)
        if not len(feasible):
            return None
        placements.append((task, node))
    return placements


def _place_nominated(ssn: Session, sub_job: SubJobInfo, placements: Placements) -> Statement | None:
    statement = Statement(ssn)
    for task, node in placements:
        if sub_job.with_network_topology():
            task.job_allocated_hyper_node = sub_job.nominated_hyper_node
        if place_task(ssn, statement, task, node) is not None:
            statement.discard()
            return None
    return statement


def _invalidate_nomination(sub_job: SubJobInfo, tasks: PriorityQueue[TaskInfo]) -> None:
    """Upstream: actions/allocate.invalidateSubJobNomination."""
    sub_job.nominated_hyper_node = ""
    pending = tasks.clone()
    while pending:
        pending.pop().pod.nominated_node_name = ""
