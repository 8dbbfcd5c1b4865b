"""Where a job or sub job with hard topology may be tried: HyperNodes by tier.

Upstream: plugins/network-topology-aware (hyperNodeGradientFn, getSearchRoot, reverseAndCapEvictionGradients).
"""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.framework.gang_plan import EVICT_PURPOSE
from vcdebug.model.hypernode import HyperNodeInfo, HyperNodes
from vcdebug.model.resource import Resource
from vcdebug.plugins.network_topology_aware.domains import HyperNodeDomains


class GradientRequest(NamedTuple):
    """What is asked: the highest tier, the HyperNode allocated so far (or nothing), the minimum, and for what."""

    tier: int
    allocated: str
    minimum: Resource
    purpose: int


def hyper_node_gradient(domains: HyperNodeDomains, given: str, wanted: GradientRequest) -> list[list[str]]:
    """Eligible HyperNodes at or below the search root, a row per tier, ascending; no rows without a root.
    Upstream: plugins/network-topology-aware.hyperNodeGradientFn.
    """
    root = search_root(domains.tree, given, wanted)
    if not root:
        return []
    rows: dict[int, list[str]] = {}
    waiting = [root]
    seen = {root: None}
    for name in waiting:
        info = domains.tree.by_name[name]
        if _is_eligible(domains, info, wanted):
            rows.setdefault(info.tier, []).append(name)
        children = [child for child in domains.ordering.order_keys(info.children) if child not in seen]
        seen.update(dict.fromkeys(children))
        waiting.extend(children)
    return [rows[tier] for tier in sorted(rows)]


def search_root(tree: HyperNodes, given: str, wanted: GradientRequest) -> str:
    """`given`, narrowed to where the allocated HyperNode may grow; empty when the two do not meet.
    Upstream: plugins/network-topology-aware.getSearchRoot.
    """
    if not wanted.allocated:
        return given
    allowed = ""
    for name in tree.get_ancestors(wanted.allocated):
        if tree.by_name[name].tier > wanted.tier:
            break
        allowed = name
    if not allowed:
        return ""
    common = tree.get_lca_hyper_node(given, allowed)
    if common == allowed:
        return given
    return allowed if common == given else ""


def _is_eligible(domains: HyperNodeDomains, info: HyperNodeInfo, wanted: GradientRequest) -> bool:
    """Upstream: plugins/network-topology-aware.isEligibleHyperNode."""
    if info.tier > wanted.tier:
        return False
    if wanted.allocated:
        return True
    amounts = domains.amounts[info.name]
    if wanted.purpose == EVICT_PURPOSE:
        return wanted.minimum.less_equal(amounts.allocatable)
    return wanted.minimum.less_equal(amounts.idle) or wanted.minimum.less_equal(amounts.future_idle)


def reverse_and_cap(rows: list[list[str]], limit: int) -> list[list[str]]:
    """For evictions: highest tier first, and at most `limit` HyperNodes; a cut tier keeps its last ones.
    Upstream: plugins/network-topology-aware.reverseAndCapEvictionGradients.
    """
    result: list[list[str]] = []
    for row in reversed(rows):
        if limit == 0:
            break
        result.append(row[-limit:])
        limit -= len(result[-1])
    return result
