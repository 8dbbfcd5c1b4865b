"""The pools of devices that a node can use.

Upstream: k8s dynamic-resource-allocation structured (GatherPools).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from vcdebug.kube.devices.device import Device, DeviceSlice, PoolId
from vcdebug.kube.devices.features import AllocatorFeatures
from vcdebug.kube.selector import Labels
from vcdebug.model.names import NodeName
from vcdebug.snapshot.cycle_inputs import MapOrder


class DevicePool(NamedTuple):
    """One pool as one node sees it."""

    id: PoolId
    devices: tuple[Device, ...] = ()
    """Of slices that are about the node, in the order in which they are tried."""
    elsewhere: tuple[Device, ...] = ()
    """Of the other slices, where the pool has counters."""
    counters: Mapping[str, Mapping[str, object]] = {}
    incomplete: bool = False
    """The driver is still writing it."""
    invalid: str = ""
    """Why nothing is taken from it."""

    @property
    def binds_late(self) -> bool:
        """Whether some device is to be prepared before a pod is bound."""
        return any(device.manifest.get("bindingConditions") is not None for device in self.devices)


class DevicePools:
    """All slices, and what nodes see of them."""

    def __init__(self, slices: Sequence[DeviceSlice], features: AllocatorFeatures, ordering: MapOrder) -> None:
        names = {one.name: place for place, one in enumerate(slices)}
        order = sorted(names) if features.by_name else ordering.order_keys(names)
        self._features = features
        self._ordering = ordering
        self._slices = [slices[names[name]] for name in order]
        self._of_pool: dict[PoolId, list[DeviceSlice]] = {}
        for one in self._slices:
            self._of_pool.setdefault(one.pool, []).append(one)
        self._everywhere = [one for one in self._slices if one.counters or not one.place.node]
        self._of_node: dict[NodeName, list[DeviceSlice]] = {}
        for one in self._slices:
            if one.place.node and not one.counters:
                self._of_node.setdefault(one.place.node, []).append(one)
        self._seen: dict[NodeName, tuple[DevicePool, ...]] = {}

    def seen_by(self, node: NodeName, labels: Labels) -> tuple[DevicePool, ...]:
        """The node's pools, in the order in which they are tried; raises Undecided."""
        known = self._seen.get(node)
        if known is None:
            known = self._seen[node] = tuple(self._gather_pools(node, labels))
        return known

    def _gather_pools(self, node: NodeName, labels: Labels) -> list[DevicePool]:
        """Those with devices that are bound late come last."""
        found: dict[PoolId, list[DeviceSlice]] = {}
        for one in (*self._of_node.get(node, ()), *self._everywhere):
            if self._is_about(one, node, labels):
                _add_slice(found.setdefault(one.pool, []), one)
        pools = {str(pool): built for pool, slices in found.items() for built in self._build_pool(pool, slices)}
        if not self._features.by_name:
            return [pools[name] for name in self._ordering.order_keys(pools)]
        return sorted(pools.values(), key=lambda pool: (pool.binds_late, pool.id))

    def _is_about(self, one: DeviceSlice, node: NodeName, labels: Labels) -> bool:
        if self._features.counters and one.counters:
            return True
        if not self._features.counters and (one.per_device is not None or self._leaves_out(one)):
            return False
        if one.place.names_nodes:
            return one.place.includes_node(labels, node)
        return bool(one.per_device) and any(device.place.includes_node(labels, node) for device in one.devices)

    def _leaves_out(self, one: DeviceSlice) -> bool:
        """Whether a slice with counters is passed over where counters are not known."""
        features = self._features
        return bool(one.counters) and not features.stops_at_all and (features.forgetful or not features.pools_by_node)

    def _build_pool(self, pool: PoolId, slices: list[DeviceSlice]) -> Iterator[DevicePool]:
        """Nothing of a pool that is being replaced."""
        first, every = slices[0], slices
        if self._features.pools_by_node:
            yield self._check_pool(pool, slices, [])._replace(incomplete=len(slices) != first.count)
            return
        if len(slices) != first.count:
            known = self._of_pool[pool]
            if any(one.generation > first.generation for one in known):
                return
            every = [one for one in known if one.generation == first.generation]
            if len(every) != first.count:
                yield DevicePool(pool, incomplete=True)
                return
        yield self._check_pool(pool, slices, [one for one in every if one not in slices])

    def _check_pool(self, pool: PoolId, slices: list[DeviceSlice], others: list[DeviceSlice]) -> DevicePool:
        holding = [one for one in slices if not (self._features.counters and one.counters)]
        if self._features.by_name:
            holding = sorted(holding, key=lambda one: one.name)
        devices = tuple(device for one in holding for device in one.devices)
        known: dict[str, None] = {}
        for device in devices:
            if device.id.name in known:
                there = devices if self._features.stops_at_all else ()
                return DevicePool(pool, there, invalid=f"duplicate device name {device.id.name}")
            known[device.id.name] = None
        if not self._features.counters:
            return DevicePool(pool, devices)
        elsewhere = tuple(device for one in others for device in one.devices)
        sets = [name for one in slices for name in one.counters]
        counters = {name: found for one in slices for name, found in one.counters.items()}
        twice = len(counters) < len(sets) or any(one.twice for one in slices)
        if twice or not all(_knows_counters(device, counters) for device in (*devices, *elsewhere)):
            return DevicePool(pool, invalid="counters are not as its devices say")
        return DevicePool(pool, devices, elsewhere, counters)


def _add_slice(slices: list[DeviceSlice], one: DeviceSlice) -> None:
    """Only the newest generation counts."""
    if slices and one.generation < slices[0].generation:
        return
    if slices and one.generation > slices[0].generation:
        slices.clear()
    slices.append(one)


def _knows_counters(device: Device, counters: Mapping[str, Mapping[str, object]]) -> bool:
    """Whether every counter exists that the device consumes."""
    for part in device.manifest.get("consumesCounters") or ():
        known = counters.get(part.get("counterSet") or "")
        if known is None or not all(name in known for name in part.get("counters") or {}):
            return False
    return True
