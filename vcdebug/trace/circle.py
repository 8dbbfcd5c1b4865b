"""Queues that are each other's parents, as the plugin capacity found them."""

from __future__ import annotations

from vcdebug.model.names import QueueName
from vcdebug.plugins import CAPACITY
from vcdebug.trace.recording import Recording


def circle_of_queues(recording: Recording) -> tuple[QueueName, ...]:
    """From child to parent; empty where there is none, and where the plugin does not read the tree of queues."""
    plugin = recording.session.plugins.get(CAPACITY)
    if plugin is None:
        return ()
    from vcdebug.plugins.capacity import Capacity  # a session without the plugin does not load it

    return plugin.circle if isinstance(plugin, Capacity) else ()
