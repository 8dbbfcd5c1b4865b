"""Devices held by claims according to their status, and devices taken by a search.

Upstream: k8s plugin dynamicresources (allocateddevices), dynamic-resource-allocation structured (createNodeSelector,
allocateDevice, checkAvailableCounters).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from vcdebug.errors import NIL_POINTER_TEXT, ProcessExit
from vcdebug.kube.cel import Undecided
from vcdebug.kube.devices import AllocatorFeatures
from vcdebug.kube.devices.device import (
    NO_AMOUNTS,
    CapacityAmounts,
    Device,
    DeviceId,
    DevicePool,
    PoolId,
    consumed_capacity,
    fits_capacity,
    parse_amounts,
    quantity_text,
)
from vcdebug.kube.devices.requests import RequestData
from vcdebug.model.names import NodeName
from vcdebug.snapshot.manifest import JsonDict, JsonObject, status_of
from vcdebug.snapshot.quantity import nano_value


class HeldDevice(NamedTuple):
    """A device, or a part of a shared device, that a claim holds."""

    id: DeviceId
    admin: bool = False
    """Admin access: the claim does not consume the device."""
    shared: bool = False
    capacity: CapacityAmounts = NO_AMOUNTS


class TakenDevice(NamedTuple):
    """A device that a search has found for a request."""

    request: RequestData
    device: Device
    shared: bool
    capacity: CapacityAmounts

    @property
    def held_device(self) -> HeldDevice:
        """The device in the form in which later searches read it."""
        return HeldDevice(self.device.id, self.request.admin, self.shared, self.capacity)

    def result_entry(self, part: str) -> JsonDict:
        """The entry of the claim's status; `part` is the share ID of a part of a device."""
        driver, pool, device = self.device.id
        entry: JsonDict = {"request": self.request.result_name, "driver": driver, "pool": pool, "device": device}
        if self.request.admin:
            entry["adminAccess"] = True
        if self.shared:
            entry["shareID"] = part
            entry["consumedCapacity"] = {name: quantity_text(nano) for name, nano in self.capacity.items()}
        return entry


class ClaimAllocation(NamedTuple):
    """The devices allocated to one claim."""

    devices: tuple[HeldDevice, ...]
    results: tuple[JsonDict, ...]
    """Entries of status.allocation.devices.results."""
    selector: JsonObject | None
    """Selects the nodes that can use the claim; None selects all."""
    is_order_certain: bool
    """Whether upstream would try the devices in the same order; otherwise its order is random."""


def make_allocation(claim: str, taken: Sequence[TakenDevice], node: NodeName, *, certain: bool) -> ClaimAllocation:
    """The allocation of a claim from the result of a search; raises Undecided."""
    results = tuple(taken_device.result_entry(f"{claim}-{place}") for place, taken_device in enumerate(taken))
    return ClaimAllocation(
        tuple(taken_device.held_device for taken_device in taken), results, create_node_selector(taken, node), certain
    )


class DevicesInUse:
    """Devices and capacity in use at the start of a search."""

    def __init__(self, devices: Iterable[HeldDevice], before: DevicesInUse | None = None) -> None:
        self.devices: dict[DeviceId, None] = {} if before is None else dict(before.devices)
        capacity = {} if before is None else before.capacity
        self.capacity: dict[DeviceId, dict[str, int]] = {device: dict(amounts) for device, amounts in capacity.items()}
        self.held_by_pool: dict[PoolId, list[HeldDevice]] = {}
        """Devices added to `before`, by pool: a cached result holds while the entries of its pools are equal."""
        for device in devices:
            self._add_device(device)
            if before is not None:
                self.held_by_pool.setdefault(PoolId(device.id.driver, device.id.pool), []).append(device)

    def _add_device(self, device: HeldDevice) -> None:
        if device.admin:
            return
        if not device.shared:
            self.devices[device.id] = None
        elif device.capacity:
            capacity = self.capacity.setdefault(device.id, {})
            for name, amount in device.capacity.items():
                capacity[name] = capacity.get(name, 0) + amount


def held_devices(claim: JsonObject, features: AllocatorFeatures) -> Iterator[HeldDevice]:
    """The devices of a claim's status."""
    allocation = status_of(claim).get("allocation") or {}
    for result in (allocation.get("devices") or {}).get("results") or ():
        name = DeviceId(result.get("driver") or "", result.get("pool") or "", result.get("device") or "")
        shared = features.capacity and result.get("shareID") is not None
        yield HeldDevice(name, bool(result.get("adminAccess")), shared, parse_amounts(result.get("consumedCapacity")))


def create_node_selector(taken: Sequence[TakenDevice], node: NodeName) -> JsonObject | None:
    """The selector of nodes that can use all of the devices, None for all nodes; raises Undecided."""
    fields: list[JsonObject] = []
    labels: list[JsonObject] = []
    for device in (entry.device for entry in taken):
        if device.scope.node or device.manifest.get("bindsToNode"):
            name = {"key": "metadata.name", "operator": "In", "values": [node]}
            return {"nodeSelectorTerms": [{"matchFields": [name]}]}
        terms = (device.scope.selector or {}).get("nodeSelectorTerms") or ()
        if len(terms) > 1:
            raise Undecided("a node selector of devices has several terms")
        for term in terms:
            _merge_terms(term.get("matchFields") or (), fields)
            _merge_terms(term.get("matchExpressions") or (), labels)
    parts: JsonDict = {"matchExpressions": labels, "matchFields": fields}
    term = {name: part for name, part in parts.items() if part}
    return {"nodeSelectorTerms": [term]} if term else None


def _merge_terms(additions: Iterable[JsonObject], requirements: list[JsonObject]) -> None:
    """Append the requirements that are not in the list yet."""
    for addition in additions:
        if not any(_are_alike(addition, other) for other in requirements):
            requirements.append(addition)


def _are_alike(left: JsonObject, right: JsonObject) -> bool:
    names = left.get("key") == right.get("key") and left.get("operator") == right.get("operator")
    return names and sorted(dict.fromkeys(left.get("values") or ())) == sorted(dict.fromkeys(right.get("values") or ()))


Counters = dict[tuple[str, str], int]
"""(counter set, counter) → amount in units of 10^-9."""


class SearchLedger:
    """Devices, capacity and counters that a search has taken so far."""

    def __init__(self, in_use: DevicesInUse, features: AllocatorFeatures) -> None:
        self._in_use = in_use
        self._features = features
        self._trying_claims: dict[DeviceId, list[int]] = {}
        """Device → the claims for which this search has taken it."""
        self._parts: dict[DeviceId, dict[str, int]] = {}
        """Shared device → capacity that this search has taken of it."""
        self._counted: dict[str, Counters] = {}
        """Pool → counters consumed in this search; as in upstream, not all are released."""

    def is_free(self, request: RequestData, device: Device, claim: int) -> bool:
        """Whether the device is free; with admin access, whether this claim has not taken it yet."""
        if request.admin:
            return self.is_unrecorded(request) or claim not in self._trying_claims.get(device.id, ())
        return device.id not in self._in_use.devices and not self._trying_claims.get(device.id)

    def has_room(self, request: RequestData, device: Device) -> bool:
        """Whether the device has the requested capacity left."""
        if not self._features.capacity or not (request.capacity or device.capacity):
            return True
        in_use, trying = self._in_use.capacity.get(device.id, NO_AMOUNTS), self._parts.get(device.id, NO_AMOUNTS)
        return fits_capacity(request.capacity, device.capacity, in_use, trying)

    def charge_counters(self, device: Device, pool: DevicePool | None) -> bool:
        """Charge the counters that the device consumes; False if they do not suffice.

        Raises ProcessExit for a request for all devices, where upstream's pointer to the pool is nil.
        """
        parts = device.manifest.get("consumesCounters") or ()
        if not parts:
            return True
        if not self._features.counters:
            return self._features.forgets_admin_devices
        if self.is_shared(device) and (device.id in self._in_use.capacity or device.id in self._parts):
            return True
        if pool is None:
            raise ProcessExit(NIL_POINTER_TEXT)
        free, counted = self._left_counters(pool), self._counted.setdefault(pool.id.name, {})
        # Charged first and compared later, as upstream; a failure undoes the charge.
        self._charge_device(device, counted, 1)
        if all(amount >= counted.get(name, 0) for name, amount in free.items()):
            return True
        self._charge_device(device, counted, -1)
        return False

    def _left_counters(self, pool: DevicePool) -> Counters:
        free = {
            (name, counter_name): nano_value(text)
            for name, counters in pool.counters.items()
            for counter_name, text in counters.items()
        }
        for device in (*pool.devices, *pool.other_slice_devices):
            if device.id in self._in_use.devices:
                self._charge_device(device, free, -1)
        return free

    @staticmethod
    def _charge_device(device: Device, counters: Counters, sign: int) -> None:
        for part in device.manifest.get("consumesCounters") or ():
            for name, amount in (part.get("counters") or {}).items():
                key = (part.get("counterSet") or "", name)
                counters[key] = counters.get(key, 0) + sign * nano_value((amount or {}).get("value"))

    def is_shared(self, device: Device) -> bool:
        """Whether several claims can each hold a part of the device."""
        return self._features.capacity and device.shareable

    def take_device(self, request: RequestData, device: Device, claim: int) -> CapacityAmounts:
        """Take the device; returns the capacity taken, if the device is shared."""
        if not self.is_shared(device):
            if not self.is_unrecorded(request):
                self._trying_claims.setdefault(device.id, []).append(claim)
            return NO_AMOUNTS
        part = consumed_capacity(request.capacity, device.capacity)
        amounts = self._parts.setdefault(device.id, {})
        for name, amount in part.items():
            amounts[name] = amounts.get(name, 0) + amount
        return part

    def is_unrecorded(self, request: RequestData) -> bool:
        """Whether the request's devices are not recorded as taken (admin access in old allocators)."""
        return request.admin and self._features.forgets_admin_devices

    def give_back(
        self, request: RequestData, device: Device, pool: DevicePool | None, claim: int, part: CapacityAmounts
    ) -> None:
        """Undo `take_device`. The counters of a shared device stay charged, as upstream's."""
        if self.is_unrecorded(request):
            return
        if self.is_shared(device):
            amounts = self._parts.get(device.id, {})
            for name, amount in part.items():
                amounts[name] -= amount
            if not any(amounts.values()):
                self._parts.pop(device.id, None)
            return
        self._trying_claims[device.id].remove(claim)
        if pool is not None and self._features.counters:
            self._charge_device(device, self._counted.setdefault(pool.id.name, {}), -1)
