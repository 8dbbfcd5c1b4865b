"""HyperNodes: the network topology as a tree of node groups. Upstream: api/hyper_node_info."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vcdebug.linear_pattern import PatternError, compile_pattern
from vcdebug.model.names import NodeName
from vcdebug.snapshot.manifest import JsonObject, label_selector_matches, name_of, spec_of

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
        """Whether the manifest states members, whether or not such nodes exist."""
        members = spec_of(self.manifest).get("members") or ()
        return any(
            member.get("type") == "Node" or ((member.get("selector") or {}).get("exactMatch") or {}).get("name")
            for member in members
        )


class _UnfinishedHyperNode(NamedTuple):
    """A HyperNode whose real nodes are being collected."""

    members: Iterator[JsonObject]
    real_nodes: dict[NodeName, None]


class HyperNodes:
    """All HyperNodes; `ready` is False when the tree cannot be built. Upstream: api/hyper_node_info.HyperNodesInfo."""

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
            self._add_hyper_node(manifest)
        for name in list(self.by_name):
            if name not in self.real_nodes and self.ready:
                self._build_hyper_node_cache(name)

    def _add_hyper_node(self, manifest: JsonObject) -> None:
        spec = spec_of(manifest)
        name = name_of(manifest)
        info = HyperNodeInfo(name, spec.get("tier") or 0, spec.get("tierName") or "", manifest)
        self.by_name[name] = info
        self.tiers.setdefault(info.tier, []).append(name)
        if info.tier_name:
            self.tier_names[info.tier_name] = info.tier

    def _build_hyper_node_cache(self, top: str) -> None:
        """Collect the real nodes of a HyperNode and all below. Upstream: api/hyper_node_info.BuildHyperNodeCache."""
        # A stack instead of recursion: a chain of HyperNodes may be longer than Python's recursion limit.
        chain = {top: self._begin(top)}
        while chain:
            name, (members, real) = next(reversed(chain.items()))
            member = next(members, None)
            if member is None:
                self.real_nodes[name] = real
                del chain[name]
                if chain:
                    next(reversed(chain.values())).real_nodes.update(real)
                continue
            selector = member.get("selector") or {}
            if member.get("type") == "Node":
                real.update(dict.fromkeys(self._matching_nodes(selector)))
            elif member.get("type") == "HyperNode":
                child = self._adopt_child(self.by_name[name], (selector.get("exactMatch") or {}).get("name") or "")
                if child in chain:
                    self._record_problem(
                        f"cyclic dependency detected: HyperNode {child} is already in the ancestor chain {list(chain)}"
                    )
                elif child in self.real_nodes:
                    real.update(self.real_nodes[child])
                elif child:
                    chain[child] = self._begin(child)

    def _begin(self, name: str) -> _UnfinishedHyperNode:
        return _UnfinishedHyperNode(iter(spec_of(self.by_name[name].manifest).get("members") or ()), {})

    def _adopt_child(self, parent: HyperNodeInfo, child: str) -> str:
        """Make a HyperNode the child of another; returns its name; empty if it has another parent."""
        if not child:
            return ""
        info = self.by_name.setdefault(child, HyperNodeInfo(child))
        if info.parent and info.parent != parent.name:
            self._record_problem(
                f"HyperNode {child} already has a parent {info.parent}, and cannot set another parent {parent.name}"
            )
            return ""
        info.parent = parent.name
        parent.children[child] = None
        return child

    def _record_problem(self, problem: str) -> None:
        self.ready = False
        self.problem = self.problem or problem

    def _matching_nodes(self, selector: JsonObject) -> Iterable[NodeName]:
        """Names of the nodes that a member's selectors match; none if Go rejects its pattern."""
        # Upstream compiles the pattern first and returns on an error, before it reads exactMatch.
        pattern = (selector.get("regexMatch") or {}).get("pattern")
        try:
            matches = self._match_pattern(pattern) if pattern else []
        except PatternError:
            return
        exact = (selector.get("exactMatch") or {}).get("name")
        if exact:
            yield exact
        yield from matches
        labels = selector.get("labelMatch")
        if labels and (labels.get("matchLabels") or labels.get("matchExpressions")):
            yield from (node for node, stated in self._labels.items() if label_selector_matches(labels, stated))

    def _match_pattern(self, pattern: str) -> list[NodeName]:
        matches = compile_pattern(pattern)
        return [node for node in self._labels if matches(node)]

    def add_cluster_top_hyper_node(self, node_names: Sequence[NodeName]) -> HyperNodeInfo:
        """The root above parentless HyperNodes, with all nodes. Upstream: framework/session.addClusterTopHyperNode."""
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

    def get_ancestors(self, name: str) -> list[str]:
        """The HyperNode itself, then its parents. Upstream: api/hyper_node_info.GetAncestors."""
        result: dict[str, None] = {}
        while name and name in self.by_name and name not in result:
            result[name] = None
            name = self.by_name[name].parent
        return list(result)

    def get_lca_hyper_node(self, left: str, right: str) -> str:
        """The lowest common ancestor; with one empty side the other one, without a common ancestor an empty name.
        Upstream: api/hyper_node_info.GetLCAHyperNode.
        """
        if not left or not right:
            return left or right
        candidates = dict.fromkeys(self.get_ancestors(left))
        return next((name for name in self.get_ancestors(right) if name in candidates), "")

    def stated_tiers(self) -> list[int]:
        """Tiers of HyperNode objects, ascending; without the virtual root's."""
        return [tier for tier in sorted(self.tiers) if self.tiers[tier] != [TOP_HYPER_NODE]]

    def stated_lca(self, left: str, right: str) -> str:
        """The lowest common ancestor that is a HyperNode object; empty without one, or where a side is empty.
        Upstream: api/hyper_node_info.GetLCAHyperNode.
        """
        common = self.get_lca_hyper_node(left, right) if left and right else ""
        return "" if common == TOP_HYPER_NODE else common

    def stated_for_node(self, node: NodeName) -> str:
        """Same as find_hyper_node_for_node, but empty if that is no HyperNode object."""
        return self.find_hyper_node_for_node(node) if self.stated_tiers() else ""

    def find_hyper_node_for_node(self, node: NodeName) -> str:
        """The first lowest HyperNode of the node, else empty. Upstream: util/scheduler_helper.FindHyperNodeForNode."""
        if not self.tiers:
            return ""
        lowest = sorted(self.tiers[min(self.tiers)])
        return next((name for name in lowest if node in self.real_nodes.get(name, {})), "")
