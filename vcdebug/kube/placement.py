"""What a pod asks of the node itself: node selector, node affinity, tolerations.

Upstream: k8s plugins nodeaffinity, tainttoleration, nodeunschedulable.
"""

from __future__ import annotations

from dataclasses import dataclass

from vcdebug.kube.node_affinity import (
    PreferredNodeTerm,
    RequiredNodeAffinity,
    asks_nothing,
    names_conflict,
    preferred_node_terms,
    required_node_affinity,
)
from vcdebug.kube.selector import SelectorError
from vcdebug.kube.taints import Tolerations, parse_tolerations
from vcdebug.snapshot.json_values import JsonObject


@dataclass(frozen=True, slots=True, eq=False)
class NodeConstraints:
    """Parsed wishes about nodes; compared by identity, because equal texts share one object."""

    required: RequiredNodeAffinity
    asks_nothing: bool
    """PreFilter skips NodeAffinity."""
    names_conflict: bool
    """No node name can satisfy the terms."""
    preferred: tuple[PreferredNodeTerm, ...] | None
    """None when the pod states no preference."""
    preferred_error: str
    tolerations: Tolerations


def parse_node_constraints(spec: JsonObject) -> NodeConstraints:
    """Parse the parts of a pod's spec that are about nodes."""
    preferred, error = _parse_preferred(spec)
    return NodeConstraints(
        required=required_node_affinity(spec),
        asks_nothing=asks_nothing(spec),
        names_conflict=names_conflict(spec),
        preferred=preferred,
        preferred_error=error,
        tolerations=parse_tolerations(spec.get("tolerations")),
    )


def _parse_preferred(spec: JsonObject) -> tuple[tuple[PreferredNodeTerm, ...] | None, str]:
    try:
        return preferred_node_terms(spec), ""
    except SelectorError as error:
        return (), str(error)
