"""The pools of devices that a node can use.

Upstream: k8s dynamic-resource-allocation structured (GatherPools).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from vcdebug.kube.devices.device import Device, PoolId, Slice
from vcdebug.kube.devices.features import Features
from vcdebug.kube.selector import Labels
from vcdebug.model.names import NodeName
from vcdebug.model.ordering import Ordering


class Pool(NamedTuple):
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


class Pools:
    """All slices, and what nodes see of them."""

    def __init__(self, slices: Sequence[Slice], features: Features, ordering: Ordering) -> None:
        names = {one.name: place for place, one in enumerate(slices)}
        order = sorted(names) if features.by_name else ordering.keys(names)
        self._features = features
        self._ordering = ordering
        self._slices = [slices[names[name]] for name in order]
        self._of_pool: dict[PoolId, list[Slice]] = {}
        for one in self._slices:
            self._of_pool.setdefault(one.pool, []).append(one)
        self._everywhere = [one for one in self._slices if one.counters or not one.place.node]
        self._of_node: dict[NodeName, list[Slice]] = {}
        for one in self._slices:
            if one.place.node and not one.counters:
                self._of_node.setdefault(one.place.node, []).append(one)
        self._seen: dict[NodeName, tuple[Pool, ...]] = {}

    def seen_by(self, node: NodeName, labels: Labels) -> tuple[Pool, ...]:
        """The node's pools, in the order in which they are tried; raises Undecided."""
        known = self._seen.get(node)
        if known is None:
            known = self._seen[node] = tuple(self._gathered(node, labels))
        return known

    def _gathered(self, node: NodeName, labels: Labels) -> list[Pool]:
        """Those with devices that are bound late come last."""
        found: dict[PoolId, list[Slice]] = {}
        for one in (*self._of_node.get(node, ()), *self._everywhere):
            if self._is_about(one, node, labels):
                _add(found.setdefault(one.pool, []), one)
        pools = {str(pool): built for pool, slices in found.items() for built in self._built(pool, slices)}
        if not self._features.by_name:
            return [pools[name] for name in self._ordering.keys(pools)]
        return sorted(pools.values(), key=lambda pool: (pool.binds_late, pool.id))

    def _is_about(self, one: Slice, node: NodeName, labels: Labels) -> bool:
        if self._features.counters and one.counters:
            return True
        if not self._features.counters and (one.per_device is not None or self._leaves_out(one)):
            return False
        if one.place.said:
            return one.place.holds(labels, node)
        return bool(one.per_device) and any(device.place.holds(labels, node) for device in one.devices)

    def _leaves_out(self, one: Slice) -> bool:
        """Whether a slice with counters is passed over where counters are not known."""
        features = self._features
        return bool(one.counters) and not features.stops_at_all and (features.forgetful or not features.pools_by_node)

    def _built(self, pool: PoolId, slices: list[Slice]) -> Iterator[Pool]:
        """Nothing of a pool that is being replaced."""
        first, every = slices[0], slices
        if self._features.pools_by_node:
            yield self._checked(pool, slices, [])._replace(incomplete=len(slices) != first.count)
            return
        if len(slices) != first.count:
            known = self._of_pool[pool]
            if any(one.generation > first.generation for one in known):
                return
            every = [one for one in known if one.generation == first.generation]
            if len(every) != first.count:
                yield Pool(pool, incomplete=True)
                return
        yield self._checked(pool, slices, [one for one in every if one not in slices])

    def _checked(self, pool: PoolId, slices: list[Slice], others: list[Slice]) -> Pool:
        holding = [one for one in slices if not (self._features.counters and one.counters)]
        if self._features.by_name:
            holding = sorted(holding, key=lambda one: one.name)
        devices = tuple(device for one in holding for device in one.devices)
        known: dict[str, None] = {}
        for device in devices:
            if device.id.name in known:
                there = devices if self._features.stops_at_all else ()
                return Pool(pool, there, invalid=f"duplicate device name {device.id.name}")
            known[device.id.name] = None
        if not self._features.counters:
            return Pool(pool, devices)
        elsewhere = tuple(device for one in others for device in one.devices)
        sets = [name for one in slices for name in one.counters]
        counters = {name: found for one in slices for name, found in one.counters.items()}
        twice = len(counters) < len(sets) or any(one.twice for one in slices)
        if twice or not all(_known(device, counters) for device in (*devices, *elsewhere)):
            return Pool(pool, invalid="counters are not as its devices say")
        return Pool(pool, devices, elsewhere, counters)


def _add(slices: list[Slice], one: Slice) -> None:
    """Only the newest generation counts."""
    if slices and one.generation < slices[0].generation:
        return
    if slices and one.generation > slices[0].generation:
        slices.clear()
    slices.append(one)


def _known(device: Device, counters: Mapping[str, Mapping[str, object]]) -> bool:
    """Whether every counter exists that the device consumes."""
    for part in device.manifest.get("consumesCounters") or ():
        known = counters.get(part.get("counterSet") or "")
        if known is None or not all(name in known for name in part.get("counters") or {}):
            return False
    return True
