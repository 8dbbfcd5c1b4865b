"""The backtracking search for devices on one node, and the constraints between devices of a claim.

Upstream: k8s dynamic-resource-allocation structured (allocateOne, allocateDevice, matchAttributeConstraint,
distinctAttributeConstraint).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from vcdebug.kube.cel import Undecided
from vcdebug.kube.devices import AllocationError, AllocatorFeatures
from vcdebug.kube.devices.allocations import SearchLedger, TakenDevice
from vcdebug.kube.devices.device import Device, DeviceId, DevicePool
from vcdebug.kube.devices.requests import MAX_DEVICES, DeviceClaim, DeviceRequest, RequestData
from vcdebug.kube.selector import Labels
from vcdebug.kube.taints import has_untolerated
from vcdebug.model.names import NodeName
from vcdebug.snapshot.manifest import JsonObject

MAX_SEARCH_STEPS: Final = 20_000
"""Maximum number of steps of a search; upstream has a timeout instead, which a replay cannot repeat."""
MAX_SEARCH_DEPTH: Final = 200
"""Maximum number of devices of a pod in one search: each device is a level of recursion."""


class _TooManyError(Exception):
    """Raised if a claim would have more devices than allowed."""


class _StoppedError(Exception):
    """Raised to end the search without backtracking."""


class DeviceSearch:
    """A search for the devices of all claims of a pod on one node."""

    def __init__(
        self,
        node: tuple[NodeName, Labels],
        pools: Sequence[DevicePool],
        claims: Sequence[tuple[DeviceClaim, list[DeviceConstraint]]],
        ledger: SearchLedger,
        features: AllocatorFeatures,
    ) -> None:
        self._node, self._labels = node
        invalid = next((index for index, pool in enumerate(pools) if pool.invalid and features.pools_by_node), None)
        self._invalid = None if invalid is None else pools[invalid]
        """The first invalid pool, at which the search ends if pools are read per node; None without one."""
        visible_pools = pools if features.stops_at_all else pools[:invalid]
        self._devices = [(device, pool) for pool in visible_pools for device in pool.devices]
        self._claims = claims
        self._ledger = ledger
        self._features = features
        self._steps = 0
        self.allocations: list[list[TakenDevice]] = []

    def allocate_claims(self) -> bool:
        """Whether all claims can be allocated; `allocations` has the devices. Raises AllocationError and Undecided."""
        requests = [request for claim, _ in self._claims for request in claim.requests]
        largest = sum(max(option.count for option in request.alternatives) for request in requests)  # exact: ints
        if largest > MAX_SEARCH_DEPTH:
            raise Undecided(f"a pod asks for more than {MAX_SEARCH_DEPTH} devices")
        try:
            return self._try_claim(0)
        except _StoppedError:
            return False

    def selects_device(self, request: RequestData, device: Device) -> bool:
        """Whether the device matches the request's selectors and this node can use it."""
        if not self._features.bindings and device.manifest.get("bindingConditions"):
            return False
        if not request.selection.takes_device(device, request.claim):
            return False
        return not device.slice.per_device or device.scope.includes_node(self._labels, self._node)

    def devices_of_kind(self, request: RequestData) -> dict[DeviceId, bool]:
        """The devices that match a request, and whether each is free."""
        return {
            device.id: self._fits_request(request, device, 0) and not self._has_untolerated_taint(request, device)
            for device, _ in self._devices
            if self.selects_device(request, device)
        }

    def _has_untolerated_taint(self, request: RequestData, device: Device) -> bool:
        """Whether the device has a taint that applies and is not tolerated."""
        return self._features.taints and has_untolerated(device.taints, request.tolerations)

    def _try_claim(self, place: int) -> bool:
        return place == len(self._claims) or self._try_request(place, 0)

    def _try_request(self, claim: int, place: int) -> bool:
        requests = self._claims[claim][0].requests
        if place == len(requests):
            try:
                return self._try_claim(claim + 1)
            except _TooManyError:
                return False
        request = requests[place]
        if request.chooses:
            return self._try_alternatives(request, claim, place)
        return self._try_next(request.alternatives[0], claim, place, 0, 0)

    def _try_alternatives(self, request: DeviceRequest, claim: int, place: int) -> bool:
        too_many = 0
        for alternative in request.alternatives:
            try:
                if self._try_next(alternative, claim, place, 0, 0):
                    return True
            except _TooManyError:
                too_many += 1
        if too_many == len(request.alternatives):
            raise _TooManyError
        return False

    def _try_next(self, request: RequestData, claim: int, place: int, device_index: int, begin: int) -> bool:
        """Add the next of a request's devices, the one at `device_index`; devices before `begin` were tried."""
        self._steps += 1
        if self._steps > MAX_SEARCH_STEPS:
            raise Undecided("the search for devices times out")
        if request.requests_all and not request.devices and not self._features.stops_at_all:
            return False
        if device_index == request.count:
            return self._try_request(claim, place + 1)
        if len(self.allocations[claim]) + request.count - device_index > MAX_DEVICES:
            raise _TooManyError
        if request.requests_all:
            return self._try_all_devices(request, claim, place, device_index)
        if device_index == 0 and self._invalid is None and not self._has_enough_devices(request, claim):
            return False
        return self._try_one_device(request, claim, place, device_index, begin)

    def _try_one_device(self, request: RequestData, claim: int, place: int, device_index: int, begin: int) -> bool:
        for index in range(begin, len(self._devices)):
            device, pool = self._devices[index]
            if not self._fits_request(request, device, claim):
                continue
            if pool.invalid:
                raise _invalid_pool_error(pool)
            if not self._take_device(request, device, pool, claim):
                continue
            next_index = 0 if self._ledger.is_unrecorded(request) else index + 1
            following = partial(self._try_next, request, claim, place, device_index + 1, next_index)
            if self._continue_or_undo(request, device, pool, claim, following):
                return True
        if self._invalid is not None and not self._features.stops_at_all:
            raise _invalid_pool_error(self._invalid)
        return False

    def _has_enough_devices(self, request: RequestData, claim: int) -> bool:
        """Whether enough devices match, constraints aside: a quick rejection before the search branches."""
        missing = 1 if self._ledger.is_unrecorded(request) else request.count
        for device, _ in self._devices:
            if self._fits_request(request, device, claim):
                missing -= 1
                if missing == 0:
                    return True
        return False

    def _fits_request(self, request: RequestData, device: Device, claim: int) -> bool:
        ledger = self._ledger
        return (
            ledger.is_free(request, device, claim)
            and self.selects_device(request, device)
            and ledger.has_room(request, device)
        )

    def _try_all_devices(self, request: RequestData, claim: int, place: int, device_index: int) -> bool:
        """Take the next of all matching devices; the request fails unless all of them can be taken."""
        device = request.devices[device_index]
        if not self._take_device(request, device, None, claim):
            if self._features.stops_at_all:
                raise _StoppedError
            return False
        # Older allocators continue with the best alternative, whichever one took the first device.
        following = request
        if request.parent and not self._features.keeps_alternative:
            following = self._claims[claim][0].requests[place].alternatives[0]
        return self._continue_or_undo(
            request, device, None, claim, partial(self._try_next, following, claim, place, device_index + 1, 0)
        )

    def _continue_or_undo(
        self, request: RequestData, device: Device, pool: DevicePool | None, claim: int, following: Callable[[], bool]
    ) -> bool:
        """Continue the search after taking a device; undo that if the search fails or raises."""
        succeeded = False
        try:
            succeeded = following()
        finally:
            if not succeeded and not (pool is None and self._features.forgets_admin_devices):
                removed = self.allocations[claim].pop()
                for constraint in self._claims[claim][1]:
                    constraint.remove_device(request)
                self._ledger.give_back(request, device, pool, claim, removed.capacity)
        return succeeded

    def _take_device(self, request: RequestData, device: Device, pool: DevicePool | None, claim: int) -> bool:
        """Take the device; False if it is in use or not allowed."""
        ledger = self._ledger
        if not ledger.is_free(request, device, claim) or not ledger.charge_counters(device, pool):
            return False
        if self._has_untolerated_taint(request, device):
            return False
        if not self._constraints_allow(request, device, self._claims[claim][1], must=pool is None):
            return False
        if not ledger.has_room(request, device):
            return False
        part = ledger.take_device(request, device, claim)
        self.allocations[claim].append(TakenDevice(request, device, ledger.is_shared(device), part))
        return True

    def _constraints_allow(
        self, request: RequestData, device: Device, constraints: Sequence[DeviceConstraint], *, must: bool
    ) -> bool:
        """Add the device to all constraints or to none; with `must`, raise AllocationError if one is violated."""
        for place, constraint in enumerate(constraints):
            if constraint.add_device(request, device):
                continue
            if must:
                text = f"cannot add device {device.id} because a claim constraint would not be satisfied"
                raise AllocationError(f"claim {request.claim}, request {request.name}: {text}")
            for earlier in constraints[:place]:
                earlier.remove_device(request)
            return False
        return True


def _invalid_pool_error(pool: DevicePool) -> AllocationError:
    return AllocationError(f"pool {pool.id.name} is invalid: {pool.invalid}")


AttributeValue = tuple[str, object]
"""(kind, value) of a device attribute."""
ATTRIBUTE_KINDS = ("string", "int", "bool", "version")


class DeviceConstraint(ABC):
    """A constraint on an attribute of the devices of some requests, or of all requests if none are named."""

    def __init__(self, attribute: str, requests: Sequence[str]) -> None:
        self._attribute = attribute
        self._requests = requests

    def add_device(self, request: RequestData, device: Device) -> bool:
        """Add the device if the constraint allows it; False otherwise."""
        if not self._covers_request(request):
            return True
        value = _attribute_value(device, self._attribute)
        return value is not None and self._accepts_value(request, value)

    def remove_device(self, request: RequestData) -> None:
        """Remove the request's last device."""
        if self._covers_request(request):
            self._forget_device(request)

    def _covers_request(self, request: RequestData) -> bool:
        names = (request.parent or request.name, request.result_name)
        return not self._requests or any(name in self._requests for name in names)

    @abstractmethod
    def _accepts_value(self, request: RequestData, value: AttributeValue) -> bool: ...

    @abstractmethod
    def _forget_device(self, request: RequestData) -> None: ...


class SameAttribute(DeviceConstraint):
    """Requires the same value for all devices."""

    def __init__(self, attribute: str, requests: Sequence[str]) -> None:
        super().__init__(attribute, requests)
        self._value: AttributeValue = ("", None)
        self._devices = 0

    def _accepts_value(self, request: RequestData, value: AttributeValue) -> bool:
        if self._devices == 0:
            self._value = value
        if value != self._value or (self._devices and not value[0]):
            return False
        self._devices += 1
        return True

    def _forget_device(self, request: RequestData) -> None:
        self._devices -= 1


class DistinctAttribute(DeviceConstraint):
    """Requires different values for all devices; upstream remembers only the last value of each request.

    `by_address`: Kubernetes up to 1.34 compares pointers, so that no two values are equal.
    """

    def __init__(self, attribute: str, requests: Sequence[str], *, by_address: bool) -> None:
        super().__init__(attribute, requests)
        self._by_address = by_address
        self._values: dict[str, AttributeValue] = {}
        self._devices = 0

    def _accepts_value(self, request: RequestData, value: AttributeValue) -> bool:
        if self._devices and self._values and (not value[0] or self._has_value(value)):
            return False
        self._values[request.parent or request.name] = value
        self._devices += 1
        return True

    def _has_value(self, value: AttributeValue) -> bool:
        return not self._by_address and value in self._values.values()

    def _forget_device(self, request: RequestData) -> None:
        self._values.pop(request.parent or request.name, None)
        self._devices -= 1


def read_constraints(claim: str, entries: Sequence[JsonObject], features: AllocatorFeatures) -> list[DeviceConstraint]:
    """The constraints of a claim; raises AllocationError."""
    constraints: list[DeviceConstraint] = []
    for place, raw in enumerate(entries):
        requests = raw.get("requests") or ()
        if raw.get("matchAttribute") is not None:
            constraints.append(SameAttribute(raw["matchAttribute"], requests))
        elif features.knows_capacity and raw.get("distinctAttribute") is not None:
            constraints.append(
                DistinctAttribute(raw["distinctAttribute"], requests, by_address=features.distinct_by_address)
            )
        else:
            text = "empty constraint (unsupported constraint type?)"
            raise AllocationError(f"claim {claim}, constraint #{place}: {text}")
    return constraints


def _attribute_value(device: Device, attribute: str) -> AttributeValue | None:
    """The value of an attribute by its full name; attributes in the driver's domain are listed without the domain."""
    attributes = device.manifest.get("attributes") or {}
    raw = attributes.get(attribute)
    if raw is None:
        domain, mark, name = attribute.partition("/")
        raw = attributes.get(name) if mark and domain == device.id.driver else None
    if raw is None:
        return None
    return next(((kind, raw[kind]) for kind in ATTRIBUTE_KINDS if raw.get(kind) is not None), ("", None))
