"""Jobs with hard topology in the older allocate: a dry run in each HyperNode of a tier, from the lowest tier up.

Upstream: actions/allocate (v1.13: allocateResourceForTasksWithTopology).
"""

from __future__ import annotations

import json
from typing import NamedTuple

from vcdebug.actions.allocate.runs import TaskRuns, keep_hyper_node
from vcdebug.framework.hooks import HYPER_NODE_ORDER
from vcdebug.framework.order import PriorityQueue, task_queue
from vcdebug.framework.record import BestEvent
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.job import JobInfo
from vcdebug.model.task import TaskInfo
from vcdebug.releases.nodes import BEST_ABOVE_MINUS_ONE
from vcdebug.releases.topology import HYPERNODE_SUM_OF_NODE_SCORES

WORST_SCORE = -1.0
"""A score that once won nothing."""


class TierSolution(NamedTuple):
    """A HyperNode in which the job is ready."""

    saved: Statement
    left: PriorityQueue[TaskInfo]
    holds: str
    """The HyperNode that then holds all of the job."""


class TierOutcome(NamedTuple):
    """What becomes of a job."""

    statement: Statement | None = None
    left: PriorityQueue[TaskInfo] | None = None
    """Tasks for which the job goes back into its queue."""


class TierSearch:
    """The lowest tier with a HyperNode in which the job is ready decides."""

    def __init__(self, ssn: Session, runs: TaskRuns) -> None:
        self._ssn = ssn
        self._runs = runs
        self._sums = runs.sums if ssn.release.has_older_form(HYPERNODE_SUM_OF_NODE_SCORES) else {}

    def allocate_in_tiers(self, job: JobInfo, tasks: PriorityQueue[TaskInfo], highest: int) -> TierOutcome:
        """What was planned in the best HyperNode, planned again."""
        ssn = self._ssn
        found: dict[str, TierSolution] = {}
        for tier in ssn.hyper_nodes.stated_tiers():
            if tier > highest:
                ssn.log("tier-over", job.uid, highest, tier)
                break
            if found:
                ssn.log("tier-enough", tier)
                break
            found = self._in_tier(job, tasks, tier, highest)
        if found:
            return self._recover_best(job, found)
        ssn.log("tier-none", job.uid)
        return TierOutcome()

    def _in_tier(
        self, job: JobInfo, tasks: PriorityQueue[TaskInfo], tier: int, highest: int
    ) -> dict[str, TierSolution]:
        ssn = self._ssn
        found: dict[str, TierSolution] = {}
        names = ssn.cluster.ordering.order_keys(ssn.hyper_nodes.tiers[tier])
        tried = {name: holds for name in names if (holds := self._common_hyper_node(job, name, tier, highest))}
        for name in ssn.draws.job_domains.next_row(job.uid, list(tried)):
            job.reset_fit_errors()
            ssn.log("tier-try", job.uid, name, tier)
            left = task_queue(ssn).extend(tasks)
            statement = self._runs.allocate_tasks(job, left, name)
            if statement is None:
                ssn.log("tier-refused", job.uid, name, tier)
            elif not len(statement):
                ssn.log("tier-nothing", job.uid, name, tier)
            else:
                found[name] = TierSolution(Statement.save_operations(ssn, statement), left, tried[name])
                statement.discard()
        return found

    def _common_hyper_node(self, job: JobInfo, name: str, tier: int, highest: int) -> str:
        """What would hold all of the job with this HyperNode; empty where it is not tried."""
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

    def _recover_best(self, job: JobInfo, found: dict[str, TierSolution]) -> TierOutcome:
        """Upstream: actions/allocate (v1.13: selectBestHyperNode)."""
        ssn = self._ssn
        first = ssn.hyper_nodes.by_name[next(iter(found))]
        ssn.log("tier-found", job.uid, first.tier, json.dumps(list(found), separators=(",", ":")))
        best = self._best_hyper_node(job, list(found)) if len(found) > 1 else next(iter(found))
        if not best:
            return TierOutcome()
        saved, left, holds = found[best]
        statement = Statement(ssn)
        recovered = statement.recover_operations(saved) is None
        if recovered:
            ssn.log("tier-best", job.uid, best)
        keep_hyper_node(ssn, job, holds)
        return TierOutcome(statement if recovered else None, left or None)

    def _best_hyper_node(self, job: JobInfo, names: list[str]) -> str:
        """Plugins' scores and what the chosen nodes were worth; one of the highest, empty where none is high enough.
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
        totals = {name: total + self._sums.get((job.uid, name), 0.0) for name, total in totals.items()}
        best = max(totals.values())
        if best <= WORST_SCORE and ssn.release.has_older_form(BEST_ABOVE_MINUS_ONE):
            return ""
        tied = tuple(name for name in names if totals[name] == best)
        chosen = tied[ssn.draws.draw_domain([nodes[name] for name in tied], [task.key for task in job.tasks.values()])]
        ssn.record.append(BestEvent("hypernode", chosen, best, tied))
        return chosen
