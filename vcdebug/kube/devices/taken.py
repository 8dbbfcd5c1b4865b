"""Devices that claims have: by their status, or by what a search has found.

Upstream: k8s plugin dynamicresources (allocateddevices), dynamic-resource-allocation structured (createNodeSelector).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from vcdebug.kube.devices.capacity import NO_AMOUNTS, CapacityAmounts, parse_amounts, quantity_text
from vcdebug.kube.devices.device import Device, DeviceId, PoolId
from vcdebug.kube.devices.features import AllocatorFeatures
from vcdebug.kube.devices.requests import WantedDevices
from vcdebug.kube.undecided import Undecided
from vcdebug.model.names import NodeName
from vcdebug.snapshot.json_values import JsonDict, JsonObject
from vcdebug.snapshot.manifest import status_of


class HeldDevice(NamedTuple):
    """A device that a claim has; only a part of it where it is shared."""

    id: DeviceId
    admin: bool = False
    """Whether it is free for others all the same."""
    shared: bool = False
    capacity: CapacityAmounts = NO_AMOUNTS


class TakenDevice(NamedTuple):
    """A device that a search has found for a request."""

    wanted: WantedDevices
    device: Device
    shared: bool
    capacity: CapacityAmounts

    @property
    def held_device(self) -> HeldDevice:
        """As later searches see it."""
        return HeldDevice(self.device.id, self.wanted.admin, self.shared, self.capacity)

    def result_entry(self, part: str) -> JsonDict:
        """As the claim's status says it; a part of a device is told apart by a name of its own."""
        driver, pool, device = self.device.id
        found: JsonDict = {"request": self.wanted.result_name, "driver": driver, "pool": pool, "device": device}
        if self.wanted.admin:
            found["adminAccess"] = True
        if self.shared:
            found["shareID"] = part
            found["consumedCapacity"] = {name: quantity_text(nano) for name, nano in self.capacity.items()}
        return found


class ClaimAllocation(NamedTuple):
    """What one claim gets."""

    held: tuple[HeldDevice, ...]
    results: tuple[JsonDict, ...]
    """The same as the claim's status says it."""
    selector: JsonObject | None
    """The nodes that the claim can be used on; None is all of them."""
    certain: bool
    """Whether the devices were gone through in an order that is not chance."""


def make_allocation(claim: str, taken: Sequence[TakenDevice], node: NodeName, *, certain: bool) -> ClaimAllocation:
    """What a search on a node has found for a claim; raises Undecided."""
    results = tuple(one.result_entry(f"{claim}-{place}") for place, one in enumerate(taken))
    return ClaimAllocation(tuple(one.held_device for one in taken), results, create_node_selector(taken, node), certain)


class DevicesInUse:
    """What is taken when a search begins."""

    def __init__(self, held: Iterable[HeldDevice], before: DevicesInUse | None = None) -> None:
        self.devices: dict[DeviceId, None] = {} if before is None else dict(before.devices)
        known = {} if before is None else before.capacity
        self.capacity: dict[DeviceId, dict[str, int]] = {one: dict(amounts) for one, amounts in known.items()}
        self.since: dict[PoolId, list[HeldDevice]] = {}
        """What has come to `before`, by pool."""
        for one in held:
            self._add_device(one)
            if before is not None:
                self.since.setdefault(PoolId(one.id.driver, one.id.pool), []).append(one)

    def _add_device(self, one: HeldDevice) -> None:
        if one.admin:
            return
        if not one.shared:
            self.devices[one.id] = None
        elif one.capacity:
            known = self.capacity.setdefault(one.id, {})
            for name, amount in one.capacity.items():
                known[name] = known.get(name, 0) + amount


def held_devices(claim: JsonObject, features: AllocatorFeatures) -> Iterator[HeldDevice]:
    """The devices of a claim's status."""
    allocation = status_of(claim).get("allocation") or {}
    for one in (allocation.get("devices") or {}).get("results") or ():
        name = DeviceId(one.get("driver") or "", one.get("pool") or "", one.get("device") or "")
        shared = features.capacity and one.get("shareID") is not None
        yield HeldDevice(name, bool(one.get("adminAccess")), shared, parse_amounts(one.get("consumedCapacity")))


def create_node_selector(taken: Sequence[TakenDevice], node: NodeName) -> JsonObject | None:
    """The nodes that all of the devices can be used on; raises Undecided."""
    fields: list[JsonObject] = []
    labels: list[JsonObject] = []
    for device in (one.device for one in taken):
        if device.place.node or device.manifest.get("bindsToNode"):
            name = {"key": "metadata.name", "operator": "In", "values": [node]}
            return {"nodeSelectorTerms": [{"matchFields": [name]}]}
        terms = (device.place.selector or {}).get("nodeSelectorTerms") or ()
        if len(terms) > 1:
            raise Undecided("a node selector of devices has several terms")
        for term in terms:
            _merge_terms(term.get("matchFields") or (), fields)
            _merge_terms(term.get("matchExpressions") or (), labels)
    parts: JsonDict = {"matchExpressions": labels, "matchFields": fields}
    term = {name: part for name, part in parts.items() if part}
    return {"nodeSelectorTerms": [term]} if term else None


def _merge_terms(more: Iterable[JsonObject], known: list[JsonObject]) -> None:
    """Those that are not there yet."""
    for one in more:
        if not any(_are_alike(one, other) for other in known):
            known.append(one)


def _are_alike(one: JsonObject, other: JsonObject) -> bool:
    names = one.get("key") == other.get("key") and one.get("operator") == other.get("operator")
    return names and sorted(dict.fromkeys(one.get("values") or ())) == sorted(dict.fromkeys(other.get("values") or ()))
