"""Devices that pods ask for through resource claims: how many of each class, and of what they share out.

Upstream: cache (buildTaskDRAInfo, addDRAResource), api (DRAResource).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vcdebug.gomath import MAX_INT64, MIN_INT64, wrap_int64
from vcdebug.model.panics import SchedulerPanic
from vcdebug.model.pod import Pod
from vcdebug.releases.queues import DRA_CAPACITY_MUL, DRA_COUNT_WRAPS
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.manifest import spec_of
from vcdebug.snapshot.quantity import nano_value
from vcdebug.snapshot.snapshot import SchedulerFlags

ALL_DEVICES = "All"
NIL_MAP_PANIC = "assignment to entry in nil map"

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
        self.count = self._limit_count(self.count + other.count)
        for name, amount in other.capacity.items():
            self.capacity[name] = self.capacity.get(name, 0) + amount

    def sub(self, other: DeviceAmount) -> None:
        """Subtract, never below 0."""
        self.count = max(self.count - other.count, 0)
        for name, amount in other.capacity.items():
            if name in self.capacity:
                self.capacity[name] = max(self.capacity[name] - amount, 0)

    def multiplied_by(self, factor: int) -> DeviceAmount:
        """The same for `factor` tasks."""
        capacity = {name: amount * factor for name, amount in self.capacity.items()}
        return DeviceAmount(self._limit_count(self.count * factor), capacity, wraps=self.wraps)

    def difference_from(self, other: DeviceAmount) -> DeviceAmount:
        """The difference, which may be negative."""
        names = dict.fromkeys([*self.capacity, *other.capacity])
        capacity = {name: self.capacity.get(name, 0) - other.capacity.get(name, 0) for name in names}
        return DeviceAmount(self.count - other.count, capacity)

    def _limit_count(self, count: int) -> int:
        return wrap_int64(count) if self.wraps else min(max(count, MIN_INT64), MAX_INT64)


DeviceDemand = dict[DeviceClass, DeviceAmount]


def merge_task_dra(total: DeviceDemand, more: Mapping[DeviceClass, DeviceAmount]) -> None:
    """Add every class of `more` to the total. Upstream: plugins/capacity.mergeTaskDRA."""
    for name in sorted(more):
        total.setdefault(name, DeviceAmount()).add(more[name])


class TaskDemand:
    """What one task asks for: in all, and per claim, since tasks may share a claim."""

    __slots__ = ("by_claim", "total")

    def __init__(self, by_claim: dict[ClaimKey, DeviceDemand]) -> None:
        self.by_claim = {key: by_claim[key] for key in sorted(by_claim)}
        self.total: DeviceDemand = {}
        for demand in self.by_claim.values():
            merge_task_dra(self.total, demand)


class ClaimPendingError(Exception):
    """A claim is to be made of the pod's template, and is not there yet."""


class ClaimMissingError(Exception):
    """The pod names a claim that does not exist: upstream leaves the pod out altogether."""


class DeviceClaims:
    """Reads what a pod asks for from its claims."""

    def __init__(self, claims: Mapping[ClaimKey, JsonObject], flags: SchedulerFlags) -> None:
        self._claims = claims
        self._enabled = flags.is_gate_on("DynamicResourceAllocation")
        self._consumable = flags.is_gate_on("DRAConsumableCapacity")
        self._wraps = flags.release.has_older_form(DRA_COUNT_WRAPS)
        self._holds_at_least_one = flags.release.has_older_form(DRA_CAPACITY_MUL)

    def build_task_dra_info(self, pod: Pod) -> TaskDemand | None:
        """None for a pod without a device request. Upstream: cache.buildTaskDRAInfo."""
        if not self._enabled or not pod.spec.get("resourceClaims"):
            return None
        by_claim: dict[ClaimKey, DeviceDemand] = {}
        with_capacity: dict[DeviceClass, bool] = {}
        for key, templated in _claim_keys(pod):
            if key in by_claim:
                continue
            claim = self._claims.get(key)
            if claim is None and templated:
                raise ClaimPendingError
            if claim is None:
                raise ClaimMissingError(
                    f"ResourceClaim {key} does not exist" if key else "a resource claim has no name"
                )
            demand = self._claim_demand(claim, with_capacity)
            if demand:
                by_claim[key] = demand
        return TaskDemand(by_claim) if by_claim else None

    def _claim_demand(self, claim: JsonObject, with_capacity: dict[DeviceClass, bool]) -> DeviceDemand:
        """A class whose first request, in the claim or the pod, names no capacity panics at one that does.
        Upstream: cache.addDRAResource.
        """
        result: DeviceDemand = {}
        here: dict[DeviceClass, bool] = {}
        for name, exactly in _exact_requests(claim):
            count = exactly.get("count") or 1
            wanted = (exactly.get("capacity") or {}).get("requests") or {} if self._consumable else {}
            for seen in (here, with_capacity):
                if not seen.setdefault(name, bool(wanted)) and wanted:
                    raise SchedulerPanic(NIL_MAP_PANIC)
            times = max(count, 1) if self._holds_at_least_one else count
            held = {dim: nano_value(text) * times for dim, text in wanted.items()}
            amount = DeviceAmount(count, held, wraps=self._wraps)
            result.setdefault(name, DeviceAmount()).add(amount)
        return result


def _exact_requests(claim: JsonObject) -> Iterator[tuple[DeviceClass, JsonObject]]:
    """Requests of a stated number of one class; alternatives and `All` are not tracked."""
    for request in (spec_of(claim).get("devices") or {}).get("requests") or ():
        exactly = request.get("exactly")
        if exactly is None or request.get("firstAvailable") is not None:
            continue
        if exactly.get("deviceClassName") and exactly.get("allocationMode") != ALL_DEVICES:
            yield exactly["deviceClassName"], exactly


def _claim_keys(pod: Pod) -> Iterator[tuple[ClaimKey, bool]]:
    """The pod's claims, and whether a template makes them; no key for one that has no name yet.
    Upstream: cache.resolvePodClaimName.
    """
    statuses = {entry.get("name"): entry for entry in pod.status.get("resourceClaimStatuses") or ()}
    for entry in pod.spec.get("resourceClaims") or ():
        name = entry.get("resourceClaimName") or statuses.get(entry.get("name"), {}).get("resourceClaimName")
        yield f"{pod.namespace}/{name}" if name else "", entry.get("resourceClaimTemplateName") is not None
