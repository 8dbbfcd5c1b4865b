"""What becomes of queues: the session's close writes what they have allocated."""

from __future__ import annotations

from vcdebug.framework.record import CloseEvent
from vcdebug.snapshot.manifest import name_of, status_of
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.trace.recording import Recording


def next_queues(recording: Recording) -> list[Manifest]:
    """All queues of the next cycle, in their order."""
    close = recording.session.close
    assert close is not None
    return [_written(manifest, close) for manifest in recording.snapshot.of("Queue")]


def _written(manifest: Manifest, close: CloseEvent) -> Manifest:
    allocated = close.queues.get(name_of(manifest))
    if allocated is None:
        return manifest
    return {**manifest, "status": {**status_of(manifest), "allocated": dict(allocated)}}
