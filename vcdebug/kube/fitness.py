"""Fitness: what a node's own marks say about it, so that nobody talks a pod onto a node that is out of order.

A taint is one of three things. The control plane's own says that the node is unfit, and goes when it is fit again. One
on a node that is cordoned, not Ready or in trouble belongs to that. Any other was set by somebody for a reason that
its key does not tell: it may reserve the node or take it out of service.
"""

from __future__ import annotations

from typing import Final

from vcdebug.kube.taints import NO_EXECUTE, PREFER_NO_SCHEDULE, Taint
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.manifest import spec_of, status_of

CONTROL_PLANE_PREFIXES: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Taints that the control plane sets and takes away by itself begin like this."""


def is_unfit(node: JsonObject) -> bool:
    """Whether a node is cordoned, not Ready, or reports any trouble."""
    conditions = status_of(node).get("conditions") or ()
    return bool(spec_of(node).get("unschedulable")) or any(_is_trouble(one) for one in conditions)


def _is_trouble(condition: JsonObject) -> bool:
    """Ready is wanted; every other condition that is True is a pressure or a fault."""
    return (condition.get("status") == "True") == (condition.get("type") != "Ready")


def may_be_lifted(taint: Taint, node: JsonObject) -> bool:
    """Whether somebody set the taint by hand on a node that is in order otherwise, so that it may be taken away."""
    by_hand = bool(taint.key) and not taint.key.startswith(CONTROL_PLANE_PREFIXES)
    return by_hand and taint.effect != PREFER_NO_SCHEDULE and not is_unfit(node)


def may_be_tolerated(taint: Taint, node: JsonObject) -> bool:
    """Whether a pod may be told to tolerate it: not what drives even running pods away."""
    return may_be_lifted(taint, node) and taint.effect != NO_EXECUTE
