"""Nodes that are cordoned, tainted or not ready: found once, since a large cluster has few of them."""

from __future__ import annotations

from collections.abc import Mapping

from vcdebug.model.names import NodeName
from vcdebug.model.node import NodeInfo
from vcdebug.snapshot.manifest import status_of
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording


@per_recording()
def noteworthy_nodes(recording: Recording) -> Mapping[NodeName, str]:
    """Each with the status of its condition Ready, where that is stated and not True."""
    asked = ((node, ready_status(node)) for node in recording.session.nodes.values())
    return {node.name: ready for node, ready in asked if ready or node.is_unschedulable or node.taints}


def ready_status(node: NodeInfo) -> str:
    """The status of the condition Ready, where it is stated and not True."""
    conditions = status_of(node.manifest).get("conditions") or ()
    ready = next((one for one in conditions if one.get("type") == "Ready"), None)
    status = str(ready.get("status")) if ready is not None else "True"
    return "" if status == "True" else status
