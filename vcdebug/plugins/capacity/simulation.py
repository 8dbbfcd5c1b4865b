"""What queues hold in a simulation: copied when a task is pre-checked, changed by the tasks that come and go.

Upstream: plugins/capacity (capacityState).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vcdebug.kube.node_view import CycleState
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.pod_claims import TaskDemand
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.capacity.devices import DeviceQuota
from vcdebug.plugins.capacity.queue_attr import Attrs

STATE_KEY = "capacity"
NO_STATE = f'failed to get capacity state: error reading "{STATE_KEY}" from cycleState: not found'
NO_JOB = "[capacity] job {job} not found in session (orphaned task from deleted PodGroup)"
NO_QUEUE, NO_QUEUE_UNNAMED = "[capacity] queue {queue} not found", "queue {queue} not found"

SHARED_MEMORY_DEPTH = 7
"""From this depth on a queue's ancestors may be overwritten later, so a copy must keep them."""


class QueueStates:
    """Allocated amounts and devices per queue, from PrePredicate on. Upstream: plugins/capacity.getCapacityState."""

    __slots__ = ("_ancestors", "allocated", "devices")

    def __init__(
        self,
        allocated: dict[QueueName, Resource],
        devices: dict[QueueName, DeviceQuota],
        ancestors: dict[QueueName, tuple[QueueName, ...]],
    ) -> None:
        self.allocated = allocated
        self.devices = devices
        self._ancestors = ancestors

    @classmethod
    def copy_states(cls, attrs: Attrs) -> QueueStates:
        """A copy of what the session's queues hold now."""
        return cls(
            {name: attr.allocated for name, attr in attrs.items()},
            {name: attr.devices.clone() for name, attr in attrs.items() if attr.devices is not None},
            {name: tuple(a.ancestors) for name, a in attrs.items() if len(a.ancestors) >= SHARED_MEMORY_DEPTH},
        )

    def clone(self) -> QueueStates:
        """An independent copy. Upstream: plugins/capacity.Clone."""
        devices = {name: quota.clone() for name, quota in self.devices.items()}
        return QueueStates(dict(self.allocated), devices, self._ancestors)

    def ancestors_of(self, attrs: Attrs, name: QueueName) -> Iterable[QueueName]:
        """The queue's ancestors as they were when the copy was made."""
        return self._ancestors.get(name) or attrs[name].ancestors

    def add_task(self, queues: Iterable[QueueName], task: TaskInfo, demand: TaskDemand | None) -> None:
        """The task comes to these queues."""
        for name in queues:
            self.allocated[name] = self.allocated[name].clone().add(task.resreq)
            if demand is not None and name in self.devices:
                self.devices[name].add_demand(demand)

    def remove_task(self, queues: Iterable[QueueName], task: TaskInfo, demand: TaskDemand | None) -> None:
        """The task leaves these queues."""
        for name in queues:
            self.allocated[name] = self.allocated[name].clone().sub(task.resreq)
            if demand is not None and name in self.devices:
                self.devices[name].remove_demand(demand)


def simulated_queues(
    state: CycleState, jobs: Mapping[JobId, JobInfo], attrs: Attrs, task: TaskInfo, no_queue: str = NO_QUEUE
) -> tuple[QueueStates, list[QueueName], str | None]:
    """(what queues hold, the queues that count the task, error) of a simulation."""
    held = state.data.get(STATE_KEY)
    if not isinstance(held, QueueStates):
        return QueueStates.copy_states({}), [], NO_STATE
    job = jobs.get(task.job)
    if job is None:
        return held, [], NO_JOB.format(job=task.job)
    if job.queue not in held.allocated:
        return held, [], no_queue.format(queue=job.queue)
    return held, [job.queue, *held.ancestors_of(attrs, job.queue)], None
