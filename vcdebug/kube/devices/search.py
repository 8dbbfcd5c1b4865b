"""The search for devices on one node: claims, requests and devices in turn, and back where it leads nowhere.

Upstream: k8s dynamic-resource-allocation structured (allocateOne, allocateDevice).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from vcdebug.kube.devices.constraints import Constraint
from vcdebug.kube.devices.device import Device, DeviceId
from vcdebug.kube.devices.errors import AllocationError
from vcdebug.kube.devices.features import Features
from vcdebug.kube.devices.ledger import Ledger
from vcdebug.kube.devices.pools import Pool
from vcdebug.kube.devices.requests import MOST_DEVICES, Claim, Request, Wanted
from vcdebug.kube.devices.taken import Taken
from vcdebug.kube.selector import Labels
from vcdebug.kube.taints import untolerated
from vcdebug.kube.undecided import Undecided
from vcdebug.model.names import NodeName

MOST_STEPS: Final = 20_000
"""A longer search is given up: upstream's is ended by its clock."""
DEEPEST: Final = 200
"""More devices than this for one pod are not searched for."""


class _TooManyError(Exception):
    """A claim would have more devices than it may."""


class _StoppedError(Exception):
    """Nothing else is tried."""


class Search:
    """One search."""

    def __init__(
        self,
        node: tuple[NodeName, Labels],
        pools: Sequence[Pool],
        claims: Sequence[tuple[Claim, list[Constraint]]],
        ledger: Ledger,
        features: Features,
    ) -> None:
        self._node, self._labels = node
        invalid = next((at for at, pool in enumerate(pools) if pool.invalid and features.pools_by_node), None)
        self._invalid = None if invalid is None else pools[invalid]
        """The pool at which a search ends that has come so far."""
        seen = pools if features.stops_at_all else pools[:invalid]
        self._devices = [(device, pool) for pool in seen for device in pool.devices]
        self._claims = claims
        self._ledger = ledger
        self._features = features
        self._steps = 0
        self.found: list[list[Taken]] = []

    def succeeds(self) -> bool:
        """Whether every claim gets what it asks for; `found` says what. Raises AllocationError and Undecided."""
        requests = [request for claim, _ in self._claims for request in claim.requests]
        if sum(max(one.count for one in request.alternatives) for request in requests) > DEEPEST:  # exact: ints
            raise Undecided(f"a pod asks for more than {DEEPEST} devices")
        try:
            return self._claim(0)
        except _StoppedError:
            return False

    def selects(self, wanted: Wanted, device: Device) -> bool:
        """Whether the device is of the kind that is asked for, and for this node."""
        if not self._features.bindings and device.manifest.get("bindingConditions"):
            return False
        if not wanted.selection.takes(device, wanted.claim):
            return False
        return not device.slice.per_device or device.place.holds(self._labels, self._node)

    def of_kind(self, wanted: Wanted) -> dict[DeviceId, bool]:
        """The devices of the kind that is asked for, and whether each is free beside what is taken."""
        found = [device for device, _ in self._devices if self.selects(wanted, device)]
        return {one.id: self._fits(wanted, one, 0) and not self._kept_away(wanted, one) for one in found}

    def _kept_away(self, wanted: Wanted, device: Device) -> bool:
        """Whether the device has a taint that counts and is not tolerated."""
        return self._features.taints and untolerated(device.taints, wanted.tolerations)

    def _claim(self, place: int) -> bool:
        return place == len(self._claims) or self._request(place, 0)

    def _request(self, claim: int, place: int) -> bool:
        requests = self._claims[claim][0].requests
        if place == len(requests):
            try:
                return self._claim(claim + 1)
            except _TooManyError:
                return False
        request = requests[place]
        if request.chooses:
            return self._first_of(request, claim, place)
        return self._next(request.alternatives[0], claim, place, 0, 0)

    def _first_of(self, request: Request, claim: int, place: int) -> bool:
        too_many = 0
        for wanted in request.alternatives:
            try:
                if self._next(wanted, claim, place, 0, 0):
                    return True
            except _TooManyError:
                too_many += 1
        if too_many == len(request.alternatives):
            raise _TooManyError
        return False

    def _next(self, wanted: Wanted, claim: int, place: int, has: int, begin: int) -> bool:
        """One more device for a request that has some; those before `begin` were tried."""
        self._step()
        if wanted.every and not wanted.devices and not self._features.stops_at_all:
            return False
        if has == wanted.count:
            return self._request(claim, place + 1)
        if len(self.found[claim]) + wanted.count - has > MOST_DEVICES:
            raise _TooManyError
        if wanted.every:
            return self._all(wanted, claim, place, has)
        if has == 0 and self._invalid is None and not self._suffice(wanted, claim):
            return False
        return self._one_of(wanted, claim, place, has, begin)

    def _one_of(self, wanted: Wanted, claim: int, place: int, has: int, begin: int) -> bool:
        for at in range(begin, len(self._devices)):
            device, pool = self._devices[at]
            if not self._fits(wanted, device, claim):
                continue
            if pool.invalid:
                raise _invalid(pool)
            if not self._take(wanted, device, pool, claim):
                continue
            again = 0 if self._ledger.unnoted(wanted) else at + 1
            following = partial(self._next, wanted, claim, place, has + 1, again)
            if self._or_back(wanted, device, pool, claim, following):
                return True
        if self._invalid is not None and not self._features.stops_at_all:
            raise _invalid(self._invalid)
        return False

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise Undecided("the search for devices takes too long")

    def _suffice(self, wanted: Wanted, claim: int) -> bool:
        """Whether there are enough devices of the kind, whatever else is asked of them."""
        missing = 1 if self._ledger.unnoted(wanted) else wanted.count
        for device, _ in self._devices:
            if self._fits(wanted, device, claim):
                missing -= 1
                if missing == 0:
                    return True
        return False

    def _fits(self, wanted: Wanted, device: Device, claim: int) -> bool:
        ledger = self._ledger
        return ledger.free(wanted, device, claim) and self.selects(wanted, device) and ledger.has_room(wanted, device)

    def _all(self, wanted: Wanted, claim: int, place: int, has: int) -> bool:
        """The next one of all devices, or none."""
        device = wanted.devices[has]
        if not self._take(wanted, device, None, claim):
            if self._features.stops_at_all:
                raise _StoppedError
            return False
        following = wanted
        if wanted.parent and not self._features.keeps_alternative:
            following = self._claims[claim][0].requests[place].alternatives[0]
        return self._or_back(wanted, device, None, claim, partial(self._next, following, claim, place, has + 1, 0))

    def _or_back(
        self, wanted: Wanted, device: Device, pool: Pool | None, claim: int, following: Callable[[], bool]
    ) -> bool:
        """Whether the rest can be found as well; the device is given back where not."""
        done = False
        try:
            done = following()
        finally:
            if not done and not (pool is None and self._features.forgetful):
                taken = self.found[claim].pop()
                for constraint in self._claims[claim][1]:
                    constraint.remove(wanted)
                self._ledger.give_back(wanted, device, pool, claim, taken.capacity)
        return done

    def _take(self, wanted: Wanted, device: Device, pool: Pool | None, claim: int) -> bool:
        """Whether the device can be had beside what is taken already; then it is."""
        ledger = self._ledger
        if not ledger.free(wanted, device, claim) or not ledger.counts(device, pool):
            return False
        if self._kept_away(wanted, device):
            return False
        if not self._allowed(wanted, device, self._claims[claim][1], must=pool is None):
            return False
        if not ledger.has_room(wanted, device):
            return False
        part = ledger.take(wanted, device, claim)
        self.found[claim].append(Taken(wanted, device, ledger.shared(device), part))
        return True

    def _allowed(self, wanted: Wanted, device: Device, constraints: Sequence[Constraint], *, must: bool) -> bool:
        """Where all devices are asked for, a constraint that forbids one is an error."""
        for place, constraint in enumerate(constraints):
            if constraint.add(wanted, device):
                continue
            if must:
                text = f"cannot add device {device.id} because a claim constraint would not be satisfied"
                raise AllocationError(f"claim {wanted.claim}, request {wanted.name}: {text}")
            for one in constraints[:place]:
                one.remove(wanted)
            return False
        return True


def _invalid(pool: Pool) -> AllocationError:
    return AllocationError(f"pool {pool.id.name} is invalid: {pool.invalid}")
