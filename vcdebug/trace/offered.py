"""What the nodes of a cluster have to offer, and what its jobs ask for, by dimension."""

from __future__ import annotations

from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording


@per_recording()
def offered_dimensions(recording: Recording) -> tuple[str, ...]:
    """Dimensions of which some node has something."""
    nodes = recording.session.nodes.values()
    return tuple(dict.fromkeys(name for node in nodes for name, value in node.allocatable.items() if value))


@per_recording()
def requested_dimensions(recording: Recording) -> tuple[str, ...]:
    """Dimensions of which some job asks for something."""
    jobs = recording.session.jobs.values()
    return tuple(dict.fromkeys(name for job in jobs for name, value in job.total_request.items() if value))
