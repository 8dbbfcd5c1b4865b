"""predicates: what each Kubernetes filter compares on one node, up to the one that ends it.

Upstream: plugins/predicates.
Upstream: plugins/predicates (PrePredicate), k8s framework CycleState.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from vcdebug.amount_text import count_noun
from vcdebug.explain.equation import Equation, Term, first_failing
from vcdebug.explain.plugin_explainer import AskedNode, PluginExplainer
from vcdebug.explain.plugins.deviceshare import cards_equation
from vcdebug.explain.plugins.predicates import nodes, pods
from vcdebug.kube.dynamic_resources import ClaimState
from vcdebug.kube.pod_affinity import AffinityState
from vcdebug.kube.ports import HostPort
from vcdebug.kube.volume_binding import VolumeState
from vcdebug.kube.volume_zone import ZoneLimit
from vcdebug.model.devices.card_states import card_overview
from vcdebug.plugins.predicates import POD_NUMBER, STABLE, Predicates
from vcdebug.plugins.predicates.filters import InterPodAffinityFilter, NodePortsFilter, PodTopologySpreadFilter
from vcdebug.plugins.predicates.proportional import ProportionalFilter
from vcdebug.plugins.predicates.static_filters import EquivalenceCache
from vcdebug.plugins.predicates.volume_filters import (
    DynamicResourcesFilter,
    NodeVolumeLimitsFilter,
    VolumeBindingFilter,
    VolumeZoneFilter,
)


class FilterExplainer(NamedTuple):
    """What a filter compares on a node, as a formula and its lines."""

    title: str
    """The node's name stands behind it."""
    formula: str
    columns: tuple[str, ...]
    lines: Callable[[Predicates, AskedNode], Iterable[Term]]

    def filter_equation(self, plugin: Predicates, asked: AskedNode, objection: str | None) -> Equation:
        """The verdict is the filter's own."""
        terms = tuple(self.lines(plugin, asked))
        deciding = first_failing(terms) if self.lines is not nodes.pod_number_terms else None
        verdict, title = objection is None, f"{self.title} {asked.node.name}"
        return Equation(title, self.formula, self.columns, "check", terms, verdict, deciding, objection or "")


FILTER_EXPLAINERS: Mapping[str, FilterExplainer] = {
    POD_NUMBER: FilterExplainer(
        "number of pods on", "pods < the most that the node may have", ("on it", "most"), nodes.pod_number_terms
    ),
    STABLE: FilterExplainer(
        "labels and taints of",
        "not cordoned; every requirement of the selector and of one affinity term; every taint tolerated",
        ("the node has", "the pod says"),
        nodes.stable_terms,
    ),
    NodePortsFilter.name: FilterExplainer(
        "host ports of",
        "no pod of the node holds a port that the pod asks for; a port is freed when any of its pods leaves",
        ("held by",),
        pods.port_terms,
    ),
    InterPodAffinityFilter.name: FilterExplainer(
        "affinity between pods on",
        "affinity: pods in the node's domain > 0 for every term; anti-affinity, own and of others: none",
        ("domain", "pods", "which"),
        pods.pod_affinity_terms,
    ),
    PodTopologySpreadFilter.name: FilterExplainer(
        "topology spread on",
        "skew = matching pods in the domain + the pod itself − fewest in any domain ≤ max skew",
        ("pods", "itself", "fewest", "skew", "max skew"),
        pods.spread_terms,
    ),
    NodeVolumeLimitsFilter.name: FilterExplainer(
        "volumes attached to",
        "attached + new volumes of a driver ≤ its limit on the node",
        ("attached", "new", "limit"),
        nodes.volume_limit_terms,
    ),
    VolumeZoneFilter.name: FilterExplainer(
        "zones of volumes on",
        "the node's zone or region is one of the volume's; a node without such labels passes",
        ("the volume's", "the node's"),
        nodes.volume_zone_terms,
    ),
    ProportionalFilter.name: FilterExplainer(
        "proportions on",
        "what stays idle of cpu and memory ≥ idle accelerators × their rates; a pod that asks for one passes",
        ("stays", "at least"),
        nodes.proportion_terms,
    ),
    VolumeBindingFilter.name: FilterExplainer(
        "claims of the pod on",
        "bound volumes reach the node; the others are available there, or can be provisioned",
        ("volume", ""),
        nodes.volume_claim_terms,
    ),
    DynamicResourcesFilter.name: FilterExplainer(
        "resource claims on",
        "the node meets a selector term of each allocated claim, and has free devices for the others",
        ("asked for", "of the kind", "free"),
        nodes.resource_claim_terms,
    ),
}
NO_TERMS = "neither the pod nor any that is placed has a term about the other: PreFilter skips it"
CACHE_FORMULA = "a template that failed on a node once fails there for the rest of the session, without a reason"
CACHE_WORDS = {
    EquivalenceCache.UNKNOWN: "nothing",
    EquivalenceCache.FAILED: "failed",
    EquivalenceCache.PASSED: "passed",
}


def check_equations(asked: AskedNode) -> Iterator[Equation]:
    """Filter by filter, up to the one that objects."""
    plugin = asked.plugin_of_kind(Predicates)
    for name, status in plugin.judge_node(asked.task, asked.node.name):
        yield FILTER_EXPLAINERS[name].filter_equation(plugin, asked, status.reason if status is not None else None)


def simulated_equations(asked: AskedNode) -> Iterator[Equation]:
    """What a dry run asks of the filters: affinity between pods as counted there, and the devices of the copy."""
    if asked.simulated is None:
        return
    plugin, state, copy = asked.plugin_of_kind(Predicates), asked.cycle_state, asked.simulated.node.clone()
    inside = FILTER_EXPLAINERS[InterPodAffinityFilter.name]
    if InterPodAffinityFilter.name in state.skip:
        yield Equation(f"{inside.title} {asked.node.name}", inside.formula, (), "check", (), True, None, NO_TERMS)
    for check, objection in plugin.simulated_checks(state, asked.task, copy):
        if check == InterPodAffinityFilter.name:
            yield inside.filter_equation(plugin, asked, objection)
        else:
            yield cards_equation(asked, check, card_overview(asked.node.devices[check], asked.pod), objection)


def cached_verdict(asked: AskedNode) -> Equation | None:
    """What the equivalence cache knows of the pod's template on the node; None where it is not asked."""
    known = asked.plugin_of_kind(Predicates).cached_template(asked.task, asked.node.name)
    if known is None:
        return None
    term = Term(f"template {known[0]}", (asked.node.name, CACHE_WORDS[known[1]]), None)
    title, columns = "equivalence cache (predicate.CacheEnable)", ("node", "remembers")
    return Equation(title, CACHE_FORMULA, columns, "check", (term,), known[1])


EXPLAINER = PluginExplainer(refusals=check_equations, simulated=simulated_equations)


# What PreFilter left for a pod: which filters have nothing to say about it, and what the others counted.

STATE_KEYS = {
    NodePortsFilter.name: NodePortsFilter.STATE,
    InterPodAffinityFilter.name: InterPodAffinityFilter.STATE,
    PodTopologySpreadFilter.name: PodTopologySpreadFilter.STATE,
    VolumeZoneFilter.name: VolumeZoneFilter.STATE,
    VolumeBindingFilter.name: VolumeBindingFilter.STATE,
    DynamicResourcesFilter.name: DynamicResourcesFilter.STATE,
}


class PreparedFilter(NamedTuple):
    """One filter after PreFilter."""

    filter: str
    key: str
    """Its entry in the CycleState; empty where it keeps none."""
    skipped: bool
    found: str
    """What it counted, in words."""


def prepared_filters(asked: AskedNode) -> Iterator[PreparedFilter]:
    """Every filter in the order in which they are asked."""
    if Predicates.name not in asked.session.plugins:
        return
    state = asked.cycle_state
    for one in asked.plugin_of_kind(Predicates).active_filters:
        key = STATE_KEYS.get(one.name, "")
        yield PreparedFilter(one.name, key, one.name in state.skip, _format_entry(state.data.get(key)))


def _format_entry(entry: object) -> str:
    if isinstance(entry, AffinityState):
        named = (("affinity", entry.affinity), ("anti-affinity", entry.anti), ("of placed pods", entry.existing_anti))
        told = [f"{what} by {', '.join(pairs)}" for what, pairs in named if pairs]
        return "; ".join(told)
    if isinstance(entry, VolumeState):
        return f"{count_noun(len(entry.bound), 'bound claim')}, {len(entry.delayed)} that wait for a node"
    if isinstance(entry, ClaimState):
        return (
            f"{len(entry.selectors)} allocated claims, {len(entry.unallocated)} to allocate"
            if _has_claims(entry)
            else ""
        )
    return ", ".join(_format_item(item) for item in entry) if isinstance(entry, tuple) else ""


def _has_claims(entry: ClaimState) -> bool:
    return bool(entry.selectors or entry.unallocated)


def _format_item(item: object) -> str:
    if isinstance(item, HostPort):
        return f"{item.port}/{item.protocol}"
    return f"{item.key} {' or '.join(item.values)}" if isinstance(item, ZoneLimit) else str(item)
