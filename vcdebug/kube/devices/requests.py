"""What claims ask for.

Upstream: k8s dynamic-resource-allocation structured (validateDeviceRequest, requestAccessor).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from vcdebug.kube.devices.capacity import CapacityAmounts, parse_amounts
from vcdebug.kube.devices.device import Device
from vcdebug.kube.devices.errors import AllocationError
from vcdebug.kube.devices.features import AllocatorFeatures
from vcdebug.kube.devices.selection import DeviceSelection, read_expressions
from vcdebug.kube.taints import Tolerations, parse_tolerations
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.manifest import spec_of

EXACT_COUNT, ALL_DEVICES = "ExactCount", "All"
MAX_DEVICES: Final = 32
"""Devices that one claim may have."""


@dataclass(slots=True)
class WantedDevices:
    """One request, or one alternative of it."""

    claim: str
    name: str
    parent: str
    """The request that it is an alternative of."""
    selection: DeviceSelection
    count: int
    every: bool
    """Whether all devices are asked for that the selectors leave."""
    admin: bool
    tolerations: Tolerations
    capacity: CapacityAmounts
    devices: list[Device] = field(default_factory=list)
    """Where all are asked for: those of this node."""

    @property
    def result_name(self) -> str:
        """As results name it."""
        return f"{self.parent}/{self.name}" if self.parent else self.name


@dataclass(slots=True)
class DeviceRequest:
    """The alternatives, the best first; without a choice there is one."""

    alternatives: list[WantedDevices]
    chooses: bool

    @property
    def fewest_devices(self) -> int:
        """Devices that it takes at least."""
        return min(one.count for one in self.alternatives)


@dataclass(slots=True)
class DeviceClaim:
    """A claim that is to be allocated."""

    key: str
    requests: list[DeviceRequest]


class ClaimReader:
    """Reads claims; what it finds out about selectors is kept for later ones."""

    def __init__(self, classes: Mapping[str, JsonObject], features: AllocatorFeatures) -> None:
        self._classes = classes
        self._features = features
        self._selections: dict[tuple[str, tuple[str, ...]], DeviceSelection] = {}

    def read_requests(
        self, key: str, raw: Sequence[JsonObject], counted: Callable[[WantedDevices], None]
    ) -> Iterator[DeviceRequest]:
        """The requests of a claim; raises AllocationError."""
        for one in raw:
            yield self._read_request(key, one, counted)

    def _read_request(self, claim: str, raw: JsonObject, counted: Callable[[WantedDevices], None]) -> DeviceRequest:
        name, choices = raw.get("name") or "", raw.get("firstAvailable") or ()
        if choices and not self._features.alternatives:
            text = "has subrequests, but the DRAPrioritizedList feature is disabled"
            raise AllocationError(f"claim {claim}, request {name}: {text}")
        self._check_capacity(claim, name, raw)
        parts = [(one, one.get("name") or "", name) for one in choices] or [(raw.get("exactly") or {}, name, "")]
        found = []
        for part, own, parent in parts:
            found.append(self._read_wanted(claim, part, own, parent))
            counted(found[-1])
        return DeviceRequest(found, bool(choices))

    def _check_capacity(self, claim: str, name: str, raw: JsonObject) -> None:
        """Only an allocator that knows capacity refuses what asks for it."""
        if self._features.capacity or not self._features.knows_capacity:
            return
        text = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        if (raw.get("exactly") or {}).get("capacity") is not None:
            raise AllocationError(f"claim {claim}, request {name}: {text}")
        for one in raw.get("firstAvailable") or ():
            if one.get("capacity") is not None:
                raise AllocationError(f"claim {claim}, subrequest {one.get('name') or ''}: {text}")

    def _read_wanted(self, claim: str, raw: JsonObject, name: str, parent: str) -> WantedDevices:
        of = f"claim {claim}, request {name}"
        own = tuple(read_expressions(raw.get("selectors")))
        if None in own:
            raise AllocationError(
                f"{of}, selector #{own.index(None)}: CEL expression empty (unsupported selector type?)"
            )
        if not self._features.admin and raw.get("adminAccess") is not None:
            raise AllocationError(f"{of}: admin access is requested, but the feature is disabled")
        mode = raw.get("allocationMode") or EXACT_COUNT
        if mode not in (EXACT_COUNT, ALL_DEVICES):
            raise AllocationError(f"{of}: unsupported count mode {mode}")
        return WantedDevices(
            claim,
            name,
            parent,
            self._find_selection(raw.get("deviceClassName") or "", tuple(one for one in own if one is not None)),
            0 if mode == ALL_DEVICES else raw.get("count") or 1,
            mode == ALL_DEVICES,
            bool(raw.get("adminAccess")),
            parse_tolerations(raw.get("tolerations")),
            parse_amounts((raw.get("capacity") or {}).get("requests")),
        )

    def _find_selection(self, class_name: str, own: tuple[str, ...]) -> DeviceSelection:
        found = self._selections.get((class_name, own))
        if found is None:
            spec = spec_of(self._classes[class_name])
            of_class = tuple(one or "" for one in read_expressions(spec.get("selectors")))
            found = DeviceSelection(class_name, of_class, own, capacity=self._features.capacity)
            self._selections[class_name, own] = found
        return found
