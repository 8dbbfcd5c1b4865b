"""Device requests of claims, and the CEL selectors that devices must match.

Upstream: k8s dynamic-resource-allocation structured (validateDeviceRequest, requestAccessor, selectorsMatch), cel
(DeviceMatches).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from vcdebug.kube.cel import CelError, DeclaredFields, DefaultMap, Quantity, Semver, Undecided
from vcdebug.kube.cel.interpreter import evaluate_boolean
from vcdebug.kube.devices import AllocationError, AllocatorFeatures
from vcdebug.kube.devices.device import CapacityAmounts, Device, parse_amounts
from vcdebug.kube.taints import Tolerations, parse_tolerations
from vcdebug.snapshot.manifest import JsonObject, spec_of

EXACT_COUNT, ALL_DEVICES = "ExactCount", "All"
MAX_DEVICES: Final = 32
"""Maximum number of devices of one claim."""


class RequestData(Struct):
    """A request, or one alternative of a request."""

    claim: str
    name: str
    parent: str
    """The name of the request that has this alternative; empty for a plain request."""
    selection: DeviceSelection
    count: int
    requests_all: bool
    """Whether all devices that match the selectors are requested."""
    admin: bool
    tolerations: Tolerations
    capacity: CapacityAmounts
    devices: list[Device] = []
    """Matching devices of this node, if all are requested."""

    @property
    def result_name(self) -> str:
        """The name in allocation results: `request` or `request/alternative`."""
        return f"{self.parent}/{self.name}" if self.parent else self.name


class DeviceRequest(Struct):
    """The alternatives of a request, best first; exactly one if `chooses` is false."""

    alternatives: list[RequestData]
    chooses: bool

    @property
    def fewest_devices(self) -> int:
        """The smallest number of devices that any alternative needs."""
        return min(alternative.count for alternative in self.alternatives)


class DeviceClaim(Struct):
    """A claim to be allocated."""

    key: str
    requests: list[DeviceRequest]


class ClaimReader:
    """Reads the requests of claims; evaluated selectors are cached."""

    def __init__(self, classes: Mapping[str, JsonObject], features: AllocatorFeatures) -> None:
        self._classes = classes
        self._features = features
        self._selections: dict[tuple[str, tuple[str, ...]], DeviceSelection] = {}

    def read_requests(
        self, key: str, raw: Sequence[JsonObject], counted: Callable[[RequestData], None]
    ) -> Iterator[DeviceRequest]:
        """The requests of a claim; raises AllocationError."""
        for request in raw:
            yield self._read_request(key, request, counted)

    def _read_request(self, claim: str, raw: JsonObject, counted: Callable[[RequestData], None]) -> DeviceRequest:
        name, choices = raw.get("name") or "", raw.get("firstAvailable") or ()
        if choices and not self._features.alternatives:
            text = "has subrequests, but the DRAPrioritizedList feature is disabled"
            raise AllocationError(f"claim {claim}, request {name}: {text}")
        self._check_capacity(claim, name, raw)
        parts = [(one, one.get("name") or "", name) for one in choices] or [(raw.get("exactly") or {}, name, "")]
        alternatives = []
        for part, part_name, parent in parts:
            alternatives.append(self._read_wanted(claim, part, part_name, parent))
            counted(alternatives[-1])
        return DeviceRequest(alternatives, bool(choices))

    def _check_capacity(self, claim: str, name: str, raw: JsonObject) -> None:
        """Raise AllocationError for capacity requests if the gate is off; old allocators ignore such requests."""
        if self._features.capacity or not self._features.knows_capacity:
            return
        text = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        if (raw.get("exactly") or {}).get("capacity") is not None:
            raise AllocationError(f"claim {claim}, request {name}: {text}")
        for subrequest in raw.get("firstAvailable") or ():
            if subrequest.get("capacity") is not None:
                raise AllocationError(f"claim {claim}, subrequest {subrequest.get('name') or ''}: {text}")

    def _read_wanted(self, claim: str, raw: JsonObject, name: str, parent: str) -> RequestData:
        of = f"claim {claim}, request {name}"
        texts = tuple(read_expressions(raw.get("selectors")))
        if None in texts:
            raise AllocationError(
                f"{of}, selector #{texts.index(None)}: CEL expression empty (unsupported selector type?)"
            )
        if not self._features.admin and raw.get("adminAccess") is not None:
            raise AllocationError(f"{of}: admin access is requested, but the feature is disabled")
        mode = raw.get("allocationMode") or EXACT_COUNT
        if mode not in (EXACT_COUNT, ALL_DEVICES):
            raise AllocationError(f"{of}: unsupported count mode {mode}")
        return RequestData(
            claim,
            name,
            parent,
            self._find_selection(raw.get("deviceClassName") or "", tuple(text for text in texts if text is not None)),
            0 if mode == ALL_DEVICES else raw.get("count") or 1,
            mode == ALL_DEVICES,
            bool(raw.get("adminAccess")),
            parse_tolerations(raw.get("tolerations")),
            parse_amounts((raw.get("capacity") or {}).get("requests")),
        )

    def _find_selection(self, class_name: str, expressions: tuple[str, ...]) -> DeviceSelection:
        selection = self._selections.get((class_name, expressions))
        if selection is None:
            spec = spec_of(self._classes[class_name])
            of_class = tuple(text or "" for text in read_expressions(spec.get("selectors")))
            selection = DeviceSelection(class_name, of_class, expressions, capacity=self._features.capacity)
            self._selections[class_name, expressions] = selection
        return selection


Selectors = tuple[str, ...]
"""CEL expressions that must all hold."""


class _SelectorFailure(NamedTuple):
    by_class: bool
    position: int
    text: str


class DeviceSelection:
    """The selectors of a class and a request, with the cached answer for each device."""

    def __init__(self, class_name: str, of_class: Selectors, of_request: Selectors, *, capacity: bool) -> None:
        self._class_name = class_name
        self._of_class = of_class
        self._of_request = of_request
        self._capacity = capacity
        self._verdicts: dict[Device, bool | _SelectorFailure | str] = {}

    def takes_device(self, device: Device, claim: str) -> bool:
        """Whether the device matches all selectors; raises AllocationError and Undecided."""
        verdict = self._verdicts.get(device)
        if verdict is None:
            verdict = self._verdicts[device] = self._evaluate_selectors(device)
        if isinstance(verdict, bool):
            return verdict
        if isinstance(verdict, str):
            raise Undecided(verdict)
        of = f"class {self._class_name}" if verdict.by_class else f"claim {claim}"
        raise AllocationError(f"{of}: selector #{verdict.position}: CEL runtime error: {verdict.text}")

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
        attributes = sorted((device.manifest.get("attributes") or {}).items())
        capacities = device.capacity.items()
        device_fields = DeclaredFields(
            driver=device.id.driver,
            attributes=_by_domain(device, ((name, _attribute_value(name, raw)) for name, raw in attributes)),
            capacity=_by_domain(
                device, ((name, Quantity.from_text((raw or {}).get("value"))) for name, raw in capacities)
            ),
        )
        if self._capacity:
            device_fields["allowMultipleAllocations"] = device.shareable
        return evaluate_boolean(expression, {"device": device_fields})


def _by_domain(device: Device, values: Iterable[tuple[str, object]]) -> DefaultMap:
    """Domain → name → value; the driver is the default domain of a name."""
    by_domain: dict[str, dict[str, object]] = {}
    for name, value in values:
        domain, mark, short_name = name.partition("/")
        by_domain.setdefault(domain if mark else device.id.driver, {})[short_name if mark else name] = value
    return DefaultMap(by_domain)


def _attribute_value(name: str, raw: JsonObject) -> object:
    for kind in ("int", "bool", "string"):
        if raw.get(kind) is not None:
            return raw[kind]
    if raw.get("version") is None:
        raise CelError(f"attribute {name}: unsupported attribute value")
    return Semver.from_text(raw["version"])


def read_expressions(selectors: object) -> Iterator[str | None]:
    """The CEL expressions of selectors; None for a selector of another kind."""
    for selector in selectors if isinstance(selectors, list) else ():
        cel = selector.get("cel")
        yield None if cel is None else cel.get("expression") or ""
