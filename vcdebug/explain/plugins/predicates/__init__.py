"""predicates: what each Kubernetes filter compares on one node, up to the one that ends it.

Upstream: plugins/predicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation, Term, first_failing
from vcdebug.explain.plugin import PluginWords
from vcdebug.explain.plugins.deviceshare import cards
from vcdebug.explain.plugins.predicates import nodes, pods
from vcdebug.model.devices.drawn import drawn
from vcdebug.plugins.predicates import POD_NUMBER, STABLE, Predicates
from vcdebug.plugins.predicates.filters import InterPodAffinityFilter, NodePortsFilter, PodTopologySpreadFilter
from vcdebug.plugins.predicates.proportional import ProportionalFilter
from vcdebug.plugins.predicates.stable import EquivalenceCache
from vcdebug.plugins.predicates.volume_filters import (
    DynamicResourcesFilter,
    NodeVolumeLimitsFilter,
    VolumeBindingFilter,
    VolumeZoneFilter,
)


class Inside(NamedTuple):
    """What a filter compares on a node, as a formula and its lines."""

    title: str
    """The node's name stands behind it."""
    formula: str
    columns: tuple[str, ...]
    lines: Callable[[Predicates, Asked], Iterable[Term]]

    def equation(self, plugin: Predicates, asked: Asked, objection: str | None) -> Equation:
        """The verdict is the filter's own."""
        terms = tuple(self.lines(plugin, asked))
        deciding = first_failing(terms) if self.lines is not nodes.pod_number else None
        verdict, title = objection is None, f"{self.title} {asked.node.name}"
        return Equation(title, self.formula, self.columns, "check", terms, verdict, deciding, objection or "")


INSIDES: Mapping[str, Inside] = {
    POD_NUMBER: Inside(
        "number of pods on", "pods < the most that the node may have", ("on it", "most"), nodes.pod_number
    ),
    STABLE: Inside(
        "labels and taints of",
        "not cordoned; every requirement of the selector and of one affinity term; every taint tolerated",
        ("the node has", "the pod says"),
        nodes.stable,
    ),
    NodePortsFilter.name: Inside(
        "host ports of",
        "no pod of the node holds a port that the pod asks for; a port is freed when any of its pods leaves",
        ("held by",),
        pods.ports,
    ),
    InterPodAffinityFilter.name: Inside(
        "affinity between pods on",
        "affinity: pods in the node's domain > 0 for every term; anti-affinity, own and of others: none",
        ("domain", "pods", "which"),
        pods.affinity,
    ),
    PodTopologySpreadFilter.name: Inside(
        "topology spread on",
        "skew = matching pods in the domain + the pod itself − fewest in any domain ≤ max skew",
        ("pods", "itself", "fewest", "skew", "max skew"),
        pods.spread,
    ),
    NodeVolumeLimitsFilter.name: Inside(
        "volumes attached to",
        "attached + new volumes of a driver ≤ its limit on the node",
        ("attached", "new", "limit"),
        nodes.volume_limits,
    ),
    VolumeZoneFilter.name: Inside(
        "zones of volumes on",
        "the node's zone or region is one of the volume's; a node without such labels passes",
        ("the volume's", "the node's"),
        nodes.volume_zones,
    ),
    ProportionalFilter.name: Inside(
        "proportions on",
        "what stays idle of cpu and memory ≥ idle accelerators × their rates; a pod that asks for one passes",
        ("stays", "at least"),
        nodes.proportions,
    ),
    VolumeBindingFilter.name: Inside(
        "claims of the pod on",
        "bound volumes reach the node; the others are available there, or can be provisioned",
        ("volume", ""),
        nodes.volume_claims,
    ),
    DynamicResourcesFilter.name: Inside(
        "resource claims on",
        "the node meets a selector term of each allocated claim, and has free devices for the others",
        ("asked for", "of the kind", "free"),
        nodes.resource_claims,
    ),
}
NO_TERMS = "neither the pod nor any that is placed has a term about the other: PreFilter skips it"
CACHE_FORMULA = "a template that failed on a node once fails there for the rest of the session, without a reason"
REMEMBERED = {
    EquivalenceCache.UNKNOWN: "nothing",
    EquivalenceCache.FAILED: "failed",
    EquivalenceCache.PASSED: "passed",
}


def refusals(asked: Asked) -> Iterator[Equation]:
    """Filter by filter, up to the one that objects."""
    plugin = asked.plugin(Predicates)
    for name, status in plugin.judged(asked.task, asked.node.name):
        yield INSIDES[name].equation(plugin, asked, status.reason if status is not None else None)


def simulated(asked: Asked) -> Iterator[Equation]:
    """What a dry run asks of the filters: affinity between pods as counted there, and the devices of the copy."""
    if asked.simulated is None:
        return
    plugin, state, copy = asked.plugin(Predicates), asked.state, asked.simulated.node.clone()
    inside = INSIDES[InterPodAffinityFilter.name]
    if InterPodAffinityFilter.name in state.skip:
        yield Equation(f"{inside.title} {asked.node.name}", inside.formula, (), "check", (), True, None, NO_TERMS)
    for check, objection in plugin.simulated(state, asked.task, copy):
        if check == InterPodAffinityFilter.name:
            yield inside.equation(plugin, asked, objection)
        else:
            yield cards(asked, check, drawn(asked.node.devices[check], asked.pod), objection)


def remembered(asked: Asked) -> Equation | None:
    """What the equivalence cache knows of the pod's template on the node; None where it is not asked."""
    known = asked.plugin(Predicates).remembered(asked.task, asked.node.name)
    if known is None:
        return None
    term = Term(f"template {known[0]}", (asked.node.name, REMEMBERED[known[1]]), None)
    title, columns = "equivalence cache (predicate.CacheEnable)", ("node", "remembers")
    return Equation(title, CACHE_FORMULA, columns, "check", (term,), known[1])


WORDS = PluginWords(refusals=refusals, simulated=simulated)
