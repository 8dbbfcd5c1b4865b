"""Room kept for pods that passed the queue's check behind Volcano's own scheduling gate.

Upstream: plugins/capacity (queueGateReservedTasks).
"""

from __future__ import annotations

from collections.abc import Iterable

from vcdebug.model.names import QueueName, TaskId
from vcdebug.model.pod import VOLCANO_GATE
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo

QUEUE_GATE = "SchedulingGatesQueueAdmission"


def is_gated_by_queue(task: TaskInfo) -> bool:
    """Whether the pod asks for the gate."""
    return task.pod.annotations.get(VOLCANO_GATE) == "true"


class Reservations:
    """Tasks per queue that have passed but are not allocated.
    Upstream: plugins/capacity.buildQueueReservedTasksCache.
    """

    def __init__(self, pending: Iterable[tuple[QueueName, TaskInfo]]) -> None:
        """At first the pending tasks whose gate an earlier cycle removed."""
        self._tasks: dict[QueueName, dict[TaskId, TaskInfo]] = {}
        for queue, task in pending:
            if not task.sch_gated:
                self.add_task(queue, task)

    def add_task(self, queue: QueueName, task: TaskInfo) -> None:
        """Keep room for a pod that asks for the gate. Upstream: plugins/capacity.addTaskToReservedCache."""
        if is_gated_by_queue(task):
            self._tasks.setdefault(queue, {})[task.uid] = task

    def remove_task(self, uid: TaskId) -> None:
        """The first queue that holds the task forgets it. Upstream: plugins/capacity.removeTaskFromReservedCache."""
        for queue in sorted(self._tasks):
            if self._tasks[queue].pop(uid, None) is not None:
                return

    def reserved_for_others(self, queue: QueueName, task: TaskInfo) -> Resource:
        """What the queue keeps for other tasks."""
        total = Resource()
        reserved = self._tasks.get(queue, {})
        for uid in sorted(reserved):
            if uid != task.uid:
                total.add(reserved[uid].resreq)
        return total
