"""Every change by its id, each line of releases, and what is replayed of them."""

from __future__ import annotations

from vcdebug.releases import devices, nodes, queues, scheduling, topology
from vcdebug.releases.change import Change, Tag

CHANGES: dict[str, Change] = {
    change.id: change for module in (scheduling, topology, queues, nodes, devices) for change in module.CHANGES
}
"""Older forms of upstream's rules; docs show this table."""

SUPPORTED_TAGS: tuple[Tag, ...] = tuple(
    Tag.from_text(f"v{line}.{patch}")
    for line, newest in (("1.15", 1), ("1.14", 4), ("1.13", 3), ("1.12", 4))
    for patch in range(newest, -1, -1)
)
"""Releases that are replayed, newest first, behind the newest rules."""

KUBERNETES_BY_LINE: dict[tuple[int, int], str] = {
    (1, 16): "1.36",
    (1, 15): "1.35",
    (1, 14): "1.34",
    (1, 13): "1.33",
    (1, 12): "1.32",
}
"""The Kubernetes library that each line is built with."""
