"""Devices, slices and pools, the nodes that can use the devices, and shared capacity.

Upstream: k8s dynamic-resource-allocation structured (NodeMatches, consumable_capacity, GatherPools), api resource/v1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from vcdebug.gomath import int_div, int_mod
from vcdebug.grouping import group_by_key
from vcdebug.kube.cel import Undecided
from vcdebug.kube.devices import AllocatorFeatures
from vcdebug.kube.node_affinity import NodeTerm, node_term
from vcdebug.kube.selector import Labels, SelectorError
from vcdebug.kube.taints import Taint, parse_taints
from vcdebug.model.names import NodeName
from vcdebug.snapshot.cycle_inputs import MapOrder
from vcdebug.snapshot.manifest import Json, JsonObject, name_of, spec_of
from vcdebug.snapshot.quantity import NANO_PER_UNIT, nano_value


class DeviceId(NamedTuple):
    """The name of a device, unique in the cluster."""

    driver: str
    pool: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


class PoolId(NamedTuple):
    """The name of a pool, unique in the cluster."""

    driver: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


class NodeScope(Struct, frozen=True):
    """The nodes that can use a device: one node, all, or those matching a selector."""

    node: NodeName
    is_everywhere: bool
    selector: JsonObject | None
    terms: tuple[NodeTerm, ...] = ()
    selector_error: str = ""
    """The reason why the selector is invalid; empty if it is valid."""

    @classmethod
    def from_spec(cls, raw: JsonObject) -> NodeScope:
        """Read the scope from a slice's spec or a device."""
        node, everywhere, selector = raw.get("nodeName") or "", bool(raw.get("allNodes")), raw.get("nodeSelector")
        if node or everywhere or selector is None:
            return cls(node, everywhere, selector)
        try:
            terms = tuple(node_term(term) for term in selector.get("nodeSelectorTerms") or ())
        except SelectorError as error:
            return cls(node, everywhere, selector, selector_error=str(error))
        return cls(node, everywhere, selector, terms)

    def includes_node(self, labels: Labels, node: NodeName) -> bool:
        """Whether the node can use the device; raises Undecided."""
        if self.node:
            return self.node == node
        if self.selector_error:
            raise Undecided(f"a node selector of devices cannot be read: {self.selector_error}")
        return self.is_everywhere or any(term.matches_node(labels, node) for term in self.terms)


class Device(Struct, frozen=True, eq=False):
    """A device listed in a slice."""

    id: DeviceId
    manifest: JsonObject
    slice: DeviceSlice
    scope: NodeScope
    """The device's own scope if the slice has perDeviceNodeSelection, else the slice's."""
    shareable: bool
    """Whether several claims can each hold a part of the device."""
    capacity: JsonObject
    taints: tuple[Taint, ...]


class DeviceSlice(Struct, frozen=True, eq=False):
    """The contents of a ResourceSlice."""

    name: str
    pool: PoolId
    generation: int
    count: int
    """Number of slices of the pool, according to the driver."""
    scope: NodeScope
    per_device: bool | None
    """spec.perDeviceNodeSelection: whether each device states its own scope."""
    counters: Mapping[str, Mapping[str, object]]
    """Counter set → counter → amount that the devices of the pool share."""
    repeated_counter_sets: tuple[str, ...]
    """Names of counter sets that the slice lists more than once."""
    devices: list[Device] = []


def read_slice(manifest: JsonObject) -> DeviceSlice:
    """Read one ResourceSlice."""
    spec = spec_of(manifest)
    pool, sets = spec.get("pool") or {}, spec.get("sharedCounters") or ()
    names = [counter_set.get("name") or "" for counter_set in sets]
    place = NodeScope.from_spec(spec)
    device_slice = DeviceSlice(
        name=name_of(manifest),
        pool=PoolId(spec.get("driver") or "", pool.get("name") or ""),
        generation=pool.get("generation") or 0,
        count=pool.get("resourceSliceCount") or 0,
        scope=place,
        per_device=spec.get("perDeviceNodeSelection"),
        counters={
            counter_set.get("name") or "": {
                name: (amount or {}).get("value") for name, amount in (counter_set.get("counters") or {}).items()
            }
            for counter_set in sets
        },
        repeated_counter_sets=tuple(name for name in dict.fromkeys(names) if names.count(name) > 1),
    )
    device_slice.devices.extend(_read_device(raw, device_slice) for raw in spec.get("devices") or ())
    return device_slice


def _read_device(raw: JsonObject, of: DeviceSlice) -> Device:
    name = DeviceId(of.pool.driver, of.pool.name, raw.get("name") or "")
    place = NodeScope.from_spec(raw) if of.per_device else of.scope
    shareable, capacity = bool(raw.get("allowMultipleAllocations")), raw.get("capacity") or {}
    return Device(name, raw, of, place, shareable, capacity, parse_taints(raw.get("taints")))


CapacityAmounts = Mapping[str, int]
"""Capacity → amount in units of 10^-9."""
NO_AMOUNTS: Final[CapacityAmounts] = {}


def parse_amounts(raw: Json) -> CapacityAmounts:
    """Read a mapping of quantities."""
    return {name: nano_value(text) for name, text in (raw or {}).items()}


def quantity_text(nano: int) -> str:
    """The amount in the form of a manifest."""
    return str(nano // NANO_PER_UNIT) if nano % NANO_PER_UNIT == 0 else f"{nano}n"  # exact: ints


def consumed_capacity(request: CapacityAmounts, capacity: JsonObject) -> dict[str, int]:
    """The amount of each capacity that a request consumes; all of it if neither request nor device sets an amount."""
    return {name: _round_up(request.get(name), raw or {}) for name, raw in capacity.items()}


def fits_capacity(
    request: CapacityAmounts, capacity: JsonObject, in_use: CapacityAmounts, trying: CapacityAmounts
) -> bool:
    """Whether the device has room for a request beside the capacity in use and that taken by this search."""
    if any(name not in capacity for name in request):
        return False
    for name, amount in consumed_capacity(request, capacity).items():
        raw = capacity[name] or {}
        if _is_forbidden(amount, raw.get("requestPolicy")):
            return False
        if amount + in_use.get(name, 0) + trying.get(name, 0) > nano_value(raw.get("value")):
            return False
    return True


def _round_up(request: int | None, raw: JsonObject) -> int:
    """The amount of a request under the device's request policy: rounded up, or the default without a request."""
    policy = raw.get("requestPolicy") or {}
    if request is None:
        default = policy.get("default")
        return nano_value(default if default is not None else raw.get("value"))
    valid_range, values = policy.get("validRange") or {}, policy.get("validValues")
    if valid_range.get("min") is not None:
        return _round_to_step(request, valid_range)
    allowed = [nano_value(text) for text in values or ()]
    return next((amount for amount in allowed if request <= amount), request)


def _round_to_step(request: int, valid_range: JsonObject) -> int:
    minimum = nano_value(valid_range["min"])
    if request < minimum:
        return minimum
    if valid_range.get("step") is None:
        return request
    begin, step = _whole_units(minimum), _whole_units(nano_value(valid_range["step"]))
    added = _whole_units(request) - begin
    return (begin + step * (int_div(added, step) + (int_mod(added, step) != 0))) * NANO_PER_UNIT


def _is_forbidden(amount: int, policy: JsonObject | None) -> bool:
    """Whether the device's request policy excludes the amount."""
    if policy is None or (policy.get("default") is not None and amount == nano_value(policy["default"])):
        return False
    valid_range = policy.get("validRange")
    if valid_range is None:
        allowed = [nano_value(text) for text in policy.get("validValues") or ()]
        return bool(allowed) and amount not in allowed
    if valid_range.get("max") is not None and amount > nano_value(valid_range["max"]):
        return True
    if valid_range.get("step") is None:
        return False
    begin = _whole_units(nano_value(valid_range.get("min")))
    return int_mod(_whole_units(amount) - begin, _whole_units(nano_value(valid_range["step"]))) != 0


def _whole_units(nano: int) -> int:
    """The amount in whole units, rounded up."""
    return -(-nano // NANO_PER_UNIT)  # exact: ints


class DevicePool(NamedTuple):
    """A pool as seen from one node."""

    id: PoolId
    devices: tuple[Device, ...] = ()
    """Devices of the slices for this node, in the order of the search."""
    other_slice_devices: tuple[Device, ...] = ()
    """Devices of the pool's other slices, which consume the same counters."""
    counters: Mapping[str, Mapping[str, object]] = {}
    incomplete: bool = False
    """Whether the driver is still publishing slices of the pool."""
    invalid: str = ""
    """The reason why the pool's devices cannot be taken; empty if they can."""

    @property
    def binds_late(self) -> bool:
        """Whether a device has binding conditions, which must be met before the pod is bound."""
        return any(device.manifest.get("bindingConditions") is not None for device in self.devices)


class DevicePools:
    """All slices, and the pools that each node sees."""

    def __init__(self, slices: Sequence[DeviceSlice], features: AllocatorFeatures, ordering: MapOrder) -> None:
        names = {item.name: place for place, item in enumerate(slices)}
        order = sorted(names) if features.by_name else ordering.order_keys(names)
        self._features = features
        self._ordering = ordering
        self._slices = [slices[names[name]] for name in order]
        self._of_pool = group_by_key((item.pool, item) for item in self._slices)
        self._shared_slices = [item for item in self._slices if item.counters or not item.scope.node]
        self._of_node = group_by_key(
            (item.scope.node, item) for item in self._slices if item.scope.node and not item.counters
        )
        self._pools_by_node: dict[NodeName, tuple[DevicePool, ...]] = {}

    def seen_by(self, node: NodeName, labels: Labels) -> tuple[DevicePool, ...]:
        """The node's pools in the order of the search; raises Undecided."""
        pools = self._pools_by_node.get(node)
        if pools is None:
            pools = self._pools_by_node[node] = tuple(self._gather_pools(node, labels))
        return pools

    def _gather_pools(self, node: NodeName, labels: Labels) -> list[DevicePool]:
        """The node's pools; those with binding conditions are last, because they delay the pod."""
        by_pool: dict[PoolId, list[DeviceSlice]] = {}
        for device_slice in (*self._of_node.get(node, ()), *self._shared_slices):
            if self._concerns_node(device_slice, node, labels):
                _add_slice(by_pool.setdefault(device_slice.pool, []), device_slice)
        pools = {str(pool): built for pool, slices in by_pool.items() for built in self._build_pool(pool, slices)}
        if not self._features.by_name:
            return [pools[name] for name in self._ordering.order_keys(pools)]
        return sorted(pools.values(), key=lambda pool: (pool.binds_late, pool.id))

    def _concerns_node(self, device_slice: DeviceSlice, node: NodeName, labels: Labels) -> bool:
        if self._features.counters and device_slice.counters:
            return True
        if not self._features.counters and (device_slice.per_device is not None or self._skips_slice(device_slice)):
            return False
        if device_slice.scope.node or device_slice.scope.is_everywhere or device_slice.scope.selector is not None:
            return device_slice.scope.includes_node(labels, node)
        if not device_slice.per_device:
            return False
        return any(device.scope.includes_node(labels, node) for device in device_slice.devices)

    def _skips_slice(self, device_slice: DeviceSlice) -> bool:
        """Whether the slice is skipped because it has counters and the allocator does not know them."""
        features = self._features
        if not device_slice.counters or features.stops_at_all:
            return False
        return features.forgets_admin_devices or not features.pools_by_node

    def _build_pool(self, pool: PoolId, slices: list[DeviceSlice]) -> Iterator[DevicePool]:
        """Yield the pool of these slices; nothing while a newer generation is replacing it."""
        first, every = slices[0], slices
        if self._features.pools_by_node:
            yield self._check_pool(pool, slices, [])._replace(incomplete=len(slices) != first.count)
            return
        if len(slices) != first.count:
            pool_slices = self._of_pool[pool]
            if any(item.generation > first.generation for item in pool_slices):
                return
            every = [item for item in pool_slices if item.generation == first.generation]
            if len(every) != first.count:
                yield DevicePool(pool, incomplete=True)
                return
        yield self._check_pool(pool, slices, [item for item in every if item not in slices])

    def _check_pool(self, pool: PoolId, slices: list[DeviceSlice], other_slices: list[DeviceSlice]) -> DevicePool:
        holding = [item for item in slices if not (self._features.counters and item.counters)]
        if self._features.by_name:
            holding = sorted(holding, key=lambda item: item.name)
        # Slices with counters define the counters of a pool and hold no devices.
        devices = tuple(device for item in holding for device in item.devices)
        names: dict[str, None] = {}
        for device in devices:
            if device.id.name in names:
                visible_devices = devices if self._features.stops_at_all else ()
                return DevicePool(pool, visible_devices, invalid=f"duplicate device name {device.id.name}")
            names[device.id.name] = None
        if not self._features.counters:
            return DevicePool(pool, devices)
        elsewhere = tuple(device for item in other_slices for device in item.devices)
        sets = [name for item in slices for name in item.counters]
        counters = {name: amounts for item in slices for name, amounts in item.counters.items()}
        twice = len(counters) < len(sets) or any(item.repeated_counter_sets for item in slices)
        if twice or not all(_knows_counters(device, counters) for device in (*devices, *elsewhere)):
            return DevicePool(pool, invalid="counters are not as its devices say")
        return DevicePool(pool, devices, elsewhere, counters)


def _add_slice(slices: list[DeviceSlice], device_slice: DeviceSlice) -> None:
    """Add a slice of the newest generation; older slices are outdated and dropped."""
    if slices and device_slice.generation < slices[0].generation:
        return
    if slices and device_slice.generation > slices[0].generation:
        slices.clear()
    slices.append(device_slice)


def _knows_counters(device: Device, counters: Mapping[str, Mapping[str, object]]) -> bool:
    """Whether every counter exists that the device consumes."""
    for part in device.manifest.get("consumesCounters") or ():
        counter_set = counters.get(part.get("counterSet") or "")
        if counter_set is None or not all(name in counter_set for name in part.get("counters") or {}):
            return False
    return True
