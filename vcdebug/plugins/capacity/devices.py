"""Quotas on devices that pods request through resource claims, per device class and capacity dimension.

Upstream: plugins/capacity (draQuotaAttr), api (GetMinDRAResources).
"""

from __future__ import annotations

from vcdebug.kube.listers import Listers, read_device_demand
from vcdebug.model import pod_claims
from vcdebug.model.job import JobInfo
from vcdebug.model.names import TaskId
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource_list import ResourceList
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.quantity import nano_value, whole_value


def clone_demand(demand: pod_claims.DeviceDemand) -> pod_claims.DeviceDemand:
    """A deep copy of a demand. Upstream: plugins/capacity.cloneDRAResourceMap."""
    return {
        name: pod_claims.DeviceAmount(amount.count, amount.capacity, wraps=amount.wraps)
        for name, amount in demand.items()
    }


def parse_device_list(resource_list: ResourceList | None) -> pod_claims.DeviceDemand:
    """Read the device classes of a queue's list: keys `deviceclass/<class>` and `<dimension>.deviceclass/<class>`.
    Upstream: plugins/capacity.parseDRAResourceList.
    """
    result: pod_claims.DeviceDemand = {}
    for name, amount in (resource_list or {}).items():
        dimension, separator, device_class = name.partition(pod_claims.CLASS_CAPACITY_SEPARATOR)
        if separator and dimension:
            if device_class:
                result.setdefault(device_class, pod_claims.DeviceAmount()).capacity[dimension] = nano_value(amount)
        elif name.startswith(pod_claims.CLASS_COUNT_PREFIX) and name != pod_claims.CLASS_COUNT_PREFIX:
            result.setdefault(
                name.removeprefix(pod_claims.CLASS_COUNT_PREFIX), pod_claims.DeviceAmount()
            ).count = whole_value(amount)
    return result


class DeviceQuota:
    """A queue's device quota. Upstream also reads deserved and guaranteed devices, but never enforces them."""

    __slots__ = ("allocated", "capability", "claim_refs", "inqueue")

    def __init__(self, capability: pod_claims.DeviceDemand) -> None:
        self.capability = capability
        self.allocated: pod_claims.DeviceDemand = {}
        self.inqueue: pod_claims.DeviceDemand = {}
        """Devices of jobs admitted in this session; jobs admitted earlier are not counted."""
        self.claim_refs: dict[pod_claims.ClaimKey, int] = {}

    @classmethod
    def from_queue(cls, queue: QueueInfo) -> DeviceQuota | None:
        """The queue's quota; None if it lists no device class. Upstream: plugins/capacity.newDRAQuotaAttr."""
        capability = parse_device_list(queue.capability)
        deserved = parse_device_list(queue.deserved)
        guarantee = parse_device_list(queue.guarantee)
        return cls(capability) if capability or deserved or guarantee else None

    def clone(self) -> DeviceQuota:
        """An independent copy of the quota. Upstream: plugins/capacity.Clone."""
        copy = DeviceQuota(self.capability)
        copy.allocated, copy.inqueue = clone_demand(self.allocated), clone_demand(self.inqueue)
        copy.claim_refs = dict(self.claim_refs)
        return copy

    def add_demand(self, demand: pod_claims.TaskDemand) -> None:
        """Add the devices of an allocated task; each claim is counted once.
        Upstream: plugins/capacity.addTaskDRAAllocated, plugins/capacity.updateDRAAllocated.
        """
        # Pods may share claims: the devices count from the first task of the queue to the last one.
        for key, devices in demand.by_claim.items():
            references = self.claim_refs.get(key, 0)
            if references == 0:
                pod_claims.merge_task_dra(self.allocated, devices)
            self.claim_refs[key] = references + 1

    def remove_demand(self, demand: pod_claims.TaskDemand) -> None:
        """Subtract the devices of a removed task; a claim counts until its last task is removed.
        Upstream: plugins/capacity.removeTaskDRAAllocated, plugins/capacity.subtractDRAAllocated.
        """
        for key, devices in demand.by_claim.items():
            references = self.claim_refs.get(key, 0)
            if references > 1:
                self.claim_refs[key] = references - 1
                continue
            self.claim_refs.pop(key, None)
            for name, amount in devices.items():
                if name in self.allocated:
                    self.allocated[name].sub(amount)

    def incremental_demand(self, demand: pod_claims.TaskDemand) -> pod_claims.DeviceDemand:
        """The devices of the task's claims that are new to the queue. Upstream: plugins/capacity.incrementalTaskDRA."""
        result: pod_claims.DeviceDemand = {}
        for key, devices in demand.by_claim.items():
            if self.claim_refs.get(key, 0) == 0:
                pod_claims.merge_task_dra(result, devices)
        return result

    def admits_demand(self, demand: pod_claims.DeviceDemand, *, consumable: bool, with_inqueue: bool) -> bool:
        """Whether the demand fits the quota. Classes outside it are unlimited, a count of 0 limits no count.
        Upstream: plugins/capacity.checkDRAAllocatable.
        """
        for name in sorted(demand):
            limit = self.capability.get(name)
            if limit is None:
                continue
            future = pod_claims.DeviceAmount()
            future.add(self.allocated.get(name, future))
            if with_inqueue and name in self.inqueue:
                future.add(self.inqueue[name])
            future.add(demand[name])
            if 0 < limit.count < future.count or (consumable and _exceeds_capacity(limit, future, demand[name])):
                return False
        return True


def _exceeds_capacity(
    limit: pod_claims.DeviceAmount, future: pod_claims.DeviceAmount, request: pod_claims.DeviceAmount
) -> bool:
    """Whether a requested capacity exceeds its limit or has no limit."""
    return any(name not in limit.capacity or future.capacity[name] > limit.capacity[name] for name in request.capacity)


class ClaimDemands:
    """Reads the device demands of tasks from their resource claims, once per task."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._claims = pod_claims.DeviceClaims(listers.resource_claims, listers.flags)
        self._demand_by_task: dict[TaskId, pod_claims.TaskDemand | None] = {}

    def demand_of(self, task: TaskInfo) -> pod_claims.TaskDemand | None:
        """The task's device demand; None if it has none, or its claims do not exist yet."""
        if not task.pod.spec.get("resourceClaims"):
            return None
        if task.uid not in self._demand_by_task:
            self._demand_by_task[task.uid] = read_device_demand(task.pod, self._claims, self._listers.claims)
        return self._demand_by_task[task.uid]

    def minimum_demand(self, job: JobInfo) -> pod_claims.DeviceDemand | None:
        """The device demand of the job's minimum: its first tasks, or one task per role times the role's minimum."""
        result: pod_claims.DeviceDemand = {}
        for task, times in self._representative_tasks(job):
            demand = self.demand_of(task)
            if demand is not None:
                pod_claims.merge_task_dra(
                    result, {name: amount.multiplied_by(times) for name, amount in demand.total.items()}
                )
        return result or None

    def _representative_tasks(self, job: JobInfo) -> list[tuple[TaskInfo, int]]:
        tasks = [job.tasks[uid] for uid in sorted(job.tasks)]
        requesting = [task for task in tasks if self.demand_of(task) is not None]
        if not job.task_min_available:
            requesting.sort(key=lambda task: (task.namespace, task.name, task.uid))
            return [(task, 1) for task in requesting[: max(job.min_available, 0)]]
        first: dict[str, TaskInfo] = {}
        for task in requesting:
            first.setdefault(task.task_role, task)
        minimums = ((task, job.task_min_available.get(role, 0)) for role, task in first.items())
        return [(task, minimum) for task, minimum in minimums if minimum > 0]
