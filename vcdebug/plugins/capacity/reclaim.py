"""Whether a task may be reclaimed: its queue keeps its guarantee, and it and its ancestors hold more than deserved.

Upstream: plugins/capacity (Reclaimable).
"""

from __future__ import annotations

from vcdebug.model.names import QueueName
from vcdebug.model.queue import ROOT_QUEUE
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.capacity.attr import Attrs, QueueAttr, concerned, exceeds_deserved, keeps_guarantee, overlap


class Reclaim:
    """One call of Reclaimable; victims are taken off its own copies of what queues hold."""

    def __init__(self, attrs: Attrs, ancestor_level: int, reclaimer: TaskInfo, queue: QueueAttr) -> None:
        self._attrs = attrs
        self._ancestor_level = ancestor_level
        self._reclaimer = reclaimer
        self._queue = queue
        self._held: dict[QueueName, Resource] = {}

    def takes(self, task: TaskInfo, attr: QueueAttr) -> bool:
        """Whether a task of the queue becomes a victim."""
        if not overlap(task, self._reclaimer):
            return False
        held = self._held_by(attr)
        if not keeps_guarantee(attr, held, task) or not self._queue_gives(attr, held, task):
            return False
        upper = self._ancestors_giving(attr, task)
        if upper is None:
            return False
        held.sub(task.resreq)
        for name in upper:
            self._held[name].sub(task.resreq)
        return True

    def _held_by(self, attr: QueueAttr) -> Resource:
        if attr.name not in self._held:
            self._held[attr.name] = attr.allocated.clone()
        return self._held[attr.name]

    def _queue_gives(self, attr: QueueAttr, held: Resource, task: TaskInfo) -> bool:
        """Relatives of whom neither deserves anything in their tasks' dimensions do not take from each other."""
        relatives = self._ancestor_level > 0 and self._related(attr)
        if not concerned(task, attr.deserved) and relatives and not concerned(self._reclaimer, self._queue.deserved):
            return False
        return exceeds_deserved(attr, held, task)

    def _related(self, attr: QueueAttr) -> bool:
        """Whether an ancestor below the root is near enough to both queues."""
        mine = self._near(self._queue)
        return any(name != ROOT_QUEUE and name in mine for name in self._near(attr))

    def _near(self, attr: QueueAttr) -> list[QueueName]:
        return list(attr.ancestors)[-self._ancestor_level :]

    def _ancestors_giving(self, attr: QueueAttr, task: TaskInfo) -> dict[QueueName, None] | None:
        """The ancestors that were asked, or None when one of them holds no more than it deserves.

        An ancestor at the same distance from both queues is not asked; the same one at another distance is.
        """
        asked: dict[QueueName, None] = {}
        for distance in range(1, min(self._ancestor_level, len(attr.ancestors)) + 1):
            name = attr.nearest(distance)
            if name is None or name == ROOT_QUEUE or name == self._queue.nearest(distance):
                continue
            ancestor = self._attrs.get(name)
            if ancestor is None or not exceeds_deserved(ancestor, self._held_by(ancestor), task):
                return None
            asked[name] = None
        return asked
