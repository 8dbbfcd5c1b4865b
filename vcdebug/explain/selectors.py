"""Conditions on labels and names in words."""

from __future__ import annotations

from vcdebug.kube.affinity_terms import AffinityTerm
from vcdebug.kube.node_affinity import FieldRequirement, NodeTerm
from vcdebug.kube.selector import Requirement, Selector


def requirement_text(one: Requirement) -> str:
    """`zone=a`, `zone In (a, b)`, `zone Exists`."""
    if one.operator == "In" and len(one.values) == 1:
        return f"{one.key}={one.values[0]}"
    values = f" ({', '.join(one.values)})" if one.values else ""
    return f"{one.key} {one.operator}{values}"


def selector_text(selector: Selector) -> str:
    """Every requirement; what a missing selector means."""
    if selector.nothing:
        return "no pod"
    return ", ".join(requirement_text(one) for one in selector.requirements)


def field_text(one: FieldRequirement) -> str:
    """`metadata.name=n1`."""
    return f"{one.field}{'≠' if one.negated else '='}{one.value}"


def term_text(term: NodeTerm) -> str:
    """A term of node affinity."""
    if term.never:
        return "a term that never matches"
    told = [requirement_text(one) for one in term.labels.requirements] + [field_text(one) for one in term.fields]
    return ", ".join(told) or "any node"


def affinity_term_text(term: AffinityTerm) -> str:
    """A term of affinity between pods: which pods, and in which domain."""
    return f"{selector_text(term.selector) or 'any pod'} by {term.topology_key}"
