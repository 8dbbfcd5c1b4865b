"""QueueInfo: a queue as the session sees it.

Upstream: api/queue_info.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vcdebug.model.names import QueueName
from vcdebug.model.resource_list import ResourceList, drop_ignored
from vcdebug.snapshot.manifest import JsonObject, metadata_of, spec_of, status_of

ROOT_QUEUE = "root"
HIERARCHY_KEY = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS_KEY = "volcano.sh/hierarchy-weights"
OPEN = "Open"


class QueueInfo:
    """A Queue object; what it has been allocated lives in the plugins. Upstream: api/queue_info.NewQueueInfo."""

    __slots__ = (
        "annotations",
        "capability",
        "creation_timestamp",
        "deserved",
        "guarantee",
        "hierarchy",
        "manifest",
        "name",
        "parent",
        "priority",
        "reclaimable",
        "spec",
        "state",
        "subject",
        "uid",
        "weight",
        "weights",
    )

    def __init__(self, manifest: JsonObject, ignored: tuple[str, ...] = ()) -> None:
        metadata, spec = metadata_of(manifest), spec_of(manifest)
        self.manifest = manifest
        self.spec: JsonObject = spec
        self.name: str = metadata.get("name", "")
        self.uid: str = self.name
        self.subject = (("queue", self.name),)
        """How a record names it, the same object each time."""
        self.annotations: Mapping[str, str] = metadata.get("annotations") or {}
        self.creation_timestamp: str = metadata.get("creationTimestamp") or ""
        self.weight: int = spec.get("weight") or 0
        self.priority: int = spec.get("priority") or 0
        self.parent: str = spec.get("parent") or ""
        self.state: str = status_of(manifest).get("state") or ""
        self.capability: ResourceList | None = drop_ignored(spec.get("capability"), ignored)
        self.deserved: ResourceList | None = drop_ignored(spec.get("deserved"), ignored)
        self.guarantee: ResourceList | None = drop_ignored((spec.get("guarantee") or {}).get("resource"), ignored)
        self.hierarchy: str = self.annotations.get(HIERARCHY_KEY, "")
        self.weights: str = self.annotations.get(HIERARCHY_WEIGHTS_KEY, "")
        self.reclaimable: bool = spec.get("reclaimable") is not False
        """spec.reclaimable; absent means reclaimable."""


def circle_text(circle: Sequence[QueueName]) -> str:
    """Which queues are each other's parents."""
    if len(circle) == 1:
        return f"queue {circle[0]} is its own parent"
    return f"queues {', '.join(circle[:-1])} and {circle[-1]} are each other's parents"
