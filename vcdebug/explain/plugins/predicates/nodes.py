"""Filters that look at the node itself: number of pods, cordon, taints, node selector and affinity, volumes, claims."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import number
from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Term
from vcdebug.explain.selectors import field_text, requirement_text, term_text
from vcdebug.kube.dynamic_resources import ClaimState
from vcdebug.kube.node_affinity import NodeTerm
from vcdebug.kube.taints import (
    NO_EXECUTE,
    NO_SCHEDULE,
    UNSCHEDULABLE_TAINT,
    Taint,
    Toleration,
    parse_taints,
    schedulable_despite_cordon,
)
from vcdebug.kube.volume_binding import VolumeState
from vcdebug.kube.volume_zone import zone_of
from vcdebug.model.node import NodeInfo
from vcdebug.plugins.predicates import Predicates
from vcdebug.plugins.predicates.proportional import ProportionalFilter
from vcdebug.plugins.predicates.volume_filters import (
    DynamicResourcesFilter,
    NodeVolumeLimitsFilter,
    VolumeBindingFilter,
    VolumeZoneFilter,
)
from vcdebug.snapshot.manifest import key_of


def pod_number(plugin: Predicates, asked: Asked) -> Iterator[Term]:
    """Pods beside the most that the node may have."""
    have, most = plugin.pod_numbers(asked.node.name)
    yield Term("pods", (have, most), have < most)


def proportions(plugin: Predicates, asked: Asked) -> Iterator[Term]:
    """What the pod would leave of cpu and memory beside what idle accelerators are to find."""
    judge = next((one for one in plugin.filters if isinstance(one, ProportionalFilter)), None)
    for kept in judge.kept(asked.pod, asked.node) if judge is not None else ():
        for kind, (left, least) in (("cpu", kept.cpu), ("memory", kept.memory)):
            yield Term(f"{kind} for {kept.resource}", (number(left), number(least)), left >= least)


def stable(plugin: Predicates, asked: Asked) -> Iterator[Term]:
    """What does not change in a session: cordon, labels, taints."""
    node, wishes = asked.node, plugin.view.shapes.placement(asked.pod)
    despite = schedulable_despite_cordon(wishes.tolerations)
    if node.unschedulable:
        yield Term("cordon", ("unschedulable", _tolerations(UNSCHEDULABLE_TAINT, wishes.tolerations)), despite)
    if plugin.stable.affinity_on:
        for one in wishes.required.selector.requirements:
            holds = one.matches(node.labels)
            yield Term(f"nodeSelector {one.key}", (_label(node, one.key), requirement_text(one)), holds)
        yield from _affinity(node, wishes.required.terms)
    for taint in parse_taints(node.taints) if plugin.stable.taints_on else ():
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE):
            words = f"{taint.key}={taint.value}:{taint.effect}"
            tolerated = any(one.tolerates(taint) for one in wishes.tolerations)
            yield Term("taint", (words, _tolerations(taint, wishes.tolerations)), tolerated)


def _affinity(node: NodeInfo, terms: tuple[NodeTerm, ...] | None) -> Iterator[Term]:
    """One term has to hold as a whole: lines of the others are not judged once one does."""
    met = terms is not None and any(term.matches(node.labels, node.name) for term in terms)
    for place, term in enumerate(terms or (), start=1):
        name = f"affinity term {place}"
        if term.never:
            yield Term(name, (None, "never matches"), None if met else False)
        for one in term.labels.requirements:
            holds = one.matches(node.labels)
            yield Term(name, (_label(node, one.key), requirement_text(one)), _judged(holds, met))
        for field in term.fields:
            yield Term(name, (node.name, field_text(field)), _judged(field.matches(node.name), met))
    if terms == ():
        yield Term("affinity", (None, "no term at all"), False)


def _judged(holds: bool, met: bool) -> bool | None:
    return True if holds else None if met else False


def _label(node: NodeInfo, key: str) -> str:
    return f"{key}={node.labels[key]}" if key in node.labels else f"no {key}"


def _tolerations(taint: Taint, tolerations: tuple[Toleration, ...]) -> str:
    """Those that accept the taint, else all of them."""
    accepting = [one for one in tolerations if one.tolerates(taint)]
    told = [_toleration(one) for one in accepting or tolerations]
    return ("tolerates " if accepting else "tolerates only ") + ", ".join(told) if told else "tolerates nothing"


def _toleration(one: Toleration) -> str:
    value = f"={one.value}" if one.value else ""
    exists = " exists" if one.operator == "Exists" else ""
    return f"{one.key or 'any key'}{value}{exists}{f':{one.effect}' if one.effect else ''}"


# Volumes and claims


def volume_limits(plugin: Predicates, asked: Asked) -> Iterator[Term]:
    """Each driver's volumes."""
    placed = plugin.view.pods[asked.row]
    check = next(one.check for one in plugin.filters if isinstance(one, NodeVolumeLimitsFilter))
    for one in check.drivers(asked.pod, asked.node.name, placed)[0]:
        yield Term(one.driver, (one.attached, one.new, one.limit), not one.exceeds)


def volume_zones(_: Predicates, asked: Asked) -> Iterator[Term]:
    """Each volume's zones beside the node's."""
    wanted: object = asked.state.data.get(VolumeZoneFilter.STATE)
    for one in wanted if isinstance(wanted, tuple) else ():
        here = zone_of(asked.node.labels, one)
        yield Term(one.key, (", ".join(one.values), here), here in one.values)


def volume_claims(plugin: Predicates, asked: Asked) -> Iterator[Term]:
    """Each claim of the pod."""
    state, node = asked.state.data.get(VolumeBindingFilter.STATE), asked.node
    check = next(one.check for one in plugin.filters if isinstance(one, VolumeBindingFilter))
    for one in check.claims(state, node.name, node.labels) if isinstance(state, VolumeState) else ():
        yield Term(one.claim, (one.volume or None, one.words), one.fits)


def resource_claims(plugin: Predicates, asked: Asked) -> Iterator[Term]:
    """Each allocated resource claim; of the others each request, with the devices that it gets."""
    state, node = asked.state.data.get(DynamicResourcesFilter.STATE), asked.node
    if not isinstance(state, ClaimState) or plugin.claims is None:
        return
    for selectors in state.selectors:
        met = any(term.matches(node.labels, node.name) for term in selectors)
        yield Term(" or ".join(map(term_text, selectors)), (None, None, None), met)
    found = {key_of(claim): one for claim, one in zip(state.unallocated, state.found.get(node.name, ()), strict=False)}
    for one in plugin.claims.candidates(state, node.labels, node.name):
        results = found[one.claim].results if one.claim in found else ()
        gets = [f"{result['pool']}/{result['device']}" for result in results if result["request"] == one.request]
        wanted = "all" if one.wanted is None else one.wanted
        few = not gets and one.free < (one.wanted or 1)
        words = f"takes {', '.join(gets)}" if gets else "too few are free" if few else ""
        yield Term(f"{one.claim} {one.request}", (wanted, one.matching, one.free), True if gets else None, words)
