"""Conditions on labels and names in words."""

from __future__ import annotations

from vcdebug.kube.affinity_terms import AffinityTerm
from vcdebug.kube.node_affinity import FieldRequirement, NodeTerm
from vcdebug.kube.selector import Requirement, Selector


def format_requirement(one: Requirement) -> str:
    """`zone=a`, `zone In (a, b)`, `zone Exists`."""
    if one.operator == "In" and len(one.values) == 1:
        return f"{one.key}={one.values[0]}"
    values = f" ({', '.join(one.values)})" if one.values else ""
    return f"{one.key} {one.operator}{values}"


def format_selector(selector: Selector) -> str:
    """Every requirement; what a missing selector means."""
    if selector.nothing:
        return "no pod"
    return ", ".join(format_requirement(one) for one in selector.requirements)


def format_field(one: FieldRequirement) -> str:
    """`metadata.name=n1`."""
    return f"{one.field}{'≠' if one.negated else '='}{one.value}"


def format_node_term(term: NodeTerm) -> str:
    """A term of node affinity."""
    if term.never:
        return "a term that never matches"
    told = [format_requirement(one) for one in term.labels.requirements] + [format_field(one) for one in term.fields]
    return ", ".join(told) or "any node"


def format_affinity_term(term: AffinityTerm) -> str:
    """A term of affinity between pods: which pods, and in which domain."""
    return f"{format_selector(term.selector) or 'any pod'} by {term.topology_key}"
