"""What the devices of one claim must have in common, or must not.

Upstream: k8s dynamic-resource-allocation structured (matchAttributeConstraint, distinctAttributeConstraint).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from vcdebug.kube.devices.device import Device
from vcdebug.kube.devices.errors import AllocationError
from vcdebug.kube.devices.features import Features
from vcdebug.kube.devices.requests import Wanted
from vcdebug.snapshot.json_values import JsonObject

Value = tuple[str, object]
"""The kind of an attribute, and what it says."""
KINDS = ("string", "int", "bool", "version")


class Constraint(ABC):
    """About one attribute of the devices of some requests; of all where none are named."""

    def __init__(self, attribute: str, requests: Sequence[str]) -> None:
        self._attribute = attribute
        self._requests = requests

    def add(self, wanted: Wanted, device: Device) -> bool:
        """Whether the device may come to the others; it counts from now on."""
        if not self._is_about(wanted):
            return True
        value = _value(device, self._attribute)
        return value is not None and self._takes(wanted, value)

    def remove(self, wanted: Wanted) -> None:
        """The device does not count any more."""
        if self._is_about(wanted):
            self._forget(wanted)

    def _is_about(self, wanted: Wanted) -> bool:
        names = (wanted.parent or wanted.name, wanted.label)
        return not self._requests or any(name in self._requests for name in names)

    @abstractmethod
    def _takes(self, wanted: Wanted, value: Value) -> bool: ...

    @abstractmethod
    def _forget(self, wanted: Wanted) -> None: ...


class Same(Constraint):
    """All devices have the same value."""

    def __init__(self, attribute: str, requests: Sequence[str]) -> None:
        super().__init__(attribute, requests)
        self._value: Value = ("", None)
        self._devices = 0

    def _takes(self, wanted: Wanted, value: Value) -> bool:
        if self._devices == 0:
            self._value = value
        if value != self._value or (self._devices and not value[0]):
            return False
        self._devices += 1
        return True

    def _forget(self, wanted: Wanted) -> None:
        self._devices -= 1


class Distinct(Constraint):
    """All devices have different values; upstream remembers the last one of each request alone.

    `by_address`: up to Kubernetes 1.34 values are compared by where they lie in memory, so that no two are the same.
    """

    def __init__(self, attribute: str, requests: Sequence[str], *, by_address: bool) -> None:
        super().__init__(attribute, requests)
        self._by_address = by_address
        self._values: dict[str, Value] = {}
        self._devices = 0

    def _takes(self, wanted: Wanted, value: Value) -> bool:
        if self._devices and self._values and (not value[0] or self._has(value)):
            return False
        self._values[wanted.parent or wanted.name] = value
        self._devices += 1
        return True

    def _has(self, value: Value) -> bool:
        return not self._by_address and value in self._values.values()

    def _forget(self, wanted: Wanted) -> None:
        self._values.pop(wanted.parent or wanted.name, None)
        self._devices -= 1


def constraints(claim: str, raw: Sequence[JsonObject], features: Features) -> list[Constraint]:
    """Read them; raises AllocationError."""
    found: list[Constraint] = []
    for place, one in enumerate(raw):
        requests = one.get("requests") or ()
        if one.get("matchAttribute") is not None:
            found.append(Same(one["matchAttribute"], requests))
        elif features.knows_capacity and one.get("distinctAttribute") is not None:
            found.append(Distinct(one["distinctAttribute"], requests, by_address=features.distinct_by_address))
        else:
            text = "empty constraint (unsupported constraint type?)"
            raise AllocationError(f"claim {claim}, constraint #{place}: {text}")
    return found


def _value(device: Device, attribute: str) -> Value | None:
    """An attribute by its full name; the driver's domain goes without saying in the device."""
    known = device.manifest.get("attributes") or {}
    raw = known.get(attribute)
    if raw is None:
        domain, mark, name = attribute.partition("/")
        raw = known.get(name) if mark and domain == device.id.driver else None
    if raw is None:
        return None
    return next(((kind, raw[kind]) for kind in KINDS if raw.get(kind) is not None), ("", None))
