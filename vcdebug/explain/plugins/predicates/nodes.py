"""Filters that look at the node itself: number of pods, cordon, taints, node selector and affinity, volumes, claims."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import format_number
from vcdebug.explain.equation import Term
from vcdebug.explain.plugin_explainer import AskedNode
from vcdebug.explain.predicate_reasons import format_field, format_node_term, format_requirement
from vcdebug.kube.dynamic_resources import ClaimState
from vcdebug.kube.node_affinity import NodeTerm
from vcdebug.kube.taints import (
    NO_EXECUTE,
    NO_SCHEDULE,
    UNSCHEDULABLE_TAINT,
    Taint,
    Toleration,
    parse_taints,
    tolerates_cordon,
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


def pod_number_terms(plugin: Predicates, asked: AskedNode) -> Iterator[Term]:
    """Pods beside the most that the node may have."""
    have, most = plugin.pod_numbers(asked.node.name)
    yield Term("pods", (have, most), have < most)


def proportion_terms(plugin: Predicates, asked: AskedNode) -> Iterator[Term]:
    """What the pod would leave of cpu and memory beside what idle accelerators are to find."""
    judge = next((one for one in plugin.active_filters if isinstance(one, ProportionalFilter)), None)
    for kept in judge.kept_idle(asked.pod, asked.node) if judge is not None else ():
        for kind, (left, least) in (("cpu", kept.cpu), ("memory", kept.memory)):
            yield Term(f"{kind} for {kept.resource}", (format_number(left), format_number(least)), left >= least)


def stable_terms(plugin: Predicates, asked: AskedNode) -> Iterator[Term]:
    """What does not change in a session: cordon, labels, taints."""
    node, wishes = asked.node, plugin.node_view.shapes.node_constraints(asked.pod)
    despite = tolerates_cordon(wishes.tolerations)
    if node.is_unschedulable:
        yield Term("cordon", ("unschedulable", _tolerations_text(UNSCHEDULABLE_TAINT, wishes.tolerations)), despite)
    if plugin.static_filters.affinity_on:
        for one in wishes.required.selector.requirements:
            holds = one.matches_labels(node.labels)
            yield Term(f"nodeSelector {one.key}", (_label_text(node, one.key), format_requirement(one)), holds)
        yield from _node_affinity_terms(node, wishes.required.terms)
    for taint in parse_taints(node.taints) if plugin.static_filters.taints_on else ():
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE):
            words = f"{taint.key}={taint.value}:{taint.effect}"
            tolerated = any(one.tolerates_taint(taint) for one in wishes.tolerations)
            yield Term("taint", (words, _tolerations_text(taint, wishes.tolerations)), tolerated)


def _node_affinity_terms(node: NodeInfo, terms: tuple[NodeTerm, ...] | None) -> Iterator[Term]:
    """One term has to hold as a whole: lines of the others are not judged once one does."""
    met = terms is not None and any(term.matches_node(node.labels, node.name) for term in terms)
    for place, term in enumerate(terms or (), start=1):
        name = f"affinity term {place}"
        if term.never:
            yield Term(name, (None, "never matches"), None if met else False)
        for one in term.labels.requirements:
            holds = one.matches_labels(node.labels)
            yield Term(name, (_label_text(node, one.key), format_requirement(one)), _judge_requirement(holds, met))
        for field in term.fields:
            yield Term(name, (node.name, format_field(field)), _judge_requirement(field.matches_name(node.name), met))
    if terms == ():
        yield Term("affinity", (None, "no term at all"), False)


def _judge_requirement(holds: bool, met: bool) -> bool | None:
    return True if holds else None if met else False


def _label_text(node: NodeInfo, key: str) -> str:
    return f"{key}={node.labels[key]}" if key in node.labels else f"no {key}"


def _tolerations_text(taint: Taint, tolerations: tuple[Toleration, ...]) -> str:
    """Those that accept the taint, else all of them."""
    accepting = [one for one in tolerations if one.tolerates_taint(taint)]
    told = [_toleration_text(one) for one in accepting or tolerations]
    return ("tolerates " if accepting else "tolerates only ") + ", ".join(told) if told else "tolerates nothing"


def _toleration_text(one: Toleration) -> str:
    value = f"={one.value}" if one.value else ""
    exists = " exists" if one.operator == "Exists" else ""
    return f"{one.key or 'any key'}{value}{exists}{f':{one.effect}' if one.effect else ''}"


# Volumes and claims


def volume_limit_terms(plugin: Predicates, asked: AskedNode) -> Iterator[Term]:
    """Each driver's volumes."""
    placed = plugin.node_view.pods[asked.row]
    check = next(one.check for one in plugin.active_filters if isinstance(one, NodeVolumeLimitsFilter))
    for one in check.driver_counts(asked.pod, asked.node.name, placed)[0]:
        yield Term(one.driver, (one.attached, one.new, one.limit), not one.exceeds_limit)


def volume_zone_terms(_: Predicates, asked: AskedNode) -> Iterator[Term]:
    """Each volume's zones beside the node's."""
    wanted: object = asked.cycle_state.data.get(VolumeZoneFilter.STATE)
    for one in wanted if isinstance(wanted, tuple) else ():
        here = zone_of(asked.node.labels, one)
        yield Term(one.key, (", ".join(one.values), here), here in one.values)


def volume_claim_terms(plugin: Predicates, asked: AskedNode) -> Iterator[Term]:
    """Each claim of the pod."""
    state, node = asked.cycle_state.data.get(VolumeBindingFilter.STATE), asked.node
    check = next(one.check for one in plugin.active_filters if isinstance(one, VolumeBindingFilter))
    for one in check.claim_fits(state, node.name, node.labels) if isinstance(state, VolumeState) else ():
        yield Term(one.claim, (one.volume or None, one.words), one.fits)


def resource_claim_terms(plugin: Predicates, asked: AskedNode) -> Iterator[Term]:
    """Each allocated resource claim; of the others each request, with the devices that it gets."""
    state, node = asked.cycle_state.data.get(DynamicResourcesFilter.STATE), asked.node
    if not isinstance(state, ClaimState) or plugin.claim_filter is None:
        return
    for selectors in state.selectors:
        met = any(term.matches_node(node.labels, node.name) for term in selectors)
        yield Term(" or ".join(map(format_node_term, selectors)), (None, None, None), met)
    found = {key_of(claim): one for claim, one in zip(state.unallocated, state.found.get(node.name, ()), strict=False)}
    for one in plugin.claim_filter.request_candidates(state, node.labels, node.name):
        results = found[one.claim].results if one.claim in found else ()
        gets = [f"{result['pool']}/{result['device']}" for result in results if result["request"] == one.request]
        wanted = "all" if one.wanted is None else one.wanted
        few = not gets and one.free_count < (one.wanted or 1)
        words = f"takes {', '.join(gets)}" if gets else "too few are free" if few else ""
        yield Term(
            f"{one.claim} {one.request}", (wanted, one.matching_count, one.free_count), True if gets else None, words
        )
