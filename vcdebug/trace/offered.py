"""What the nodes of a cluster have to offer, by dimension."""

from __future__ import annotations

from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording


@per_recording()
def offered(recording: Recording) -> tuple[str, ...]:
    """Dimensions of which some node has something."""
    nodes = recording.session.nodes.values()
    return tuple(dict.fromkeys(name for node in nodes for name, value in node.allocatable.items() if value))
