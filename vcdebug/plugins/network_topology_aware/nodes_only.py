"""network-topology-aware up to v1.13, which only scores nodes by their nearness to the job's HyperNode.

Upstream: plugins/network-topology-aware (v1.13 and older).
"""

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import HYPER_NODE_ORDER
from vcdebug.framework.plugin_answers import NodeScores
from vcdebug.framework.session import Plugin, Session
from vcdebug.model.hyper_nodes import HyperNodes
from vcdebug.model.job import JobInfo
from vcdebug.model.names import BoolArray, FloatArray, JobId, NodeName
from vcdebug.model.node_table import NodeRows
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.network_topology_aware import JobNearness, NodeNearness
from vcdebug.releases.scheduling import NTA_HYPERNODE_SCORE

BASE_SCORE = 100.0
WORST_SCORE = -1.0
"""Lower scores are never the best."""


class NodesOnly(Plugin):
    """Scores nodes for jobs with topology by the tier of the HyperNode that contains both node and job."""

    name: ClassVar[str] = "network-topology-aware"

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._weight = float(arguments.get_int("weight", 1))

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/network-topology-aware.OnSessionOpen."""
        self._jobs: dict[JobId, JobInfo] = ssn.jobs
        self._tree: HyperNodes = ssn.hyper_nodes
        tiers = self._tree.stated_tiers()
        self._lowest, self._highest = (tiers[0], tiers[-1]) if tiers else (0, 0)
        self._holders: dict[NodeName, str] = {}
        if not ssn.release.has_older_form(NTA_HYPERNODE_SCORE):
            ssn.withdraw_hook(self, HYPER_NODE_ORDER.method)

    def batch_node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores | None:
        """Score nodes by closeness; ties for the best by the fraction of the job's tasks in the node's HyperNode."""
        job, allocated = self._jobs[task.job], task.job_allocated_hyper_node
        if job.network_topology is None or not allocated or not len(nodes):
            return None
        holders = [self._holding_hyper_node(name) for name in nodes.node_names]
        scores = self._by_name(holders, lambda name: self._closeness_score(name, allocated))
        tied = _tied_best(scores)
        if tied.any():
            shares = self._by_name(holders, lambda name: self._share_score(name, job))
            scores = np.where(tied, scores + shares, scores)
        return NodeScores(scores)

    def hyper_node_order(self, sub_job: SubJobInfo, hyper_nodes: dict[str, list[str]]) -> dict[str, float]:
        """Up to v1.12: score HyperNodes by closeness; ties for the best by the fraction of the job's tasks."""
        job = self._jobs[sub_job.job]
        allocated = job.allocated_hyper_node
        if not allocated:
            return {}
        scores = {name: self._closeness_score(name, allocated) for name in hyper_nodes}
        best = max(scores.values(), default=WORST_SCORE)
        tied = [name for name, score in scores.items() if score == best >= WORST_SCORE]
        if len(tied) > 1:
            for name in tied:
                scores[name] = best + self._share_score(name, job)
        return scores

    def node_nearness(self, task: TaskInfo, nodes: NodeRows, row: int) -> NodeNearness | None:
        """The parts of the score of the node in `row`; None if the plugin gives no scores."""
        scores = self.batch_node_order(task, nodes)
        if scores is None:
            return None
        allocated, index = task.job_allocated_hyper_node, int(np.flatnonzero(nodes.rows == row)[0])
        holders = [self._holding_hyper_node(name) for name in nodes.node_names]
        tied = _tied_best(self._by_name(holders, lambda name: self._closeness_score(name, allocated)))
        name = holders[index]
        nearness = JobNearness(
            name,
            allocated,
            self._tree.stated_lca(name, allocated),
            self._tier_closeness(name, allocated),
            self._task_share(name, self._jobs[task.job]),
            bool(tied[index]),
        )
        return NodeNearness((), nearness, BASE_SCORE * self._weight, float(scores.total[index]))

    def _holding_hyper_node(self, node: NodeName) -> str:
        if node not in self._holders:
            self._holders[node] = self._tree.stated_for_node(node)
        return self._holders[node]

    @staticmethod
    def _by_name(holders: list[str], score: Callable[[str], float]) -> FloatArray:
        """The score of each node's HyperNode, computed once per HyperNode."""
        scores = {name: score(name) for name in dict.fromkeys(holders)}
        return np.array([scores[name] for name in holders])

    def _closeness_score(self, name: str, allocated: str) -> float:
        return BASE_SCORE * self._tier_closeness(name, allocated) * self._weight

    def _share_score(self, name: str, job: JobInfo) -> float:
        return BASE_SCORE * self._task_share(name, job) * self._weight

    def _tier_closeness(self, name: str, allocated: str) -> float:
        """Upstream: plugins/network-topology-aware.networkTopologyAwareScore."""
        if name == allocated:
            return 1.0
        common = self._tree.by_name.get(self._tree.stated_lca(name, allocated))
        if common is None or self._lowest == self._highest:
            return 0.0
        return float(self._highest - common.tier) / float(self._highest - self._lowest)

    def _task_share(self, name: str, job: JobInfo) -> float:
        """Upstream: plugins/network-topology-aware.scoreWithTaskNum."""
        nodes = self._tree.real_nodes.get(name, {})
        inside = sum(1 for task in job.tasks.values() if task.node_name in nodes)  # exact: ints
        return float(inside) / float(len(job.tasks))


def _tied_best(scores: FloatArray) -> BoolArray:
    """Mask of the nodes tied for the best score; all False if only one has it."""
    best = scores.max()
    tied: BoolArray = (scores == best) & (best >= WORST_SCORE)
    return tied & (np.count_nonzero(tied) > 1)
