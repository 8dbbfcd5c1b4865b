"""Which devices the selectors of a class and of a request leave.

Upstream: k8s dynamic-resource-allocation structured (selectorsMatch), cel (DeviceMatches).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vcdebug.kube.cel.evaluation import evaluate_truth
from vcdebug.kube.cel.values import CelError, DeclaredFields, DefaultMap, Quantity, Semver
from vcdebug.kube.devices.device import Device
from vcdebug.kube.devices.errors import AllocationError
from vcdebug.kube.undecided import Undecided
from vcdebug.snapshot.json_values import JsonObject

Selectors = tuple[str, ...]
"""Expressions that all have to hold."""


class _SelectorFailure(NamedTuple):
    by_class: bool
    position: int
    text: str


class DeviceSelection:
    """One pair of selectors: of a class and of a request."""

    def __init__(self, class_name: str, of_class: Selectors, of_request: Selectors, *, capacity: bool) -> None:
        self._class_name = class_name
        self._of_class = of_class
        self._of_request = of_request
        self._capacity = capacity
        self._known: dict[Device, bool | _SelectorFailure | str] = {}

    def takes_device(self, device: Device, claim: str) -> bool:
        """Whether the device is one of them; raises AllocationError and Undecided."""
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
    """Domain and name; the driver's domain goes without saying."""
    domain, mark, own = name.partition("/")
    return (domain, own) if mark else (device.id.driver, name)


def read_expressions(selectors: object) -> Iterator[str | None]:
    """The expressions of selectors; None for one of another kind."""
    for one in selectors if isinstance(selectors, list) else ():
        cel = one.get("cel")
        yield None if cel is None else cel.get("expression") or ""
