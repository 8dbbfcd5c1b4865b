"""predicates: what each Kubernetes filter compares on one node, up to the one that ends it.

Upstream: plugins/predicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from vcdebug.explain.asked import Asked
from vcdebug.explain.cards import cards
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.plugin import PluginWords
from vcdebug.explain.plugins.predicates import nodes, pods, volumes
from vcdebug.model.devices.drawn import drawn
from vcdebug.plugins.predicates import POD_NUMBER, STABLE, Predicates
from vcdebug.plugins.predicates.filters import InterPodAffinityFilter, NodePortsFilter, PodTopologySpreadFilter
from vcdebug.plugins.predicates.stable import EquivalenceCache
from vcdebug.plugins.predicates.volume_filters import (
    DynamicResourcesFilter,
    NodeVolumeLimitsFilter,
    VolumeBindingFilter,
    VolumeZoneFilter,
)

Inside = Callable[[Predicates, Asked], Equation]

INSIDES: Mapping[str, Inside] = {
    POD_NUMBER: nodes.pod_number,
    STABLE: nodes.stable,
    NodePortsFilter.name: pods.ports,
    InterPodAffinityFilter.name: pods.affinity,
    PodTopologySpreadFilter.name: pods.spread,
    NodeVolumeLimitsFilter.name: volumes.limits,
    VolumeZoneFilter.name: volumes.zones,
    VolumeBindingFilter.name: volumes.binding,
    DynamicResourcesFilter.name: volumes.claims,
}
CACHE_FORMULA = "a template that failed on a node once fails there for the rest of the session, without a reason"
REMEMBERED = {
    EquivalenceCache.UNKNOWN: "nothing",
    EquivalenceCache.FAILED: "failed",
    EquivalenceCache.PASSED: "passed",
}


def refusals(asked: Asked) -> Iterator[Equation]:
    """Filter by filter; the verdict is the filter's own."""
    plugin = asked.plugin(Predicates)
    if plugin is None:
        return
    for name, status in plugin.judged(asked.task, asked.node.name):
        found = INSIDES[name](plugin, asked)
        yield replace(found, verdict=status is None, note=status.reason if status is not None else found.note)


def simulated(asked: Asked) -> Iterator[Equation]:
    """What a dry run asks of the filters: affinity between pods as counted there, and the devices of the copy."""
    plugin = asked.plugin(Predicates)
    if plugin is None or asked.simulated is None:
        return
    state, name = asked.state, InterPodAffinityFilter.name
    if name in state.skip:
        title = f"affinity between pods on {asked.node.name}"
        yield Equation(title, pods.AFFINITY_FORMULA, (), "check", (), True, None, pods.NO_TERMS)
    copy = asked.simulated.node.clone()
    for check, objection in plugin.simulated(state, asked.task, copy):
        if check == name:
            inside = pods.affinity(plugin, asked)
            yield replace(inside, verdict=objection is None, note=objection or inside.note)
        else:
            yield cards(asked, check, drawn(asked.node.devices[check], asked.pod), objection)


def remembered(asked: Asked) -> Equation | None:
    """What the equivalence cache knows of the pod's template on the node; None where it is not asked."""
    plugin = asked.plugin(Predicates)
    known = None if plugin is None else plugin.remembered(asked.task, asked.node.name)
    if known is None:
        return None
    term = Term(f"template {known[0]}", (asked.node.name, REMEMBERED[known[1]]), None)
    title, columns = "equivalence cache (predicate.CacheEnable)", ("node", "remembers")
    return Equation(title, CACHE_FORMULA, columns, "check", (term,), known[1])


WORDS = PluginWords(refusals=refusals, simulated=simulated)
