"""HyperNodes: the network topology as a tree of node groups.

Upstream: api/hyper_node_info.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from vcdebug.model.names import NodeName
from vcdebug.model.selector import label_selector_matches
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.manifest import name_of, spec_of

TOP_HYPER_NODE = "<cluster-top-hypernode>"


class HyperNodeInfo:
    """One HyperNode: its tier, its parent and children by name."""

    __slots__ = ("children", "manifest", "name", "parent", "tier", "tier_name")

    def __init__(self, name: str, tier: int = 0, tier_name: str = "", manifest: JsonObject | None = None) -> None:
        self.name = name
        self.tier = tier
        self.tier_name = tier_name
        self.manifest = manifest or {}
        self.parent = ""
        self.children: dict[str, None] = {}

    def has_members(self) -> bool:
        """Whether it states any, be there such nodes or not."""
        members = spec_of(self.manifest).get("members") or ()
        return any(
            one.get("type") == "Node" or ((one.get("selector") or {}).get("exactMatch") or {}).get("name")
            for one in members
        )


class HyperNodes:
    """All HyperNodes with their real nodes; `ready` is False when the tree could not be built.
    Upstream: api/hyper_node_info.HyperNodesInfo.
    """

    __slots__ = ("_labels", "by_name", "problem", "ready", "real_nodes", "tier_names", "tiers")

    def __init__(self, manifests: Sequence[JsonObject], node_labels: Mapping[NodeName, Mapping[str, str]]) -> None:
        self._labels = node_labels
        self.by_name: dict[str, HyperNodeInfo] = {}
        self.real_nodes: dict[str, dict[NodeName, None]] = {}
        self.tiers: dict[int, list[str]] = {}
        self.tier_names: dict[str, int] = {}
        self.ready = True
        self.problem = ""
        for manifest in manifests:
            self._enter(manifest)
        for name in list(self.by_name):
            if name not in self.real_nodes and self.ready:
                self._build(name, [])

    def _enter(self, manifest: JsonObject) -> None:
        spec = spec_of(manifest)
        name = name_of(manifest)
        info = HyperNodeInfo(name, spec.get("tier") or 0, spec.get("tierName") or "", manifest)
        self.by_name[name] = info
        self.tiers.setdefault(info.tier, []).append(name)
        if info.tier_name:
            self.tier_names[info.tier_name] = info.tier

    def _build(self, name: str, chain: list[str]) -> dict[NodeName, None]:
        """Upstream: api/hyper_node_info.BuildHyperNodeCache."""
        if name in chain:
            self._fail(f"cyclic dependency detected: HyperNode {name} is already in the ancestor chain {chain}")
            return {}
        if name in self.real_nodes:
            return self.real_nodes[name]
        real: dict[NodeName, None] = {}
        info = self.by_name[name]
        for member in spec_of(info.manifest).get("members") or ():
            selector = member.get("selector") or {}
            if member.get("type") == "Node":
                real.update(dict.fromkeys(self._matching(selector)))
            elif member.get("type") == "HyperNode":
                real.update(self._adopt(info, (selector.get("exactMatch") or {}).get("name") or "", [*chain, name]))
        self.real_nodes[name] = real
        return real

    def _adopt(self, parent: HyperNodeInfo, child: str, chain: list[str]) -> dict[NodeName, None]:
        if not child:
            return {}
        info = self.by_name.setdefault(child, HyperNodeInfo(child))
        if info.parent and info.parent != parent.name:
            self._fail(
                f"HyperNode {child} already has a parent {info.parent}, and cannot set another parent {parent.name}"
            )
            return {}
        info.parent = parent.name
        parent.children[child] = None
        return self._build(child, chain)

    def _fail(self, problem: str) -> None:
        self.ready = False
        self.problem = self.problem or problem

    def _matching(self, selector: JsonObject) -> Iterable[NodeName]:
        exact = (selector.get("exactMatch") or {}).get("name")
        if exact:
            yield exact
        pattern = (selector.get("regexMatch") or {}).get("pattern")
        if pattern:
            yield from self._matching_pattern(pattern)
        labels = selector.get("labelMatch")
        if labels and (labels.get("matchLabels") or labels.get("matchExpressions")):
            yield from (node for node, own in self._labels.items() if label_selector_matches(labels, own))

    def _matching_pattern(self, pattern: str) -> Iterable[NodeName]:
        try:
            compiled = re.compile(pattern)
        except re.error:
            return ()
        return [node for node in self._labels if compiled.search(node)]

    def add_top(self, node_names: Sequence[NodeName]) -> HyperNodeInfo:
        """The virtual root above every parentless HyperNode; its real nodes are all nodes.
        Upstream: framework/session.addClusterTopHyperNode.
        """
        tier = max([0, *self.tiers]) + 1
        top = HyperNodeInfo(TOP_HYPER_NODE, tier)
        for info in self.by_name.values():
            if not info.parent:
                info.parent = TOP_HYPER_NODE
                top.children[info.name] = None
        self.by_name[TOP_HYPER_NODE] = top
        self.tiers[tier] = [TOP_HYPER_NODE]
        self.real_nodes[TOP_HYPER_NODE] = dict.fromkeys(node_names)
        return top

    def ancestors(self, name: str) -> list[str]:
        """The HyperNode itself, then its parents. Upstream: api/hyper_node_info.GetAncestors."""
        result: list[str] = []
        while name and name in self.by_name and name not in result:
            result.append(name)
            name = self.by_name[name].parent
        return result

    def lca(self, left: str, right: str) -> str:
        """The lowest common ancestor; an empty side gives the other one, no common one gives an empty name.
        Upstream: api/hyper_node_info.GetLCAHyperNode.
        """
        if not left or not right:
            return left or right
        candidates = self.ancestors(left)
        return next((name for name in self.ancestors(right) if name in candidates), "")

    def stated_tiers(self) -> list[int]:
        """Tiers of the HyperNodes that are stated, ascending."""
        return [tier for tier in sorted(self.tiers) if self.tiers[tier] != [TOP_HYPER_NODE]]

    def stated_lca(self, left: str, right: str) -> str:
        """The lowest common ancestor that is stated; empty where there is none, and for a side that is empty.
        Upstream: api/hyper_node_info.GetLCAHyperNode.
        """
        common = self.lca(left, right) if left and right else ""
        return "" if common == TOP_HYPER_NODE else common

    def stated_for_node(self, node: NodeName) -> str:
        """As `lowest_for_node`, where nothing stands above what is stated."""
        return self.lowest_for_node(node) if self.stated_tiers() else ""

    def lowest_for_node(self, node: NodeName) -> str:
        """The first HyperNode of the lowest tier that holds the node, else an empty name.
        Upstream: util/scheduler_helper.FindHyperNodeForNode.
        """
        if not self.tiers:
            return ""
        lowest = sorted(self.tiers[min(self.tiers)])
        return next((name for name in lowest if node in self.real_nodes.get(name, {})), "")
