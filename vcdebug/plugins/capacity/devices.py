"""Quotas on devices that pods ask for through resource claims, per device class and capacity dimension.

Upstream: plugins/capacity (draQuotaAttr), cache (buildTaskDRAInfo), api (DRAResource, GetMinDRAResources).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vcdebug.gomath import MAX_INT64, MIN_INT64, wrap_int64
from vcdebug.kube.claims import claim_names
from vcdebug.kube.listers import Listers
from vcdebug.model.job import JobInfo
from vcdebug.model.names import TaskId
from vcdebug.model.pod import Pod
from vcdebug.model.queue import QueueInfo, ResourceList
from vcdebug.model.resource import AssertPanic
from vcdebug.model.task import TaskInfo
from vcdebug.releases.queues import DRA_CAPACITY_MUL, DRA_COUNT_WRAPS
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.quantity import nano_value, value

COUNT_PREFIX = "deviceclass/"
CAPACITY_SEPARATOR = ".deviceclass/"
ALL_DEVICES = "All"
NIL_MAP = "assignment to entry in nil map"

DeviceClass = str
ClaimKey = str


class DeviceAmount:
    """A number of devices, and amounts (in 10^-9 units) of what they share out."""

    __slots__ = ("capacity", "count", "wraps")

    def __init__(self, count: int = 0, capacity: Mapping[str, int] | None = None, *, wraps: bool = False) -> None:
        self.count = count
        self.wraps = wraps
        """Whether sums with this count wrap around at the ends of int64, rather than stop there."""
        self.capacity: dict[str, int] = dict(capacity or {})

    def add(self, other: DeviceAmount) -> None:
        """Add, within int64."""
        self.wraps = self.wraps or other.wraps
        self.count = self._within(self.count + other.count)
        for name, amount in other.capacity.items():
            self.capacity[name] = self.capacity.get(name, 0) + amount

    def sub(self, other: DeviceAmount) -> None:
        """Subtract, never below 0."""
        self.count = max(self.count - other.count, 0)
        for name, amount in other.capacity.items():
            if name in self.capacity:
                self.capacity[name] = max(self.capacity[name] - amount, 0)

    def times(self, factor: int) -> DeviceAmount:
        """The same for `factor` tasks."""
        capacity = {name: amount * factor for name, amount in self.capacity.items()}
        return DeviceAmount(self._within(self.count * factor), capacity, wraps=self.wraps)

    def less(self, other: DeviceAmount) -> DeviceAmount:
        """The difference, which may be negative."""
        names = dict.fromkeys([*self.capacity, *other.capacity])
        capacity = {name: self.capacity.get(name, 0) - other.capacity.get(name, 0) for name in names}
        return DeviceAmount(self.count - other.count, capacity)

    def _within(self, count: int) -> int:
        return wrap_int64(count) if self.wraps else min(max(count, MIN_INT64), MAX_INT64)


Demand = dict[DeviceClass, DeviceAmount]


def merge(total: Demand, more: Mapping[DeviceClass, DeviceAmount]) -> None:
    """Add every class of `more` to the total. Upstream: plugins/capacity.mergeTaskDRA."""
    for name in sorted(more):
        total.setdefault(name, DeviceAmount()).add(more[name])


def copied(demand: Demand) -> Demand:
    """A deep copy."""
    return {name: DeviceAmount(amount.count, amount.capacity, wraps=amount.wraps) for name, amount in demand.items()}


def parsed(resource_list: ResourceList | None) -> Demand:
    """The device classes of a queue's list: `deviceclass/<class>` and `<dimension>.deviceclass/<class>`.
    Upstream: plugins/capacity.parseDRAResourceList.
    """
    result: Demand = {}
    for name, amount in (resource_list or {}).items():
        dimension, separator, device_class = name.partition(CAPACITY_SEPARATOR)
        if separator and dimension:
            if device_class:
                result.setdefault(device_class, DeviceAmount()).capacity[dimension] = nano_value(amount)
        elif name.startswith(COUNT_PREFIX) and name != COUNT_PREFIX:
            result.setdefault(name.removeprefix(COUNT_PREFIX), DeviceAmount()).count = value(amount)
    return result


class TaskDemand:
    """What one task asks for: in all, and per claim, since tasks may share a claim."""

    __slots__ = ("by_claim", "total")

    def __init__(self, by_claim: dict[ClaimKey, Demand]) -> None:
        self.by_claim = {key: by_claim[key] for key in sorted(by_claim)}
        self.total: Demand = {}
        for demand in self.by_claim.values():
            merge(self.total, demand)


class DeviceQuota:
    """A queue's device quota. Deserved and guaranteed devices are read upstream, but never enforced."""

    __slots__ = ("allocated", "capability", "claim_refs", "inqueue")

    def __init__(self, capability: Demand) -> None:
        self.capability = capability
        self.allocated: Demand = {}
        self.inqueue: Demand = {}
        """Admitted in this session; jobs admitted earlier are not counted."""
        self.claim_refs: dict[ClaimKey, int] = {}

    @classmethod
    def of(cls, queue: QueueInfo) -> DeviceQuota | None:
        """None for a queue without any device class in its lists. Upstream: plugins/capacity.newDRAQuotaAttr."""
        capability, deserved, guarantee = parsed(queue.capability), parsed(queue.deserved), parsed(queue.guarantee)
        return cls(capability) if capability or deserved or guarantee else None

    def clone(self) -> DeviceQuota:
        """An independent copy. Upstream: plugins/capacity.Clone."""
        copy = DeviceQuota(self.capability)
        copy.allocated, copy.inqueue = copied(self.allocated), copied(self.inqueue)
        copy.claim_refs = dict(self.claim_refs)
        return copy

    def add(self, demand: TaskDemand) -> None:
        """A task is allocated; a claim counts once. Upstream: plugins/capacity.addTaskDRAAllocated."""
        for key, wanted in demand.by_claim.items():
            references = self.claim_refs.get(key, 0)
            if references == 0:
                merge(self.allocated, wanted)
            self.claim_refs[key] = references + 1

    def remove(self, demand: TaskDemand) -> None:
        """A task is gone; a claim counts until its last task. Upstream: plugins/capacity.removeTaskDRAAllocated."""
        for key, wanted in demand.by_claim.items():
            references = self.claim_refs.get(key, 0)
            if references > 1:
                self.claim_refs[key] = references - 1
                continue
            self.claim_refs.pop(key, None)
            for name, amount in wanted.items():
                if name in self.allocated:
                    self.allocated[name].sub(amount)

    def new_for(self, demand: TaskDemand) -> Demand:
        """What the task adds: claims that no task of the queue holds yet.
        Upstream: plugins/capacity.incrementalTaskDRA.
        """
        result: Demand = {}
        for key, wanted in demand.by_claim.items():
            if self.claim_refs.get(key, 0) == 0:
                merge(result, wanted)
        return result

    def admits(self, demand: Demand, *, consumable: bool, with_inqueue: bool) -> bool:
        """Whether the demand fits; a class without capability, or with a count of 0, has no limit on its count.
        Upstream: plugins/capacity.checkDRAAllocatable.
        """
        for name in sorted(demand):
            limit = self.capability.get(name)
            if limit is None:
                continue
            future = DeviceAmount()
            future.add(self.allocated.get(name, future))
            if with_inqueue and name in self.inqueue:
                future.add(self.inqueue[name])
            future.add(demand[name])
            if 0 < limit.count < future.count or (consumable and _beyond(limit, future, demand[name])):
                return False
        return True


def _beyond(limit: DeviceAmount, future: DeviceAmount, wanted: DeviceAmount) -> bool:
    """Whether a capacity that is asked for passes its limit, or has none."""
    return any(name not in limit.capacity or future.capacity[name] > limit.capacity[name] for name in wanted.capacity)


class ClaimDemands:
    """Reads what tasks ask for from their resource claims, each task once."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._enabled = listers.flags.gate("DynamicResourceAllocation")
        self._consumable = listers.flags.gate("DRAConsumableCapacity")
        self._wraps = listers.flags.release.has(DRA_COUNT_WRAPS)
        self._holds_at_least_one = listers.flags.release.has(DRA_CAPACITY_MUL)
        self._read: dict[TaskId, TaskDemand | None] = {}

    def of(self, task: TaskInfo) -> TaskDemand | None:
        """None for a task without a device request, or whose claims are not there yet."""
        if not self._enabled or not task.pod.spec.get("resourceClaims"):
            return None
        if task.uid not in self._read:
            self._read[task.uid] = self._demand(task.pod)
        return self._read[task.uid]

    def minimum(self, job: JobInfo) -> Demand | None:
        """What the job's minimum of tasks asks for: its first tasks, or one task per role times the role's minimum."""
        result: Demand = {}
        for task, times in self._representatives(job):
            demand = self.of(task)
            if demand is not None:
                merge(result, {name: amount.times(times) for name, amount in demand.total.items()})
        return result or None

    def _representatives(self, job: JobInfo) -> list[tuple[TaskInfo, int]]:
        tasks = [job.tasks[uid] for uid in sorted(job.tasks)]
        asking = [task for task in tasks if self.of(task) is not None]
        if not job.task_min_available:
            asking.sort(key=lambda task: (task.namespace, task.name, task.uid))
            return [(task, 1) for task in asking[: max(job.min_available, 0)]]
        first: dict[str, TaskInfo] = {}
        for task in asking:
            first.setdefault(task.task_role, task)
        minimums = ((task, job.task_min_available.get(role, 0)) for role, task in first.items())
        return [(task, least) for task, least in minimums if least > 0]

    def _demand(self, pod: Pod) -> TaskDemand | None:
        if any(f"{pod.namespace}/{claim.name}" not in self._listers.claims for claim in claim_names(pod)):
            return None
        by_claim: dict[ClaimKey, Demand] = {}
        with_capacity: dict[DeviceClass, bool] = {}
        for key in dict.fromkeys(_claim_keys(pod)):
            claim = None if key is None else self._listers.resource_claims.get(key)
            if key is None or claim is None:
                return None
            demand = self._requested(claim, with_capacity)
            if demand:
                by_claim[key] = demand
        return TaskDemand(by_claim) if by_claim else None

    def _requested(self, claim: JsonObject, with_capacity: dict[DeviceClass, bool]) -> Demand:
        """A class whose first request, in the claim or the pod, names no capacity panics at one that does."""
        result: Demand = {}
        here: dict[DeviceClass, bool] = {}
        for name, exactly in _exact_requests(claim):
            count = exactly.get("count") or 1
            wanted = (exactly.get("capacity") or {}).get("requests") or {} if self._consumable else {}
            for seen in (here, with_capacity):
                if not seen.setdefault(name, bool(wanted)) and wanted:
                    raise AssertPanic(NIL_MAP)
            times = max(count, 1) if self._holds_at_least_one else count
            held = {dim: nano_value(text) * times for dim, text in wanted.items()}
            amount = DeviceAmount(count, held, wraps=self._wraps)
            result.setdefault(name, DeviceAmount()).add(amount)
        return result


def _exact_requests(claim: JsonObject) -> Iterator[tuple[DeviceClass, JsonObject]]:
    """Requests of a stated number of one class; alternatives and `All` are not tracked."""
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        exactly = request.get("exactly")
        if exactly is None or request.get("firstAvailable") is not None:
            continue
        if exactly.get("deviceClassName") and exactly.get("allocationMode") != ALL_DEVICES:
            yield exactly["deviceClassName"], exactly


def _claim_keys(pod: Pod) -> Iterator[ClaimKey | None]:
    """The pod's claims; None for one that its template has not become yet."""
    statuses = {entry.get("name"): entry for entry in pod.status.get("resourceClaimStatuses") or ()}
    for entry in pod.spec.get("resourceClaims") or ():
        name = entry.get("resourceClaimName") or statuses.get(entry.get("name"), {}).get("resourceClaimName")
        yield f"{pod.namespace}/{name}" if name else None
