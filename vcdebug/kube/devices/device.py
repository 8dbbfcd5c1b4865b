"""Devices, the slices that list them, and the nodes that they can be used on.

Upstream: k8s dynamic-resource-allocation structured (NodeMatches), api resource/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from vcdebug.kube.node_affinity import NodeTerm, node_term
from vcdebug.kube.selector import Labels, SelectorError
from vcdebug.kube.taints import Taint, parse_taints
from vcdebug.kube.undecided import Undecided
from vcdebug.model.names import NodeName
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.manifest import name_of, spec_of


class DeviceId(NamedTuple):
    """What a device is called."""

    driver: str
    pool: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


class PoolId(NamedTuple):
    """What a pool is called."""

    driver: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


@dataclass(frozen=True, slots=True)
class NodeScope:
    """The nodes that can use a device: one, all, or those that a selector selects."""

    node: NodeName
    everywhere: bool
    selector: JsonObject | None
    terms: tuple[NodeTerm, ...] = ()
    broken: str = ""
    """Why the selector cannot be read."""

    @classmethod
    def from_spec(cls, raw: JsonObject) -> NodeScope:
        """Of a slice's spec, or of a device."""
        node, everywhere, selector = raw.get("nodeName") or "", bool(raw.get("allNodes")), raw.get("nodeSelector")
        if node or everywhere or selector is None:
            return cls(node, everywhere, selector)
        try:
            terms = tuple(node_term(term) for term in selector.get("nodeSelectorTerms") or ())
        except SelectorError as error:
            return cls(node, everywhere, selector, broken=str(error))
        return cls(node, everywhere, selector, terms)

    @property
    def names_nodes(self) -> bool:
        """Whether any node is named."""
        return bool(self.node) or self.everywhere or self.selector is not None

    def includes_node(self, labels: Labels, node: NodeName) -> bool:
        """Whether the node is one of them; raises Undecided."""
        if self.node:
            return self.node == node
        if self.broken:
            raise Undecided(f"a node selector of devices cannot be read: {self.broken}")
        return self.everywhere or any(term.matches_node(labels, node) for term in self.terms)


@dataclass(frozen=True, eq=False, slots=True)
class Device:
    """One entry of a slice."""

    id: DeviceId
    manifest: JsonObject
    slice: DeviceSlice
    place: NodeScope
    """Its own where the slice leaves that to its devices, otherwise the slice's."""
    shareable: bool
    """Whether several claims may have a part of it."""
    capacity: JsonObject
    taints: tuple[Taint, ...]


@dataclass(frozen=True, eq=False, slots=True)
class DeviceSlice:
    """One ResourceSlice."""

    name: str
    pool: PoolId
    generation: int
    count: int
    """How many slices its pool has."""
    place: NodeScope
    per_device: bool | None
    """Whether each device says itself where it can be used."""
    counters: Mapping[str, Mapping[str, object]]
    """Counter set → counter → amount that the devices of the pool share."""
    twice: tuple[str, ...]
    """Counter sets that it names more than once."""
    devices: list[Device] = field(default_factory=list)


def read_slice(manifest: JsonObject) -> DeviceSlice:
    """Read one."""
    spec = spec_of(manifest)
    pool, sets = spec.get("pool") or {}, spec.get("sharedCounters") or ()
    names = [one.get("name") or "" for one in sets]
    place = NodeScope.from_spec(spec)
    found = DeviceSlice(
        name=name_of(manifest),
        pool=PoolId(spec.get("driver") or "", pool.get("name") or ""),
        generation=pool.get("generation") or 0,
        count=pool.get("resourceSliceCount") or 0,
        place=place,
        per_device=spec.get("perDeviceNodeSelection"),
        counters={
            one.get("name") or "": {
                name: (amount or {}).get("value") for name, amount in (one.get("counters") or {}).items()
            }
            for one in sets
        },
        twice=tuple(name for name in dict.fromkeys(names) if names.count(name) > 1),
    )
    found.devices.extend(_read_device(raw, found) for raw in spec.get("devices") or ())
    return found


def _read_device(raw: JsonObject, of: DeviceSlice) -> Device:
    name = DeviceId(of.pool.driver, of.pool.name, raw.get("name") or "")
    place = NodeScope.from_spec(raw) if of.per_device else of.place
    shareable, capacity = bool(raw.get("allowMultipleAllocations")), raw.get("capacity") or {}
    return Device(name, raw, of, place, shareable, capacity, parse_taints(raw.get("taints")))
