"""Devices, the slices that list them, and the nodes that they can be used on.

Upstream: k8s dynamic-resource-allocation structured (NodeMatches), api resource/v1.
Upstream: k8s dynamic-resource-allocation structured (consumable_capacity).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from vcdebug.gomath import int_div, int_mod
from vcdebug.kube.cel.values import NANO_PER_UNIT, Undecided
from vcdebug.kube.node_affinity import NodeTerm, node_term
from vcdebug.kube.selector import Labels, SelectorError
from vcdebug.kube.taints import Taint, parse_taints
from vcdebug.model.names import NodeName
from vcdebug.snapshot.manifest import Json, JsonObject, name_of, spec_of
from vcdebug.snapshot.quantity import nano_value


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


# Devices that several claims have a part of: what a claim takes of them, and whether that is left.

CapacityAmounts = Mapping[str, int]
"""Capacity → 10^-9 units."""
NO_AMOUNTS: Final[CapacityAmounts] = {}


def parse_amounts(raw: Json) -> CapacityAmounts:
    """Read them."""
    return {name: nano_value(text) for name, text in (raw or {}).items()}


def quantity_text(nano: int) -> str:
    """As a manifest says it."""
    return str(nano // NANO_PER_UNIT) if nano % NANO_PER_UNIT == 0 else f"{nano}n"  # exact: ints


def consumed_capacity(wanted: CapacityAmounts, capacity: JsonObject) -> dict[str, int]:
    """What a request takes of each capacity of a device; all of it where nothing is said."""
    return {name: _round_up(wanted.get(name), raw or {}) for name, raw in capacity.items()}


def fits_capacity(
    wanted: CapacityAmounts, capacity: JsonObject, taken: CapacityAmounts, trying: CapacityAmounts
) -> bool:
    """Whether a request can have its part beside what is taken already and what is being tried."""
    if any(name not in capacity for name in wanted):
        return False
    for name, amount in consumed_capacity(wanted, capacity).items():
        raw = capacity[name] or {}
        if _is_forbidden(amount, raw.get("requestPolicy")):
            return False
        if amount + taken.get(name, 0) + trying.get(name, 0) > nano_value(raw.get("value")):
            return False
    return True


def _round_up(wanted: int | None, raw: JsonObject) -> int:
    """Up to an amount that the device gives away."""
    policy = raw.get("requestPolicy") or {}
    if wanted is None:
        default = policy.get("default")
        return nano_value(default if default is not None else raw.get("value"))
    within, values = policy.get("validRange") or {}, policy.get("validValues")
    if within.get("min") is not None:
        return _round_to_step(wanted, within)
    known = [nano_value(text) for text in values or ()]
    return next((one for one in known if wanted <= one), wanted)


def _round_to_step(wanted: int, within: JsonObject) -> int:
    least = nano_value(within["min"])
    if wanted < least:
        return least
    if within.get("step") is None:
        return wanted
    begin, step = _whole_units(least), _whole_units(nano_value(within["step"]))
    added = _whole_units(wanted) - begin
    return (begin + step * (int_div(added, step) + (int_mod(added, step) != 0))) * NANO_PER_UNIT


def _is_forbidden(amount: int, policy: JsonObject | None) -> bool:
    """Whether the device does not give such an amount away."""
    if policy is None or (policy.get("default") is not None and amount == nano_value(policy["default"])):
        return False
    within = policy.get("validRange")
    if within is None:
        known = [nano_value(text) for text in policy.get("validValues") or ()]
        return bool(known) and amount not in known
    if within.get("max") is not None and amount > nano_value(within["max"]):
        return True
    if within.get("step") is None:
        return False
    begin = _whole_units(nano_value(within.get("min")))
    return int_mod(_whole_units(amount) - begin, _whole_units(nano_value(within["step"]))) != 0


def _whole_units(nano: int) -> int:
    """Units, rounded up."""
    return -(-nano // NANO_PER_UNIT)  # exact: ints
