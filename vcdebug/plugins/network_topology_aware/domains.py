"""The HyperNodes of a session: their amounts, the nodes in them, and the rows to try.

Upstream: plugins/network-topology-aware (initHyperNodeResourceCache, hyperNodeGradientFn, getSearchRoot,
reverseAndCapEvictionGradients), util/scheduler_helper (FindHyperNodeForNode).
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from msgspec import Struct, field

from vcdebug.framework.gang_plan import EVICT_PURPOSE
from vcdebug.framework.session import Session
from vcdebug.model.hyper_nodes import HyperNodeInfo, HyperNodes
from vcdebug.model.names import IntArray, NodeName, TaskId
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.cycle_inputs import MapOrder

NO_POSITION = -1


class HyperNodeAmounts(Struct):
    """Sums over the nodes of a HyperNode; only `used` changes during the session."""

    allocatable: Resource = field(default_factory=Resource)
    used: Resource = field(default_factory=Resource)
    idle: Resource = field(default_factory=Resource)
    future_idle: Resource = field(default_factory=Resource)


class HyperNodeDomains:
    """All HyperNodes, the root too. Upstream: plugins/network-topology-aware.initHyperNodeResourceCache."""

    def __init__(self, ssn: Session) -> None:
        self.tree: HyperNodes = ssn.hyper_nodes
        self.ordering: MapOrder = ssn.cluster.ordering
        self.tiers = sorted(self.tree.tiers)
        self.names = sorted(self.tree.by_name)
        self.nodes = {name: self._nodes_of(ssn, name) for name in self.names}
        self.amounts = {name: _sum_amounts(ssn, nodes) for name, nodes in self.nodes.items()}
        self._holders: dict[NodeName, list[str]] = {}
        for name, nodes in self.nodes.items():
            for node in nodes:
                self._holders.setdefault(node, []).append(name)
        self._row_of = ssn.node_table.row_of
        self._members: dict[int, IntArray] = {}

    @staticmethod
    def _nodes_of(ssn: Session, name: str) -> dict[NodeName, None]:
        rows = ssn.hyper_node_rows(name)
        return dict.fromkeys(rows.node_names if rows is not None else ())

    @property
    def lowest_tier(self) -> int:
        return self.tiers[0]

    @property
    def highest_tier(self) -> int:
        """The tier number of the virtual root."""
        return self.tiers[-1]

    def in_tier(self, tier: int) -> list[str]:
        """The HyperNodes of a tier, in order; empty if the tier does not exist."""
        return self.ordering.order_keys(self.tree.tiers.get(tier, ()))

    def positions_in_tier(self, tier: int) -> IntArray:
        """Row of the node table → index in `in_tier` of the first HyperNode with the node, or NO_POSITION."""
        if tier not in self._members:
            positions = np.full(len(self._row_of), NO_POSITION, dtype=np.int64)
            # Backwards, so that the first of several HyperNodes overwrites the others.
            for position, name in reversed(list(enumerate(self.in_tier(tier)))):
                positions[[self._row_of[node] for node in self.nodes[name]]] = position
            self._members[tier] = positions
        return self._members[tier]

    def charge_task(self, task: TaskInfo) -> None:
        """Add the task's request to every HyperNode that holds its node."""
        for name in self._holders.get(task.node_name, ()):
            self.amounts[name].used.add(task.resreq)

    def release_task(self, task: TaskInfo) -> None:
        """Subtract the task's request from every HyperNode that holds its node."""
        for name in self._holders.get(task.node_name, ()):
            self.amounts[name].used.sub(task.resreq)

    def share_of_tasks(self, name: str, tasks: Mapping[TaskId, TaskInfo]) -> float:
        """The fraction of tasks there; 0 for no name. Upstream: plugins/network-topology-aware.scoreWithTaskNum."""
        if not tasks:
            return 0.0
        nodes = self.nodes.get(name, {})
        return float(sum(1 for task in tasks.values() if task.node_name in nodes)) / float(len(tasks))  # exact: ints

    def score_closeness(self, name: str, other: str) -> float:
        """1 for the same HyperNode, less for a higher common ancestor, 0 without one.
        Upstream: plugins/network-topology-aware.networkTopologyAwareScore,
        plugins/network-topology-aware.scoreHyperNodeWithTier.
        """
        if not name or not other:
            return 0.0
        if name == other:
            return 1.0
        common = self.tree.by_name.get(self.tree.get_lca_hyper_node(name, other))
        if common is None:
            return 0.0
        if self.lowest_tier == self.highest_tier:
            return 1.0
        if not self.lowest_tier <= common.tier <= self.highest_tier:
            return 0.0
        return float(self.highest_tier - common.tier) / float(self.highest_tier - self.lowest_tier)


def _sum_amounts(ssn: Session, nodes: Iterable[NodeName]) -> HyperNodeAmounts:
    amounts = HyperNodeAmounts()
    for name in nodes:
        node = ssn.nodes[name]
        amounts.allocatable.add(node.allocatable)
        amounts.used.add(node.used)
        amounts.idle.add(node.idle)
        amounts.future_idle.add(node.future_idle())
    return amounts


# The HyperNodes to try, by tier, for a job or sub job with hard topology.


class GradientRequest(Struct, frozen=True):
    """The highest tier allowed, the HyperNode allocated so far (or empty), the minimum, and the purpose."""

    tier: int
    allocated: str
    minimum: Resource
    purpose: int


def hyper_node_gradient(domains: HyperNodeDomains, hyper_node: str, request: GradientRequest) -> list[list[str]]:
    """The eligible HyperNodes at or below the search root: a row per tier, ascending; no rows without a search root.
    Upstream: plugins/network-topology-aware.hyperNodeGradientFn.
    """
    rows: dict[int, list[str]] = {}
    for name in iter_reachable(domains, search_root(domains.tree, hyper_node, request)):
        info = domains.tree.by_name[name]
        if is_eligible(domains, info, request):
            rows.setdefault(info.tier, []).append(name)
    return [rows[tier] for tier in sorted(rows)]


def iter_reachable(domains: HyperNodeDomains, root: str) -> Iterator[str]:
    """Yield the search root and all HyperNodes below it, level by level; nothing without a root."""
    pending = [root] if root else []
    seen = dict.fromkeys(pending)
    for name in pending:
        yield name
        children = domains.ordering.order_keys(domains.tree.by_name[name].children)
        new = [child for child in children if child not in seen]
        seen.update(dict.fromkeys(new))
        pending.extend(new)


def search_root(tree: HyperNodes, hyper_node: str, request: GradientRequest) -> str:
    """`hyper_node`, narrowed to where the allocated HyperNode may extend; empty if they do not overlap.
    Upstream: plugins/network-topology-aware.getSearchRoot.
    """
    if not request.allocated:
        return hyper_node
    allowed = ""
    for name in tree.get_ancestors(request.allocated):
        if tree.by_name[name].tier > request.tier:
            break
        allowed = name
    if not allowed:
        return ""
    common = tree.get_lca_hyper_node(hyper_node, allowed)
    if common == allowed:
        return hyper_node
    return allowed if common == hyper_node else ""


def is_eligible(domains: HyperNodeDomains, info: HyperNodeInfo, request: GradientRequest) -> bool:
    """Upstream: plugins/network-topology-aware.isEligibleHyperNode."""
    if info.tier > request.tier:
        return False
    if request.allocated:
        return True
    return has_room(domains.amounts[info.name], request)


def has_room(amounts: HyperNodeAmounts, request: GradientRequest) -> bool:
    """Whether the minimum fits: into allocatable if pods are to be evicted, else into idle or future idle."""
    if request.purpose == EVICT_PURPOSE:
        return request.minimum.less_equal(amounts.allocatable)
    return request.minimum.less_equal(amounts.idle) or request.minimum.less_equal(amounts.future_idle)


def reverse_and_cap(rows: list[list[str]], limit: int) -> list[list[str]]:
    """For evictions: rows from the highest tier down, with at most `limit` HyperNodes; a cut row keeps its end.
    Upstream: plugins/network-topology-aware.reverseAndCapEvictionGradients.
    """
    result: list[list[str]] = []
    for row in reversed(rows):
        if limit == 0:
            break
        result.append(row[-limit:])
        limit -= len(result[-1])
    return result
