"""What the devices of one claim must have in common, or must not.

Upstream: k8s dynamic-resource-allocation structured (matchAttributeConstraint, distinctAttributeConstraint).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from vcdebug.kube.devices.device import Device
from vcdebug.kube.devices.errors import AllocationError
from vcdebug.kube.devices.features import AllocatorFeatures
from vcdebug.kube.devices.requests import WantedDevices
from vcdebug.snapshot.json_values import JsonObject

AttributeValue = tuple[str, object]
"""The kind of an attribute, and what it says."""
ATTRIBUTE_KINDS = ("string", "int", "bool", "version")


class DeviceConstraint(ABC):
    """About one attribute of the devices of some requests; of all where none are named."""

    def __init__(self, attribute: str, requests: Sequence[str]) -> None:
        self._attribute = attribute
        self._requests = requests

    def add_device(self, wanted: WantedDevices, device: Device) -> bool:
        """Whether the device may come to the others; it counts from now on."""
        if not self._is_about(wanted):
            return True
        value = _attribute_value(device, self._attribute)
        return value is not None and self._accepts_value(wanted, value)

    def remove_device(self, wanted: WantedDevices) -> None:
        """The device does not count any more."""
        if self._is_about(wanted):
            self._forget_device(wanted)

    def _is_about(self, wanted: WantedDevices) -> bool:
        names = (wanted.parent or wanted.name, wanted.result_name)
        return not self._requests or any(name in self._requests for name in names)

    @abstractmethod
    def _accepts_value(self, wanted: WantedDevices, value: AttributeValue) -> bool: ...

    @abstractmethod
    def _forget_device(self, wanted: WantedDevices) -> None: ...


class SameAttribute(DeviceConstraint):
    """All devices have the same value."""

    def __init__(self, attribute: str, requests: Sequence[str]) -> None:
        super().__init__(attribute, requests)
        self._value: AttributeValue = ("", None)
        self._devices = 0

    def _accepts_value(self, wanted: WantedDevices, value: AttributeValue) -> bool:
        if self._devices == 0:
            self._value = value
        if value != self._value or (self._devices and not value[0]):
            return False
        self._devices += 1
        return True

    def _forget_device(self, wanted: WantedDevices) -> None:
        self._devices -= 1


class DistinctAttribute(DeviceConstraint):
    """All devices have different values; upstream remembers the last one of each request alone.

    `by_address`: up to Kubernetes 1.34 values are compared by where they lie in memory, so that no two are the same.
    """

    def __init__(self, attribute: str, requests: Sequence[str], *, by_address: bool) -> None:
        super().__init__(attribute, requests)
        self._by_address = by_address
        self._values: dict[str, AttributeValue] = {}
        self._devices = 0

    def _accepts_value(self, wanted: WantedDevices, value: AttributeValue) -> bool:
        if self._devices and self._values and (not value[0] or self._has_value(value)):
            return False
        self._values[wanted.parent or wanted.name] = value
        self._devices += 1
        return True

    def _has_value(self, value: AttributeValue) -> bool:
        return not self._by_address and value in self._values.values()

    def _forget_device(self, wanted: WantedDevices) -> None:
        self._values.pop(wanted.parent or wanted.name, None)
        self._devices -= 1


def read_constraints(claim: str, raw: Sequence[JsonObject], features: AllocatorFeatures) -> list[DeviceConstraint]:
    """Read them; raises AllocationError."""
    found: list[DeviceConstraint] = []
    for place, one in enumerate(raw):
        requests = one.get("requests") or ()
        if one.get("matchAttribute") is not None:
            found.append(SameAttribute(one["matchAttribute"], requests))
        elif features.knows_capacity and one.get("distinctAttribute") is not None:
            found.append(DistinctAttribute(one["distinctAttribute"], requests, by_address=features.distinct_by_address))
        else:
            text = "empty constraint (unsupported constraint type?)"
            raise AllocationError(f"claim {claim}, constraint #{place}: {text}")
    return found


def _attribute_value(device: Device, attribute: str) -> AttributeValue | None:
    """An attribute by its full name; the driver's domain goes without saying in the device."""
    known = device.manifest.get("attributes") or {}
    raw = known.get(attribute)
    if raw is None:
        domain, mark, name = attribute.partition("/")
        raw = known.get(name) if mark and domain == device.id.driver else None
    if raw is None:
        return None
    return next(((kind, raw[kind]) for kind in ATTRIBUTE_KINDS if raw.get(kind) is not None), ("", None))
