"""Nodes that the scheduler works with although something is wrong: not ready, or holding more than they have."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.model.node import NodeInfo
from vcdebug.model.resource import Resource
from vcdebug.snapshot.problem import Problem
from vcdebug.trace.recording import Recording

NOT_READY = "the scheduler does not look at conditions: it places pods there unless a taint keeps them away"
OVERFULL = "nothing that asks for it fits there until pods have gone"


def not_ready(node: NodeInfo) -> str:
    """The status of the condition Ready, where it is stated and not True."""
    conditions = (node.manifest.get("status") or {}).get("conditions") or ()
    ready = next((one for one in conditions if one.get("type") == "Ready"), None)
    status = str(ready.get("status")) if ready is not None else "True"
    return "" if status == "True" else status


def overfull(idle: Resource) -> list[str]:
    """Dimensions of which a node's tasks hold more than it has."""
    return [name for name, amount in idle.items() if amount < 0]


def unwell(recording: Recording) -> Iterator[Problem]:
    """A Problem for each, as the session opened."""
    opening = recording.timeline.state_at(0).nodes
    for name, node in recording.session.nodes.items():
        ready = not_ready(node)
        if ready:
            yield Problem("", f"Node {name}", "status.conditions", f"the condition Ready is {ready}", NOT_READY)
        below = overfull(opening[name].idle)
        if below:
            what = f"pods hold more {', '.join(below)} than the node has"
            yield Problem("", f"Node {name}", "status.allocatable", what, OVERFULL)
