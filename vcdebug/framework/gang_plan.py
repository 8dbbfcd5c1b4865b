"""Dry runs of the gang actions: evict victims in a domain, place the whole gang, and save the result as a plan.

Upstream: actions/utils (simulate.go, util.go).
"""

import numpy as np
from msgspec import Struct

from vcdebug.framework import hooks
from vcdebug.framework.order import Worksheet, build_worksheet
from vcdebug.framework.placement import PredicateHelper, filter_out_unresolvable, gang_judge
from vcdebug.framework.record import Level
from vcdebug.framework.scoring import best_node
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.job import JobInfo
from vcdebug.model.names import SubJobId
from vcdebug.model.node_table import NodeRows
from vcdebug.model.queue import QueueInfo
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo

EVICT_PURPOSE = 1


class GangPlan(Struct, frozen=True):
    """The saved operations that make a job pipelined, and the hypernode of each sub job."""

    statement: Statement
    hyper_nodes: dict[SubJobId, str]


def eviction_worksheet(ssn: Session, job: JobInfo) -> Worksheet:
    """Pending tasks, not gated or best-effort, to place. Upstream: actions/utils/simulate.organizeEvictionWorksheet."""
    return build_worksheet(ssn, job, lambda task: not task.sch_gated and not task.resreq.is_empty())


def pending_for_eviction(ssn: Session, job: JobInfo) -> list[TaskInfo]:
    """The pending tasks to evict for: of a ready job only those of its first sub job, otherwise all.
    Upstream: actions/utils/simulate.CollectPendingTasksForGangEviction.
    """
    ready = ssn.ask_plugins(hooks.JOB_READY, job)
    worksheet = eviction_worksheet(ssn, job)
    pending: list[TaskInfo] = []
    while not worksheet.empty:
        tasks = worksheet.tasks[worksheet.sub_jobs.pop().uid]
        while tasks:
            pending.append(tasks.pop())
        if ready:
            break
    return pending


class GangPlanner:
    """Makes eviction plans for one job."""

    def __init__(self, ssn: Session, queue: QueueInfo, job: JobInfo, reason: str, *, error_cache: bool) -> None:
        self._ssn = ssn
        self._queue = queue
        self._job = job
        self._reason = reason
        self._error_cache = error_cache

    def build_nomination_plan(self, domain: str, victims: list[TaskInfo]) -> GangPlan | None:
        """A plan that makes the job pipelined in this domain, or None. The session is restored afterwards.
        Upstream: actions/utils/simulate.BuildNominationPlanInDomain.
        """
        ssn = self._ssn
        worksheet = eviction_worksheet(ssn, self._job)
        if worksheet.empty:
            return None
        was_ready = ssn.ask_plugins(hooks.JOB_READY, self._job)
        chain = [Statement(ssn)] if victims else []
        for victim in victims:
            chain[0].evict(victim, self._reason)
        try:
            hyper_nodes = self._place_sub_jobs(worksheet, domain, chain, evicting=bool(victims), was_ready=was_ready)
            return None if hyper_nodes is None else GangPlan(Statement.save_operations(ssn, *chain), hyper_nodes)
        finally:  # upstream defers the discard, so that it also happens after a panic
            for statement in reversed(chain):
                statement.discard()

    def _place_sub_jobs(
        self, worksheet: Worksheet, domain: str, chain: list[Statement], *, evicting: bool, was_ready: bool
    ) -> dict[SubJobId, str] | None:
        """The hypernode of each placed sub job; None if the job does not become pipelined."""
        hyper_nodes: dict[SubJobId, str] = {}
        pipelined = False
        while not worksheet.empty:
            sub_job = worksheet.sub_jobs.pop()
            placement = self._place_sub_job(sub_job, worksheet, domain, evicting=evicting)
            if placement is None:
                return None
            trial, hyper_nodes[sub_job.uid] = placement
            chain.append(trial)
            pipelined = self._ssn.ask_plugins(hooks.JOB_PIPELINED, self._job)
            if was_ready or pipelined:
                break
        return hyper_nodes if pipelined else None

    def _place_sub_job(
        self, sub_job: SubJobInfo, worksheet: Worksheet, domain: str, *, evicting: bool
    ) -> tuple[Statement, str] | None:
        rows: list[list[str]] = [[domain]]
        if self._job.contains_hard_topology():
            gradients = self._ssn.ask_plugins(hooks.HYPER_NODE_GRADIENT_FOR_SUB_JOB, sub_job, domain, EVICT_PURPOSE)
            rows = rows if gradients is None else gradients
        for row in rows:
            for hyper_node in row:
                trial = self._run_simulate_trial(sub_job, worksheet, hyper_node, evicting=evicting)
                if trial is not None:
                    return trial, hyper_node
        return None

    def _run_simulate_trial(
        self, sub_job: SubJobInfo, worksheet: Worksheet, hyper_node: str, *, evicting: bool
    ) -> Statement | None:
        """Pipeline every pending task of the sub job; None, with nothing pipelined, if one task does not fit.
        Upstream: actions/utils/simulate.runSimulateTrialAtHyperNode.
        """
        ssn = self._ssn
        candidates = ssn.hyper_node_rows(hyper_node)
        if candidates is None or not len(candidates):
            return None
        trial = Statement(ssn)
        helper = PredicateHelper(ssn, cache_on=self._error_cache)
        tasks = worksheet.tasks[sub_job.uid].clone()
        complete, satisfied = True, False
        try:
            while tasks and complete:
                task = tasks.pop()
                with ssn.open_span(Level.TASK, task.key):
                    complete = self._pipeline_task(trial, helper, task, candidates, evicting=evicting)
            satisfied = complete and bool(len(trial)) and self._is_satisfied(sub_job)
        finally:  # upstream defers the discard, so that it also happens after a panic
            if not satisfied:
                trial.discard()
        return trial if satisfied else None

    def _is_satisfied(self, sub_job: SubJobInfo) -> bool:
        ssn, job = self._ssn, self._job
        return ssn.sub_job_ready(job, sub_job) or ssn.sub_job_pipelined(job, sub_job)

    def _pipeline_task(
        self, trial: Statement, helper: PredicateHelper, task: TaskInfo, candidates: NodeRows, *, evicting: bool
    ) -> bool:
        ssn = self._ssn
        if not ssn.ask_plugins(hooks.ALLOCATABLE, self._queue, task):
            return False
        schedulable = filter_out_unresolvable(ssn, task)
        nodes = candidates.select_where(np.isin(candidates.rows, schedulable.rows)) if len(schedulable) else candidates
        if not len(nodes) or ssn.ask_plugins(hooks.PRE_PREDICATE, task) is not None:
            return False
        feasible, _ = helper.predicate_nodes(task, nodes, gang_judge)
        node = best_node(ssn, task, feasible)
        if node is None or not node.fits_future_idle(task.init_resreq):
            return False
        if trial.pipeline(task, node.name, eviction=evicting) is not None:
            trial.unpipeline(task)
            return False
        return True
