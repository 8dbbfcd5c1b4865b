"""What a search has taken so far, and what is left beside it.

Upstream: k8s dynamic-resource-allocation structured (allocateDevice, checkAvailableCounters).
"""

from __future__ import annotations

from vcdebug.kube.devices.capacity import NO_AMOUNTS, CapacityAmounts, consumed_capacity, fits_capacity
from vcdebug.kube.devices.device import Device, DeviceId
from vcdebug.kube.devices.features import AllocatorFeatures
from vcdebug.kube.devices.pools import DevicePool
from vcdebug.kube.devices.requests import WantedDevices
from vcdebug.kube.devices.taken import DevicesInUse
from vcdebug.model.panics import NIL_POINTER_TEXT, ProcessExit
from vcdebug.snapshot.quantity import nano_value

Counters = dict[tuple[str, str], int]
"""Counter set and counter → 10^-9 units."""


class SearchLedger:
    """The devices of one search."""

    def __init__(self, in_use: DevicesInUse, features: AllocatorFeatures) -> None:
        self._in_use = in_use
        self._features = features
        self._trying: dict[DeviceId, list[int]] = {}
        """Device → the claims that are to have it."""
        self._parts: dict[DeviceId, dict[str, int]] = {}
        """What is to be taken of devices that are shared."""
        self._counted: dict[str, Counters] = {}
        """Pool → what its devices consume that are to be taken; some of it is never given back."""

    def is_free(self, wanted: WantedDevices, device: Device, claim: int) -> bool:
        """Whether nobody else has the device; an administrator may have it once."""
        if wanted.admin:
            return self.is_unnoted(wanted) or claim not in self._trying.get(device.id, ())
        return device.id not in self._in_use.devices and not self._trying.get(device.id)

    def has_room(self, wanted: WantedDevices, device: Device) -> bool:
        """Whether the capacity that is asked for is left."""
        if not self._features.capacity or not (wanted.capacity or device.capacity):
            return True
        taken, trying = self._in_use.capacity.get(device.id, NO_AMOUNTS), self._parts.get(device.id, NO_AMOUNTS)
        return fits_capacity(wanted.capacity, device.capacity, taken, trying)

    def charge_counters(self, device: Device, pool: DevicePool | None) -> bool:
        """Charge the counters that the device consumes; False where they do not suffice.

        Where all devices are asked for upstream does not know the pool that it counts in, and panics.
        """
        parts = device.manifest.get("consumesCounters") or ()
        if not parts:
            return True
        if not self._features.counters:
            return self._features.forgetful
        if self.is_shared(device) and (device.id in self._in_use.capacity or device.id in self._parts):
            return True
        if pool is None:
            raise ProcessExit(NIL_POINTER_TEXT)
        left, counted = self._left_counters(pool), self._counted.setdefault(pool.id.name, {})
        self._charge_device(device, counted, 1)
        if all(amount >= counted.get(name, 0) for name, amount in left.items()):
            return True
        self._charge_device(device, counted, -1)
        return False

    def _left_counters(self, pool: DevicePool) -> Counters:
        left = {(name, own): nano_value(text) for name, found in pool.counters.items() for own, text in found.items()}
        for device in (*pool.devices, *pool.elsewhere):
            if device.id in self._in_use.devices:
                self._charge_device(device, left, -1)
        return left

    @staticmethod
    def _charge_device(device: Device, counters: Counters, sign: int) -> None:
        for part in device.manifest.get("consumesCounters") or ():
            for name, amount in (part.get("counters") or {}).items():
                key = (part.get("counterSet") or "", name)
                counters[key] = counters.get(key, 0) + sign * nano_value((amount or {}).get("value"))

    def is_shared(self, device: Device) -> bool:
        """Whether several claims may have a part of it."""
        return self._features.capacity and device.shareable

    def take_device(self, wanted: WantedDevices, device: Device, claim: int) -> CapacityAmounts:
        """Have it, or the part that is given."""
        if not self.is_shared(device):
            if not self.is_unnoted(wanted):
                self._trying.setdefault(device.id, []).append(claim)
            return NO_AMOUNTS
        part = consumed_capacity(wanted.capacity, device.capacity)
        known = self._parts.setdefault(device.id, {})
        for name, amount in part.items():
            known[name] = known.get(name, 0) + amount
        return part

    def is_unnoted(self, wanted: WantedDevices) -> bool:
        """Whether the devices of a request stay as free as they were, so that it can have one twice."""
        return wanted.admin and self._features.forgetful

    def give_back(
        self, wanted: WantedDevices, device: Device, pool: DevicePool | None, claim: int, part: CapacityAmounts
    ) -> None:
        """Counters that a shared device consumes stay charged."""
        if self.is_unnoted(wanted):
            return
        if self.is_shared(device):
            known = self._parts.get(device.id, {})
            for name, amount in part.items():
                known[name] -= amount
            if not any(known.values()):
                self._parts.pop(device.id, None)
            return
        self._trying[device.id].remove(claim)
        if pool is not None and self._features.counters:
            self._charge_device(device, self._counted.setdefault(pool.id.name, {}), -1)
