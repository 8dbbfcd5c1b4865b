"""network-topology-aware: keeps a job's pods close together in the tree of HyperNodes.

Upstream: plugins/network-topology-aware (getPriorityWeight, getNormalPodConfig).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import isfinite, log2
from typing import ClassVar, Final, NamedTuple

import numpy as np
from msgspec import Struct

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.gang_plan import EVICT_PURPOSE
from vcdebug.framework.plugin_answers import NodeScores
from vcdebug.framework.session import Event, Plugin, Session
from vcdebug.gomath import int_power
from vcdebug.model.job import JobInfo
from vcdebug.model.names import FloatArray, JobId
from vcdebug.model.node_table import NodeRows
from vcdebug.model.pod_group import hard_tier_of
from vcdebug.model.resource import Resource
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.network_topology_aware.domains import (
    NO_POSITION,
    GradientRequest,
    HyperNodeDomains,
    hyper_node_gradient,
    reverse_and_cap,
)
from vcdebug.releases.nodes import SUBJOB_GRADIENT_SHORTCUT
from vcdebug.snapshot.cycle_inputs import MapOrder

FULL_SCORE = 1.0


class TierFill(Struct, frozen=True):
    """The part of one tier in a node's score for a pod without topology."""

    tier: int
    weight: float
    hyper_node: str
    """The HyperNode of this tier that holds the node; empty if there is none, which scores as full."""
    fills: tuple[ResourceFill, ...]
    score: float


class JobNearness(Struct, frozen=True):
    """The distance between a node and its job's HyperNode."""

    hyper_node: str
    """The HyperNode of the lowest tier that holds the node."""
    allocated: str
    """The HyperNode allocated to the job."""
    common_hyper_node: str
    """The lowest HyperNode that contains both."""
    closeness: float
    share: float
    """The fraction of the tasks that are in the node's HyperNode; only breaks ties among the closest nodes."""
    is_tied: bool


class NodeNearness(Struct, frozen=True):
    """The parts of a node's score: tiers for a pod without topology, else its nearness to the job."""

    tiers: tuple[TierFill, ...]
    near: JobNearness | None
    scale: float
    score: float


class NetworkTopologyAware(Plugin):
    """Gives the HyperNodes to try for jobs, scores HyperNodes for sub jobs, and scores nodes for tasks."""

    name: ClassVar[str] = "network-topology-aware"

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._weights = TopologyWeights(arguments)

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/network-topology-aware.OnSessionOpen."""
        self._jobs: dict[JobId, JobInfo] = ssn.jobs
        self.domains = HyperNodeDomains(ssn)
        """The session's HyperNodes with their amounts."""
        self._tries_whole = ssn.release.has_older_form(SUBJOB_GRADIENT_SHORTCUT)
        self._ordering: MapOrder = ssn.cluster.ordering
        self._tiers = self._weights.tier_weights(self.domains.tiers)

    # Gradients

    def hyper_node_gradient_for_job(self, job: JobInfo, hyper_node: str, purpose: int) -> list[list[str]]:
        return self._gradient_rows(hyper_node, self.gradient_request(job, purpose))

    def hyper_node_gradient_for_sub_job(self, sub_job: SubJobInfo, hyper_node: str, purpose: int) -> list[list[str]]:
        return self._gradient_rows(hyper_node, self.gradient_request(sub_job, purpose))

    def gradient_request(self, asks: JobInfo | SubJobInfo, purpose: int) -> GradientRequest | None:
        """The conditions on a HyperNode to be tried; None if the given HyperNode is tried as a whole."""
        tier = hard_tier_of(asks.network_topology)
        if tier is None or (isinstance(asks, SubJobInfo) and self._shares_hyper_node(asks)):
            return None
        return GradientRequest(tier, asks.allocated_hyper_node, asks.get_min_resources(), purpose)

    def _shares_hyper_node(self, sub_job: SubJobInfo) -> bool:
        """Whether the sub job shares its job's HyperNode: the job has no subgroup policies, in older releases."""
        return self._tries_whole and not self._jobs[sub_job.job].pod_group.sub_group_policies

    def _gradient_rows(self, hyper_node: str, request: GradientRequest | None) -> list[list[str]]:
        if request is None:
            return [[hyper_node]]
        rows = hyper_node_gradient(self.domains, hyper_node, request)
        return reverse_and_cap(rows, self._weights.evict_hyper_nodes) if request.purpose == EVICT_PURPOSE else rows

    # HyperNodes for a sub job

    def hyper_node_order(self, sub_job: SubJobInfo, hyper_nodes: dict[str, list[str]]) -> dict[str, float]:
        """Score each HyperNode by how full the sub job would make it; ties by the fraction of its tasks there.
        Upstream: plugins/network-topology-aware.HyperNodeOrderFn.
        """
        requests = self._summed_requests(sub_job)
        scores = {name: self._fill_score(name, requests) for name in self._ordering.order_keys(hyper_nodes)}
        best = max(scores.values(), default=0.0)
        # Scores are compared exactly, as upstream does, so they must be added in the same order.
        tied = [name for name, score in scores.items() if score == best]
        if len(tied) > 1:
            for name in tied:
                scores[name] = best + self.domains.share_of_tasks(name, sub_job.tasks)
        return {name: self._weights.score_scale * score for name, score in scores.items()}

    def _summed_requests(self, sub_job: SubJobInfo) -> dict[str, float]:
        """The request of all tasks of the sub job, in dimensions with a weight."""
        # Includes placed tasks, which also count in `used`: upstream counts them twice.
        total: dict[str, float] = {}
        for uid in self._ordering.order_keys(sub_job.tasks):
            for name, amount in self._weights.weighed_request(sub_job.tasks[uid].resreq).items():
                total[name] = total.get(name, 0.0) + amount
        return {name: total[name] for name in self._ordering.order_keys(total)}

    def hyper_node_fills(self, sub_job: SubJobInfo, hyper_nodes: Iterable[str]) -> dict[str, tuple[ResourceFill, ...]]:
        """Used, requested and capacity of each HyperNode, by resource, with the sub job added."""
        requests, amounts = self._summed_requests(sub_job), self.domains.amounts
        return {
            name: tuple(self._weights.iter_fills(requests, amounts[name].used, amounts[name].allocatable))
            for name in hyper_nodes
        }

    def _fill_score(self, name: str, requests: dict[str, float]) -> float:
        amounts = self.domains.amounts[name]
        return self._weights.fill_score(requests, amounts.used, amounts.allocatable)

    # Nodes for a task

    def batch_node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores | None:
        """Upstream: plugins/network-topology-aware.batchNodeOrderFn."""
        job = self._jobs.get(task.job)
        if job is None:
            return None
        sub_job = job.sub_jobs.get(job.task_to_sub_job.get(task.uid, ""))
        if sub_job is None:
            scores = self._score_normal_pod(task, nodes)
            return None if scores is None else NodeScores(scores)
        topology = sub_job.with_network_topology()
        scores = (
            self._score_network_aware_pod(task, sub_job, nodes) if topology else self._score_normal_pod(task, nodes)
        )
        return None if scores is None else NodeScores(self._weights.score_scale * scores)

    def _score_normal_pod(self, task: TaskInfo, nodes: NodeRows) -> FloatArray | None:
        """How full the task would make the node's HyperNode, averaged over tiers; a missing HyperNode counts as full.
        Upstream: plugins/network-topology-aware.batchNodeOrderFnForNormalPods.
        """
        total_weight = 0.0
        for weight in self._tiers.values():
            total_weight = total_weight + weight
        if not self._weights.normal_pods or total_weight <= 0:
            return None
        total = nodes.zero_scores()
        requests = self._weights.weighed_request(task.resreq)
        for tier, weight in self._tiers.items():
            if tier not in self.domains.tree.tiers:
                total = total + weight * FULL_SCORE
                continue
            fills = self._by_row(nodes, tier, partial(self._fill_score, requests=requests), FULL_SCORE)
            total = total + weight * fills
        return total / total_weight if len(nodes) else None

    def _score_network_aware_pod(self, task: TaskInfo, sub_job: SubJobInfo, nodes: NodeRows) -> FloatArray | None:
        """Closeness of the node's lowest-tier HyperNode to the job's; ties by the fraction of tasks there.
        Upstream: plugins/network-topology-aware.batchNodeOrderFnForNetworkAwarePods.
        """
        allocated, domains = task.job_allocated_hyper_node, self.domains
        if not allocated or not len(nodes):
            return None
        lowest = domains.lowest_tier
        scores = self._by_row(nodes, lowest, partial(domains.score_closeness, other=allocated), 0.0)
        tied = scores == scores.max()
        if np.count_nonzero(tied) > 1:
            shares = self._by_row(nodes, lowest, partial(domains.share_of_tasks, tasks=sub_job.tasks), 0.0)
            scores = np.where(tied, scores + shares, scores)
        return scores

    def node_nearness(self, task: TaskInfo, nodes: NodeRows, row: int) -> NodeNearness | None:
        """The parts of the score of the node in `row`; None if the plugin gives no scores."""
        scores = self.batch_node_order(task, nodes)
        if scores is None:
            return None
        job, score = self._jobs[task.job], float(scores.total[nodes.rows == row][0])
        sub_job = job.sub_jobs.get(job.task_to_sub_job.get(task.uid, ""))
        if sub_job is not None and sub_job.with_network_topology():
            return NodeNearness((), self._job_nearness(task, sub_job, nodes, row), self._weights.score_scale, score)
        requests = self._weights.weighed_request(task.resreq)
        tiers = tuple([self._tier_fill(tier, weight, requests, row) for tier, weight in self._tiers.items()])
        return NodeNearness(tiers, None, 1.0 if sub_job is None else self._weights.score_scale, score)

    def _holding_hyper_node(self, tier: int, row: int) -> str:
        """The HyperNode of the tier that holds the node; empty if none does."""
        if tier not in self.domains.tree.tiers:
            return ""
        position = int(self.domains.positions_in_tier(tier)[row])
        return self.domains.in_tier(tier)[position] if position >= 0 else ""

    def _tier_fill(self, tier: int, weight: float, requests: dict[str, float], row: int) -> TierFill:
        name = self._holding_hyper_node(tier, row)
        if not name:
            return TierFill(tier, weight, "", (), FULL_SCORE)
        amounts = self.domains.amounts[name]
        fills = tuple(self._weights.iter_fills(requests, amounts.used, amounts.allocatable))
        return TierFill(tier, weight, name, fills, self._fill_score(name, requests))

    def _job_nearness(self, task: TaskInfo, sub_job: SubJobInfo, nodes: NodeRows, row: int) -> JobNearness:
        domains, allocated = self.domains, task.job_allocated_hyper_node
        name = self._holding_hyper_node(domains.lowest_tier, row)
        scores = self._by_row(nodes, domains.lowest_tier, partial(domains.score_closeness, other=allocated), 0.0)
        closeness = domains.score_closeness(name, allocated) if name else 0.0
        tied = closeness == float(scores.max()) and np.count_nonzero(scores == scores.max()) > 1
        share = domains.share_of_tasks(name, sub_job.tasks) if name else 0.0
        return JobNearness(
            name,
            allocated,
            domains.tree.get_lca_hyper_node(name, allocated) if name else "",
            closeness,
            share,
            bool(tied),
        )

    def _by_row(self, nodes: NodeRows, tier: int, value_of: Callable[[str], float], elsewhere: float) -> FloatArray:
        """Per node, the value of its HyperNode in the tier; `elsewhere` for nodes without one."""
        positions, names = self.domains.positions_in_tier(tier)[nodes.rows], self.domains.in_tier(tier)
        # A job with hard topology asks about the few nodes of each HyperNode in turn: compute only their values.
        values = np.full(len(names) + 1, elsewhere)
        for position in dict.fromkeys(positions.tolist()):
            if position != NO_POSITION:
                values[position] = value_of(names[position])
        rows: FloatArray = values[positions]
        return rows

    # Events

    def allocate_func(self, event: Event) -> None:
        self.domains.charge_task(event.task)

    def deallocate_func(self, event: Event) -> None:
        self.domains.release_task(event.task)


# The arguments: the plugin's weight, weights of resources, weights of tiers.

BINPACK_KEY = "hypernode.binpack"
MAX_SCORE = 100.0
MAX_ABSENT_TIERS: Final = 10_000
"""Maximum number of absent tier numbers in a row that are summed, if weights hardly decrease."""
FEW_TIERS: Final = 4
"""A margin for rounding in the bounds below, and for tier 1, where the exponent changes its sign."""
GONE_DOUBLINGS: Final = 54.0
INFINITE_DOUBLINGS: Final = 2200.0


class ResourceFill(NamedTuple):
    """One resource of a HyperNode's fill."""

    name: str
    weight: int
    used_after: float
    """Used plus requested amount."""
    capacity: float


class TopologyWeights:
    """The plugin's arguments with upstream's defaults; a negative value is replaced by the default."""

    __slots__ = ("evict_hyper_nodes", "fading_factor", "normal_pods", "overall_weight", "resources")

    def __init__(self, arguments: Arguments) -> None:
        self.overall_weight = arguments.get_weight("weight")
        names = arguments.raw.get(f"{BINPACK_KEY}.resources")
        self.resources = arguments.get_resource_weights(BINPACK_KEY, names if isinstance(names, str) else "")
        self.normal_pods = arguments.get_bool("hypernode.binpack.normal-pod.enable", default=True)
        fading = arguments.get_float64("hypernode.binpack.normal-pod.fading", 0.8)
        self.fading_factor = fading
        if fading < 0:
            self.fading_factor = arguments.replaced_defaults["hypernode.binpack.normal-pod.fading"] = 0.8
        limit = arguments.get_int("hypernode.gradient.evict.max-hypernodes", 8)
        self.evict_hyper_nodes = limit if limit > 0 else 8

    @property
    def score_scale(self) -> float:
        """The factor from a score between 0 and 1 to the plugin's answer."""
        return MAX_SCORE * float(self.overall_weight)

    def tier_weights(self, present: Sequence[int]) -> dict[int, float]:
        """Tier number → weight for pods without topology; `present`: tier numbers of the HyperNodes, ascending."""
        # Upstream sums over all tier numbers from lowest to highest, even those without HyperNodes. A gap can be 2^31
        # wide, but the weights in a gap soon vanish in the sum or become infinite: the rest does not change the sum.
        weights: dict[int, float] = {}
        for tier, following in pairwise([*present, present[-1] + 1]):
            counted = range(tier, min(following, tier + 1 + self._max_counted_gap))
            weights.update((number, int_power(self.fading_factor, number - 1)) for number in counted)
        return weights

    @property
    def _max_counted_gap(self) -> int:
        """Maximum number of consecutive absent tiers that can change a sum of weights."""
        # If one number is 2^54 times another, their sum is the larger number; growing weights become infinite
        # after 2^11 doublings.
        if self.fading_factor in (0.0, 1.0) or not isfinite(self.fading_factor):
            return FEW_TIERS if self.fading_factor != 1.0 else MAX_ABSENT_TIERS
        doublings = GONE_DOUBLINGS if self.fading_factor < 1.0 else INFINITE_DOUBLINGS
        return min(int(doublings / abs(log2(self.fading_factor))) + FEW_TIERS, MAX_ABSENT_TIERS)

    def fill_score(self, requests: dict[str, float], used: Resource, allocatable: Resource) -> float:
        """Weighted mean of (used + request) / allocatable; 0 if some resource does not fit."""
        score, weights = 0.0, 0
        for _, weight, filled, capacity in self.iter_fills(requests, used, allocatable):
            if filled > capacity:
                return 0.0
            score = score + float(weight) * (filled / capacity)
            weights += weight
        return score / float(weights) if weights > 0 else 0.0

    def iter_fills(self, requests: dict[str, float], used: Resource, allocatable: Resource) -> Iterator[ResourceFill]:
        """Yield the fill of each requested resource that has a weight."""
        for name, request in requests.items():
            yield ResourceFill(name, self.resources[name], used.get(name) + request, allocatable.get(name))

    def weighed_request(self, request: Resource) -> dict[str, float]:
        """The dimensions of the request that have a weight."""
        return {name: request.get(name) for name in request.resource_names() if name in self.resources}
