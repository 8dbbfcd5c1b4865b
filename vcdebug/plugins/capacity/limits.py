"""Whether a task, or a job's minimum, is within one queue's limits, devices and reservations included.

Upstream: plugins/capacity (queueAllocatableWithReserved, jobEnqueueable, queueGateReservedTasks).
"""

from collections.abc import Iterable, Iterator

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.persistence import counted_request
from vcdebug.framework.session import Session
from vcdebug.kube.listers import Listers
from vcdebug.model.job import JobInfo
from vcdebug.model.names import QueueName, TaskId
from vcdebug.model.pod import QUEUE_GATE, VOLCANO_GATE
from vcdebug.model.pod_claims import DeviceDemand, TaskDemand
from vcdebug.model.queue import LimitCheck, check_admission, check_request
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins.capacity.devices import ClaimDemands, DeviceQuota
from vcdebug.plugins.capacity.queue_attr import CapacityQueueAttr
from vcdebug.releases.queues import DRA_QUOTA

DEVICES_KEY = "capacity.DynamicResourceAllocationEnable"
CONSUMABLE_KEY = "capacity.DRAConsumableCapacityEnable"
DEVICES_NAME = "dra-resource-exceeded"


def iter_pending_tasks(ssn: Session) -> Iterator[tuple[QueueName, TaskInfo]]:
    """(queue, task) of every pending task."""
    return ((job.queue, task) for job in ssn.jobs.values() for task in job.tasks_with_status(TaskStatus.PENDING))


class LimitChecker:
    """Checks one queue's limits; arguments and feature gates switch on devices and reservations."""

    def __init__(self, ssn: Session, arguments: Arguments) -> None:
        gate = ssn.flags.is_gate_on
        self._ssn = ssn
        devices = arguments.get_bool(DEVICES_KEY, default=gate("DynamicResourceAllocation"))
        devices = devices and not ssn.release.has_older_form(DRA_QUOTA)
        self.demands = ClaimDemands(Listers(ssn.snapshot)) if devices else None
        self.consumable = arguments.get_bool(CONSUMABLE_KEY, default=gate("DRAConsumableCapacity"))
        self.reservations = Reservations(iter_pending_tasks(ssn)) if gate(QUEUE_GATE) else None

    def device_demand(self, task: TaskInfo) -> TaskDemand | None:
        """The devices that the task requests; None if device quotas are off."""
        return None if self.demands is None else self.demands.demand_of(task)

    def minimum_demand(self, attr: CapacityQueueAttr, job: JobInfo) -> DeviceDemand | None:
        """The device demand of the job's minimum; None if device quotas are off or the queue has none."""
        return None if self.demands is None or attr.devices is None else self.demands.minimum_demand(job)

    def is_within_limits(
        self, attr: CapacityQueueAttr, allocated: Resource, devices: DeviceQuota | None, task: TaskInfo
    ) -> bool:
        """Whether the task fits in the queue beside its allocated and reserved amounts."""
        if devices is not None and not self.is_within_device_quota(devices, task):
            return False
        reserved = None if self.reservations is None else self.reservations.reserved_for_others(attr.name, task)
        return self.check_room(attr, allocated, task.resreq, reserved).is_within_limit

    def check_room(
        self, attr: CapacityQueueAttr, allocated: Resource, request: Resource, reserved: Resource | None = None
    ) -> LimitCheck:
        """Check a request, plus the queue's allocated and reserved amounts, against the queue's limit."""
        return check_request(
            allocated, request, attr.real_capability, counted_request(self._ssn, attr.name, request), reserved
        )

    def is_within_device_quota(self, devices: DeviceQuota, task: TaskInfo) -> bool:
        """Whether the task's additional devices are within the device quota."""
        demand = self.device_demand(task)
        if demand is None:
            return True
        return devices.admits_demand(devices.incremental_demand(demand), consumable=self.consumable, with_inqueue=False)

    def missing_dimensions(self, attr: CapacityQueueAttr, job: JobInfo) -> list[str] | None:
        """The dimensions in which the job's minimum exceeds the queue's limit; None if it fits."""
        check = self.check_admission(attr, job)
        if not check.is_within_limit:
            return check.exceeded_dimensions
        demand = self.minimum_demand(attr, job)
        if attr.devices is None or demand is None:
            return None
        admitted = attr.devices.admits_demand(demand, consumable=self.consumable, with_inqueue=True)
        return None if admitted else [DEVICES_NAME]

    def check_admission(self, attr: CapacityQueueAttr, job: JobInfo) -> LimitCheck:
        """Check the job's minimum against the queue's limit."""
        minimum = job.get_min_resources()
        counted = counted_request(self._ssn, attr.name, minimum)
        return check_admission(minimum, attr.allocated, attr.inqueue, attr.elastic, attr.real_capability, counted)


# Reservations for pods behind Volcano's own scheduling gate that have passed the queue's check.


class Reservations:
    """Tasks that passed but are not allocated, by queue. Upstream: plugins/capacity.buildQueueReservedTasksCache."""

    def __init__(self, pending: Iterable[tuple[QueueName, TaskInfo]]) -> None:
        """`pending`: (queue, task) pairs; those whose gate an earlier cycle removed are reserved at once."""
        self._tasks: dict[QueueName, dict[TaskId, TaskInfo]] = {}
        for queue, task in pending:
            if not task.sch_gated:
                self.add_task(queue, task)

    def add_task(self, queue: QueueName, task: TaskInfo) -> None:
        """Reserve room for a pod with the gate's annotation. Upstream: plugins/capacity.addTaskToReservedCache."""
        if task.pod.annotations.get(VOLCANO_GATE) == "true":
            self._tasks.setdefault(queue, {})[task.uid] = task

    def remove_task(self, uid: TaskId) -> None:
        """Remove the task from the first queue with it. Upstream: plugins/capacity.removeTaskFromReservedCache."""
        for queue in sorted(self._tasks):
            if self._tasks[queue].pop(uid, None) is not None:
                return

    def reserved_for_others(self, queue: QueueName, task: TaskInfo) -> Resource:
        """The sum of the queue's reservations, without the task's own."""
        reserved = self._tasks.get(queue, {})
        # Summed in a fixed order: another order could change the last bit of a float.
        return Resource().add_all(reserved[uid].resreq for uid in sorted(reserved) if uid != task.uid)
