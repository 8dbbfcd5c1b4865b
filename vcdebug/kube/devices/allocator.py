"""Allocates the claims of one pod on one node after the other.

Upstream: k8s dynamic-resource-allocation structured (Allocator).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from vcdebug.kube.devices.constraints import Constraint, constraints
from vcdebug.kube.devices.device import DeviceId, slice_of
from vcdebug.kube.devices.errors import AllocationError, NoDevicesError
from vcdebug.kube.devices.features import features_of
from vcdebug.kube.devices.ledger import Ledger
from vcdebug.kube.devices.pools import Pool, Pools
from vcdebug.kube.devices.requests import MOST_DEVICES, Claim, Reader, Wanted
from vcdebug.kube.devices.search import Search
from vcdebug.kube.devices.taken import Allocation, Held, InUse, allocation, held_by
from vcdebug.kube.listers import Listers, key_of, spec_of
from vcdebug.kube.selector import Labels
from vcdebug.model.names import NodeName
from vcdebug.model.ordering import Ordering
from vcdebug.snapshot.json_values import JsonObject

INVALID_POOLS: Final = "invalid resource pools were encountered"
CANNOT: Final = "cannot allocate all claims"


class Candidates(NamedTuple):
    """The devices of a node that a request could have."""

    claim: str
    request: str
    wanted: int | None
    """None where all are asked for."""
    devices: Mapping[DeviceId, bool]
    """Those of the kind, and whether each is free."""

    @property
    def matching(self) -> int:
        """How many there are."""
        return len(self.devices)

    @property
    def free(self) -> int:
        """How many of them are free."""
        return sum(self.devices.values())  # exact: ints

    @property
    def busy(self) -> list[DeviceId]:
        """Those that are not."""
        return [device for device, free in self.devices.items() if not free]


class Allocators:
    """All slices and classes, and what the claims of the snapshot have taken."""

    def __init__(self, listers: Listers, ordering: Ordering) -> None:
        features = self.features = features_of(listers.flags)
        self.unknown = ""
        """Why nothing is known about allocations."""
        if not features.known:
            self.unknown = "the allocator of this release is not replayed"
        elif features.taint_rules and listers.device_taint_rules:
            self.unknown = "DeviceTaintRules are not replayed"
        self._pools = Pools([slice_of(one) for one in listers.resource_slices], features, ordering)
        self._reader = Reader(listers.device_classes, features)
        self._claims = [*listers.resource_claims.values()]
        self._in_use = InUse(held for claim in self._claims for held in held_by(claim, features))

    def in_use(self, held: Iterable[Held]) -> InUse:
        """What is taken, beside what the claims of the snapshot have."""
        return InUse(held, self._in_use)

    def allocate(self, claims: Sequence[JsonObject], in_use: InUse, node: NodeName, labels: Labels) -> list[Allocation]:
        """One result per claim of a pod; raises NoDevicesError, AllocationError and Undecided."""
        pools = self._pools.seen_by(node, labels)
        search, asked = self._begun(claims, in_use, (node, labels), pools)
        if not search.succeeds():
            raise NoDevicesError(INVALID_POOLS if any(pool.invalid for pool in pools) else CANNOT)
        slices = dict.fromkeys(device.slice for pool in pools for device in pool.devices)
        certain = self.features.by_name or len(slices) < 2
        named = zip(asked, search.found, strict=True)
        return [allocation(claim.key, taken, node, certain=certain) for (claim, _), taken in named]

    def claims_with(self, devices: Collection[DeviceId]) -> Iterator[JsonObject]:
        """The claims of the snapshot that have one of the devices, or a part of it."""
        for claim in self._claims:
            if any(held.id in devices for held in held_by(claim, self.features)):
                yield claim

    def candidates(
        self, claims: Sequence[JsonObject], in_use: InUse, node: NodeName, labels: Labels
    ) -> Iterator[Candidates]:
        """What there is for each request and alternative, one by one; raises AllocationError and Undecided."""
        search, asked = self._begun(claims, in_use, (node, labels), self._pools.seen_by(node, labels))
        for claim, _ in asked:
            for wanted in (one for request in claim.requests for one in request.alternatives):
                count = None if wanted.every else wanted.count
                yield Candidates(claim.key, wanted.label, count, search.of_kind(wanted))

    def _begun(
        self, claims: Sequence[JsonObject], in_use: InUse, node: tuple[NodeName, Labels], pools: Sequence[Pool]
    ) -> tuple[Search, list[tuple[Claim, list[Constraint]]]]:
        asked: list[tuple[Claim, list[Constraint]]] = []
        ledger = Ledger(in_use, self.features)
        search = Search(node, pools, asked, ledger, self.features)
        for manifest in claims:
            asked.append(self._asked(manifest, pools, search, ledger))
            search.found.append([])
        return search, asked

    def _asked(
        self, manifest: JsonObject, pools: Sequence[Pool], search: Search, ledger: Ledger
    ) -> tuple[Claim, list[Constraint]]:
        key = key_of(manifest)
        devices: Mapping[str, Sequence[JsonObject]] = spec_of(manifest).get("devices") or {}
        reader = self._reader
        raw = devices.get("requests") or ()
        requests = list(reader.requests(key, raw, lambda wanted: _count_all(wanted, pools, search, ledger)))
        fewest = sum(request.fewest for request in requests)  # exact: ints
        if fewest > MOST_DEVICES:
            text = f"number of requested devices {fewest} exceeds the claim limit of {MOST_DEVICES}"
            raise AllocationError(f"claim {key}: {text}")
        found = constraints(key, devices.get("constraints") or (), distinct=self.features.by_name)
        return Claim(key, requests), found


def _count_all(wanted: Wanted, pools: Sequence[Pool], search: Search, ledger: Ledger) -> None:
    """How many all devices are; raises AllocationError where some pool may hide one."""
    if not wanted.every:
        return
    for pool in pools:
        if not pool.usable:
            why = "being updated" if pool.incomplete else "invalid"
            text = f"asks for all devices, but resource pool {pool.id} is currently {why}"
            raise AllocationError(f"claim {wanted.claim}, request {wanted.name}: {text}")
        chosen = (one for one in pool.devices if search.selects(wanted, one) and ledger.has_room(wanted, one))
        wanted.devices.extend(chosen)
    wanted.count = len(wanted.devices)
