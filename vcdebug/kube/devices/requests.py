"""Requests of claims, and the CEL selectors that devices must match.

Upstream: k8s dynamic-resource-allocation structured (validateDeviceRequest, requestAccessor, selectorsMatch), cel
(DeviceMatches).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from vcdebug.kube.cel import CelError, DeclaredFields, DefaultMap, Quantity, Semver, Undecided
from vcdebug.kube.cel.interpreter import evaluate_truth
from vcdebug.kube.devices import AllocationError, AllocatorFeatures
from vcdebug.kube.devices.device import CapacityAmounts, Device, parse_amounts
from vcdebug.kube.taints import Tolerations, parse_tolerations
from vcdebug.snapshot.manifest import JsonObject, spec_of

EXACT_COUNT, ALL_DEVICES = "ExactCount", "All"
MAX_DEVICES: Final = 32
"""Devices that one claim may have."""


@dataclass(slots=True)
class WantedDevices:
    """One request, or one alternative of it."""

    claim: str
    name: str
    parent: str
    """The name of the request for alternatives, else empty."""
    selection: DeviceSelection
    count: int
    every: bool
    """Whether all devices that match the selectors are requested."""
    admin: bool
    tolerations: Tolerations
    capacity: CapacityAmounts
    devices: list[Device] = field(default_factory=list)
    """Matching devices of this node, if all are requested."""

    @property
    def result_name(self) -> str:
        """The name in allocation results: `request` or `request/alternative`."""
        return f"{self.parent}/{self.name}" if self.parent else self.name


@dataclass(slots=True)
class DeviceRequest:
    """The alternatives of a request, best first; exactly one if `chooses` is false."""

    alternatives: list[WantedDevices]
    chooses: bool

    @property
    def fewest_devices(self) -> int:
        """The least number of devices of any alternative."""
        return min(one.count for one in self.alternatives)


@dataclass(slots=True)
class DeviceClaim:
    """A claim that is to be allocated."""

    key: str
    requests: list[DeviceRequest]


class ClaimReader:
    """Reads claims; evaluated selectors are cached across claims."""

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
        """Refuse capacity requests where the allocator reads them and the gate is off; older ones ignore them."""
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


Selectors = tuple[str, ...]
"""CEL expressions that must all hold."""


class _SelectorFailure(NamedTuple):
    by_class: bool
    position: int
    text: str


class DeviceSelection:
    """The selectors of a class and of a request, with the answer for each device."""

    def __init__(self, class_name: str, of_class: Selectors, of_request: Selectors, *, capacity: bool) -> None:
        self._class_name = class_name
        self._of_class = of_class
        self._of_request = of_request
        self._capacity = capacity
        self._known: dict[Device, bool | _SelectorFailure | str] = {}

    def takes_device(self, device: Device, claim: str) -> bool:
        """Whether the device matches all selectors; raises AllocationError and Undecided."""
        found = self._known.get(device)
        if found is None:
            found = self._known[device] = self._evaluate_selectors(device)
        if isinstance(found, bool):
            return found
        if isinstance(found, str):
            raise Undecided(found)
        of = f"class {self._class_name}" if found.by_class else f"claim {claim}"
        raise AllocationError(f"{of}: selector #{found.position}: CEL runtime error: {found.text}")

    def _evaluate_selectors(self, device: Device) -> bool | _SelectorFailure | str:
        for by_class, selectors in ((True, self._of_class), (False, self._of_request)):
            for position, expression in enumerate(selectors):
                try:
                    if not self._expression_holds(expression, device):
                        return False
                except CelError as error:
                    return _SelectorFailure(by_class, position, str(error))
                except Undecided as error:
                    return str(error)
        return True

    def _expression_holds(self, expression: str, device: Device) -> bool:
        if not expression:
            raise Undecided("the snapshot lacks the expression of a selector")
        about = DeclaredFields(
            driver=device.id.driver,
            attributes=DefaultMap(_attributes_by_domain(device)),
            capacity=DefaultMap(_capacities_by_domain(device)),
        )
        if self._capacity:
            about["allowMultipleAllocations"] = device.shareable
        return evaluate_truth(expression, {"device": about})


def _attributes_by_domain(device: Device) -> dict[str, object]:
    found: dict[str, dict[str, object]] = {}
    for name, raw in sorted((device.manifest.get("attributes") or {}).items()):
        domain, own = _split_name(name, device)
        found.setdefault(domain, {})[own] = _attribute_value(name, raw)
    return dict(found)


def _attribute_value(name: str, raw: JsonObject) -> object:
    for kind in ("int", "bool", "string"):
        if raw.get(kind) is not None:
            return raw[kind]
    if raw.get("version") is None:
        raise CelError(f"attribute {name}: unsupported attribute value")
    return Semver.from_text(raw["version"])


def _capacities_by_domain(device: Device) -> dict[str, object]:
    found: dict[str, dict[str, object]] = {}
    for name, raw in (device.manifest.get("capacity") or {}).items():
        domain, own = _split_name(name, device)
        found.setdefault(domain, {})[own] = Quantity.from_text((raw or {}).get("value"))
    return dict(found)


def _split_name(name: str, device: Device) -> tuple[str, str]:
    """(domain, name); a name without a domain is in the driver's."""
    domain, mark, own = name.partition("/")
    return (domain, own) if mark else (device.id.driver, name)


def read_expressions(selectors: object) -> Iterator[str | None]:
    """The CEL expressions of selectors; None for a selector of another kind."""
    for one in selectors if isinstance(selectors, list) else ():
        cel = one.get("cel")
        yield None if cel is None else cel.get("expression") or ""
