"""QueueInfo, and the arithmetic of queue limits and shares that the quota plugins have in common.

Upstream: api/queue_info, api/resource_info (LessEqualWithDimensionAndResourcesName), plugins/proportion,
plugins/capacity, plugins/drf (calculateShare), api/helpers (Share).
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from vcdebug.model.names import QueueName
from vcdebug.model.resource import CPU, INFINITY, MAX_FLOAT64, MEMORY, MIN_RESOURCE, PODS, Resource, judged_dimensions
from vcdebug.model.resource_list import ResourceList, drop_ignored
from vcdebug.snapshot.manifest import HIERARCHY_KEY, HIERARCHY_WEIGHTS_KEY, JsonObject, metadata_of, spec_of, status_of

ROOT_QUEUE = "root"
OPEN = "Open"


class QueueInfo:
    """A Queue object; what it has been allocated lives in the plugins. Upstream: api/queue_info.NewQueueInfo."""

    def __init__(self, manifest: JsonObject, ignored: tuple[str, ...] = ()) -> None:
        metadata, spec = metadata_of(manifest), spec_of(manifest)
        self.manifest = manifest
        self.spec: JsonObject = spec
        self.name: str = metadata.get("name", "")
        self.uid: str = self.name
        self.subject = (("queue", self.name),)
        """How a record names the queue; one tuple for all records, so that they take no memory of their own."""
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
        self.preemptable: bool = spec.get("preemptable") is not False
        """spec.preemptable, which only the open pull request #5373 reads."""


def circle_text(circle: Sequence[QueueName]) -> str:
    """A sentence that names queues whose parents form a circle."""
    if len(circle) == 1:
        return f"queue {circle[0]} is its own parent"
    return f"queues {', '.join(circle[:-1])} and {circle[-1]} are each other's parents"


ALLOCATED, INQUEUE, ELASTIC, RESERVED = "allocated", "inqueue", "elastic", "reserved"
REQUEST, MINIMUM = "request", "min resources"


class LimitCheck(NamedTuple):
    """A sum of amounts that is compared with a limit, dimension by dimension, for a plugin's verdict."""

    summands: tuple[tuple[str, Resource], ...]
    """The summands of the total with their names, the request among them; ELASTIC is subtracted."""
    total: Resource
    limit: Resource
    request: Resource
    requested: Resource
    """Amounts whose dimensions above 0 are compared with the limit."""

    @property
    def is_within_limit(self) -> bool:
        """Whether the total is at most the limit in every judged dimension."""
        # Computed without lists, since nearly every check passes: names are only needed for a rejection.
        limit, total, judged = self.limit, self.total, self.requested
        if judged.milli_cpu > 0 and total.milli_cpu > limit.milli_cpu:
            return False
        if judged.memory > 0 and total.memory > limit.memory:
            return False
        total_scalars, limit_scalars = total.scalars or {}, limit.scalars or {}
        for name, amount in (judged.scalars or {}).items() if total_scalars else ():
            if amount > 0 and name != PODS and total_scalars.get(name, 0.0) > limit_scalars.get(name, 0.0):
                return False
        return True

    @property
    def exceeded_dimensions(self) -> list[str]:
        """The judged dimensions in which the total is above the limit."""
        return self.total.less_equal_with_dimension_and_resources_name(self.limit, self.requested)[1]

    @property
    def judged_dimensions(self) -> list[str]:
        """The dimensions that are compared with the limit."""
        return judged_dimensions(self.requested)

    def is_empty_dimension(self, name: str) -> bool:
        """Whether neither total nor limit has an amount of this dimension."""
        return self.total.get(name) < MIN_RESOURCE and self.limit.get(name) < MIN_RESOURCE

    def excess_of(self, name: str) -> float:
        """The total minus the limit in one dimension."""
        return self.total.get(name) - self.limit.get(name)

    @property
    def sum_without_request(self) -> Resource:
        """The sum of all parts except the request."""
        total = Resource()
        for name, amount in self.summands:
            if name == ELASTIC:
                total.sub_without_assert(amount)
            elif name not in (REQUEST, MINIMUM):
                total.add(amount)
        return total

    def figures_of(self, name: str) -> tuple[float, ...]:
        """The amounts of every part, the total and the limit in one dimension."""
        parts = (amount.get(name) for _, amount in self.summands)
        return (*parts, self.total.get(name), self.limit.get(name))


def check_request(
    allocated: Resource,
    request: Resource,
    limit: Resource,
    counted: Resource | None = None,
    reserved: Resource | None = None,
) -> LimitCheck:
    """Check allocated + reserved + request against the limit, in the dimensions of `counted` (default: the request)."""
    total = allocated.clone()
    reserved_parts: tuple[tuple[str, Resource], ...] = ()
    if reserved is not None:
        total.add(reserved)
        reserved_parts = ((RESERVED, reserved),)
    total.add(request)
    parts = ((ALLOCATED, allocated), *reserved_parts, (REQUEST, request))
    return LimitCheck(parts, total, limit, request, request if counted is None else counted)


def request_fits(allocated: Resource, request: Resource, limit: Resource) -> bool:
    """The verdict of `check_request` alone, for hot loops: adds only the requested dimensions and copies nothing."""
    if request.milli_cpu > 0 and allocated.milli_cpu + request.milli_cpu > limit.milli_cpu:
        return False
    if request.memory > 0 and allocated.memory + request.memory > limit.memory:
        return False
    if not request.scalars:
        return True
    allocated_scalars, limit_scalars = allocated.scalars or {}, limit.scalars or {}
    for name, amount in request.scalars.items():
        if amount > 0 and name != PODS and allocated_scalars.get(name, 0.0) + amount > limit_scalars.get(name, 0.0):
            return False
    return True


def check_admission(
    minimum: Resource, allocated: Resource, inqueue: Resource, elastic: Resource, limit: Resource, counted: Resource
) -> LimitCheck:
    """Check minimum + allocated + inqueue - elastic; raises SchedulerPanic where elastic is above the sum."""
    total = minimum.clone().add(allocated).add(inqueue).sub(elastic)
    parts = ((MINIMUM, minimum), (ALLOCATED, allocated), (INQUEUE, inqueue), (ELASTIC, elastic))
    return LimitCheck(parts, total, limit, minimum, counted)


class QueueLimit(NamedTuple):
    """A queue's real capability: whole - guaranteed + own guarantee, at most the stated capability."""

    total: Resource
    guaranteed: Resource
    """The sum of the guarantees of all queues that share the whole."""
    own_guarantee: Resource
    remaining: Resource
    capability: Resource | None
    """The stated capability; None without one."""
    limit: Resource
    parent: QueueName = ""
    """The parent queue, whose limit is divided; empty if the cluster is divided."""


def queue_limit(
    total: Resource, guaranteed: Resource, guarantee: Resource, capability: Resource | None, parent: QueueName = ""
) -> QueueLimit:
    """The limit of one queue among those that share `total`."""
    available = exceeded_part(total, guaranteed).add(guarantee)
    limit = available.clone()
    if capability is not None:
        limit.min_dimension_resource(capability, INFINITY)
    return QueueLimit(total, guaranteed, guarantee, available, capability, limit, parent)


def flat_limit(queue: QueueInfo, total: Resource, guaranteed: Resource) -> QueueLimit:
    """The limit of a queue that has no parent; a capability of 0 cpu or memory is no limit."""
    capability = Resource.from_list(queue.capability)
    # Upstream cannot tell an absent cpu from 0 in a parsed Resource, and takes both for unlimited.
    if queue.capability:
        capability.milli_cpu = capability.milli_cpu if capability.milli_cpu > 0 else MAX_FLOAT64
        capability.memory = capability.memory if capability.memory > 0 else MAX_FLOAT64
    return queue_limit(total, guaranteed, Resource.from_list(queue.guarantee), capability if queue.capability else None)


_EMPTY_SCALARS: Final[Mapping[str, float]] = {}


def exceeded_part(left: Resource | None, right: Resource | None) -> Resource:
    """The excess of `left` over `right`, without empty scalars. Upstream: api/resource_info.ExceededPart."""
    if left is None:
        return Resource()
    if right is None:
        return left
    # -1 means infinity in upstream's scalars, also where it is a real amount.
    result = Resource(max(left.milli_cpu - right.milli_cpu, 0.0), max(left.memory - right.memory, 0.0), {})
    left_scalars, right_scalars = left.scalars or _EMPTY_SCALARS, right.scalars or _EMPTY_SCALARS
    for name in sorted({**left_scalars, **right_scalars}):
        amount, right_amount = left_scalars.get(name, 0.0), right_scalars.get(name, 0.0)
        if amount == -1:
            result.set_scalar(name, -1)
        elif amount > right_amount != -1:
            result.set_scalar(name, amount - right_amount)
    return result


class ShareTotals:
    """Denominators of shares: the amounts of the cluster, or those that a queue deserves."""

    __slots__ = ("_cpu", "_memory", "_scalars", "dimensions", "resource")

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.dimensions = [(name, amount) for name, amount in resource.items() if amount >= MIN_RESOURCE]
        """Dimensions that hold something: cpu, memory, then scalars ascending; `pods` is one of them."""
        self._cpu = resource.milli_cpu if resource.milli_cpu >= MIN_RESOURCE else 0.0
        self._memory = resource.memory if resource.memory >= MIN_RESOURCE else 0.0
        self._scalars = [(name, amount) for name, amount in self.dimensions if name not in (CPU, MEMORY)]

    def calculate_share(self, allocated: Resource) -> tuple[str, float]:
        """(dimension, share) of the largest share, the earlier of equals. Upstream: plugins/drf.calculateShare."""
        name, value = "", 0.0
        if self._cpu and (share := allocated.milli_cpu / self._cpu) > value:
            name, value = CPU, share
        if self._memory and (share := allocated.memory / self._memory) > value:
            name, value = MEMORY, share
        scalars = allocated.scalars or _EMPTY_SCALARS
        for dimension, total in self._scalars:
            if (share := scalars.get(dimension, 0.0) / total) > value:
                name, value = dimension, share
        return name, value

    def share_with(self, allocated: Resource, request: Resource) -> float:
        """The largest share of allocated + request, without adding them. Upstream: plugins/drf.calculateShare."""
        largest = 0.0
        allocated_scalars, request_scalars = allocated.scalars or _EMPTY_SCALARS, request.scalars or _EMPTY_SCALARS
        for dimension, total in self.dimensions:
            if dimension == CPU:
                share = (allocated.milli_cpu + request.milli_cpu) / total
            elif dimension == MEMORY:
                share = (allocated.memory + request.memory) / total
            else:
                share = (allocated_scalars.get(dimension, 0.0) + request_scalars.get(dimension, 0.0)) / total
            if share > largest:
                largest = share
        return largest

    def share_by_dimension(self, allocated: Resource) -> list[tuple[str, float]]:
        """(dimension, share) of every dimension that has a total."""
        return [(name, allocated.get(name) / total) for name, total in self.dimensions]

    def largest_share(self, allocated: Resource) -> float:
        """The largest share alone."""
        return self.calculate_share(allocated)[1]


def share_of(left: float, right: float) -> float:
    """left / right; with right 0 it is 1, or 0 if left is 0 too. Upstream: api/helpers.Share."""
    if right == 0:
        return 0.0 if left == 0 else 1.0
    return left / right
