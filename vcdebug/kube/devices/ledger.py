"""What a search has taken so far, and what is left beside it.

Upstream: k8s dynamic-resource-allocation structured (allocateDevice, checkAvailableCounters).
"""

from __future__ import annotations

from vcdebug.kube.devices.capacity import NOTHING, Amounts, consumed, fits
from vcdebug.kube.devices.device import Device, DeviceId
from vcdebug.kube.devices.features import Features
from vcdebug.kube.devices.pools import Pool
from vcdebug.kube.devices.requests import Wanted
from vcdebug.kube.devices.taken import InUse
from vcdebug.model.panics import NIL_POINTER, EndsAtOnce
from vcdebug.snapshot.quantity import nano_value

Counters = dict[tuple[str, str], int]
"""Counter set and counter → 10^-9 units."""


class Ledger:
    """The devices of one search."""

    def __init__(self, in_use: InUse, features: Features) -> None:
        self._in_use = in_use
        self._features = features
        self._trying: dict[DeviceId, list[int]] = {}
        """Device → the claims that are to have it."""
        self._parts: dict[DeviceId, dict[str, int]] = {}
        """What is to be taken of devices that are shared."""
        self._counted: dict[str, Counters] = {}
        """Pool → what its devices consume that are to be taken; some of it is never given back."""

    def free(self, wanted: Wanted, device: Device, claim: int) -> bool:
        """Whether nobody else has the device; an administrator may have it once."""
        if wanted.admin:
            return self.unnoted(wanted) or claim not in self._trying.get(device.id, ())
        return device.id not in self._in_use.devices and not self._trying.get(device.id)

    def has_room(self, wanted: Wanted, device: Device) -> bool:
        """Whether the capacity that is asked for is left."""
        if not self._features.capacity or not (wanted.capacity or device.capacity):
            return True
        taken, trying = self._in_use.capacity.get(device.id, NOTHING), self._parts.get(device.id, NOTHING)
        return fits(wanted.capacity, device.capacity, taken, trying)

    def counts(self, device: Device, pool: Pool | None) -> bool:
        """Charge the counters that the device consumes; False where they do not suffice.

        Where all devices are asked for upstream does not know the pool that it counts in, and panics.
        """
        parts = device.manifest.get("consumesCounters") or ()
        if not parts:
            return True
        if not self._features.counters:
            return self._features.forgetful
        if self.shared(device) and (device.id in self._in_use.capacity or device.id in self._parts):
            return True
        if pool is None:
            raise EndsAtOnce(NIL_POINTER)
        left, counted = self._left(pool), self._counted.setdefault(pool.id.name, {})
        self._charge(device, counted, 1)
        if all(amount >= counted.get(name, 0) for name, amount in left.items()):
            return True
        self._charge(device, counted, -1)
        return False

    def _left(self, pool: Pool) -> Counters:
        left = {(name, own): nano_value(text) for name, found in pool.counters.items() for own, text in found.items()}
        for device in (*pool.devices, *pool.elsewhere):
            if device.id in self._in_use.devices:
                self._charge(device, left, -1)
        return left

    @staticmethod
    def _charge(device: Device, counters: Counters, sign: int) -> None:
        for part in device.manifest.get("consumesCounters") or ():
            for name, amount in (part.get("counters") or {}).items():
                key = (part.get("counterSet") or "", name)
                counters[key] = counters.get(key, 0) + sign * nano_value((amount or {}).get("value"))

    def shared(self, device: Device) -> bool:
        """Whether several claims may have a part of it."""
        return self._features.capacity and device.shareable

    def take(self, wanted: Wanted, device: Device, claim: int) -> Amounts:
        """Have it, or the part that is given."""
        if not self.shared(device):
            if not self.unnoted(wanted):
                self._trying.setdefault(device.id, []).append(claim)
            return NOTHING
        part = consumed(wanted.capacity, device.capacity)
        known = self._parts.setdefault(device.id, {})
        for name, amount in part.items():
            known[name] = known.get(name, 0) + amount
        return part

    def unnoted(self, wanted: Wanted) -> bool:
        """Whether the devices of a request stay as free as they were, so that it can have one twice."""
        return wanted.admin and self._features.forgetful

    def give_back(self, wanted: Wanted, device: Device, pool: Pool | None, claim: int, part: Amounts) -> None:
        """Counters that a shared device consumes stay charged."""
        if self.unnoted(wanted):
            return
        if self.shared(device):
            known = self._parts.get(device.id, {})
            for name, amount in part.items():
                known[name] -= amount
            if not any(known.values()):
                self._parts.pop(device.id, None)
            return
        self._trying[device.id].remove(claim)
        if pool is not None and self._features.counters:
            self._charge(device, self._counted.setdefault(pool.id.name, {}), -1)
