"""Filters that look at other pods: host ports, affinity between pods, and spread over domains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from vcdebug.explain.equation import Term
from vcdebug.explain.plugin_explainer import AskedNode
from vcdebug.explain.predicate_reasons import format_affinity_term, format_selector
from vcdebug.kube.node_view import NodeView
from vcdebug.kube.pod_affinity import AffinityState, AllTerms, IncomingTerm, PairCounts
from vcdebug.kube.pod_shape import PodShape
from vcdebug.kube.topology_spread import rows_with_all_keys, spread_domains
from vcdebug.plugins.predicates import Predicates
from vcdebug.plugins.predicates.filters import InterPodAffinityFilter, PodTopologySpreadFilter

SHOWN_PODS = 3
SHOWN_DOMAINS = 12


def port_terms(plugin: Predicates, asked: AskedNode) -> Iterator[Term]:
    """Each wanted port, and who holds it."""
    view, row = plugin.node_view, asked.row
    for wanted in view.shapes.pod_shape(asked.pod).ports:
        holders = [
            pod.key for pod in view.pods[row] if any(map(wanted.conflicts_with, view.shapes.pod_shape(pod).ports))
        ]
        free = row not in view.ports.conflicting_rows((wanted,))
        yield Term(f"{wanted.port}/{wanted.protocol} on {wanted.ip}", (", ".join(holders) or "nobody",), free)


def pod_affinity_terms(plugin: Predicates, asked: AskedNode) -> Iterator[Term]:
    """The pod's own terms, then those of pods that are placed."""
    state = asked.cycle_state.data.get(InterPodAffinityFilter.STATE)
    return _terms_by_state(plugin.node_view, asked, state) if isinstance(state, AffinityState) else iter(())


def _terms_by_state(view: NodeView, asked: AskedNode, state: AffinityState) -> Iterator[Term]:
    row, incoming = asked.row, state.incoming
    alone = not any(counts.any() for counts in state.affinity.values()) and incoming.required_affinity.matches_group(
        state.group
    )
    for one in incoming.required_affinity.terms:
        domain, count = _count_in_domain(view, state.affinity, one.topology_key, row)
        which = _pods_in_domain(view, asked, one.topology_key, partial(_matches_group, incoming.required_affinity))
        holds = domain is not None and (count > 0 or alone)
        words = "no pod matches anywhere, and the pod matches itself: it may be the first" if alone else ""
        yield Term(f"affinity to {format_affinity_term(one.term)}", (domain, count, which), holds, words)
    for one in incoming.required_anti_affinity:
        domain, count = _count_in_domain(view, state.anti, one.topology_key, row)
        which = _pods_in_domain(view, asked, one.topology_key, partial(_matches_group, one))
        yield Term(f"none of {format_affinity_term(one.term)}", (domain, count, which), count <= 0)
    for key in state.existing_anti:
        domain, count = _count_in_domain(view, state.existing_anti, key, row)
        which = _pods_in_domain(view, asked, key, partial(_repels_incoming, key, state))
        yield Term(f"pods that want none of it by {key}", (domain, count, which), count <= 0)


def _matches_group(wanted: IncomingTerm | AllTerms, shape: PodShape) -> bool:
    return wanted.matches_group(shape.group)


def _repels_incoming(key: str, state: AffinityState, shape: PodShape) -> bool:
    terms = shape.affinity.required_anti_affinity
    return any(term.topology_key == key and term.matches_group(state.group, state.namespace_labels) for term in terms)


def _count_in_domain(view: NodeView, pairs: PairCounts, key: str, row: int) -> tuple[str | None, int]:
    """(the node's value of the key, what was counted there)."""
    column = view.labels.label_column(key)
    value = int(column.ids[row])
    counts = pairs.get(key)
    return (column.values[value] if value >= 0 else None), int(counts[value]) if counts is not None else 0


def _pods_in_domain(view: NodeView, asked: AskedNode, key: str, matches: Callable[[PodShape], bool]) -> str:
    """Pods in the node's domain that a condition is about, without those that a dry run took away."""
    row, away = asked.row, dict.fromkeys(asked.away)
    ids = view.labels.label_column(key).ids
    rows = [row] if ids[row] < 0 else [other for other in range(len(view)) if ids[other] == ids[row]]
    found = [pod.key for other in rows for pod in view.pods[other] if matches(view.shapes.pod_shape(pod))]
    found = [key for key in found if key not in away]
    more = f" and {len(found) - SHOWN_PODS} more" if len(found) > SHOWN_PODS else ""
    return f"{', '.join(found[:SHOWN_PODS])}{more}"


def spread_terms(plugin: Predicates, asked: AskedNode) -> Iterator[Term]:
    """Each hard constraint: the node's domain first, then the others."""
    view = plugin.node_view
    spread_filter = next(one for one in plugin.active_filters if isinstance(one, PodTopologySpreadFilter))
    constraints = spread_filter.hard_constraints(asked.pod)
    labelled = rows_with_all_keys(view, constraints)
    shapes = view.shapes
    for constraint in constraints:
        counted = spread_domains(
            view, constraint, labelled, shapes.label_group(asked.pod), shapes.node_constraints(asked.pod)
        )
        own = int(counted.column.ids[asked.row])
        key, about = constraint.topology_key, format_selector(constraint.selector)
        if own < 0:
            yield Term(
                f"{key} ({about})", (None, None, None, None, constraint.max_skew), False, "the node lacks the label"
            )
        places = [own] if own >= 0 else []
        places += [value for value in range(len(counted.column.values)) if value != own and counted.known[value]]
        for value in places[:SHOWN_DOMAINS]:
            pods = int(counted.per_value[value])
            skew = pods + counted.itself - counted.lowest
            figures = (pods, counted.itself, counted.lowest, skew, constraint.max_skew)
            name = f"{key}={counted.column.values[value]}"
            here = value == own
            yield Term(
                name, figures, skew <= constraint.max_skew if here else None, about if here else "another domain"
            )
