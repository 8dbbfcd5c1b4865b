"""Allocation of a pod's claims, node by node. Upstream: k8s dynamic-resource-allocation structured (Allocator)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from vcdebug.kube.devices import AllocationError, NoDevicesError, allocations, features_of
from vcdebug.kube.devices.device import DeviceId, DevicePool, DevicePools, read_slice
from vcdebug.kube.devices.requests import MAX_DEVICES, ClaimReader, DeviceClaim, RequestData
from vcdebug.kube.devices.search import DeviceConstraint, DeviceSearch, read_constraints
from vcdebug.kube.listers import Listers
from vcdebug.kube.selector import Labels
from vcdebug.model.names import NodeName
from vcdebug.snapshot.cycle_inputs import MapOrder
from vcdebug.snapshot.manifest import JsonObject, key_of, spec_of

INVALID_POOLS: Final = "invalid resource pools were encountered"
CANNOT_ALLOCATE: Final = "cannot allocate all claims"


MAX_CACHED_SHAPES: Final = 8
"""Number of distinct requests whose results are cached; few suffice, because pods of a template come in a row."""
ClaimShape = tuple[str, ...]
"""The text of spec.devices, per claim."""
AllocationOutcome = list[allocations.ClaimAllocation] | str
"""One allocation per claim, or upstream's reason why the claims cannot be allocated."""


class AllocationRequest(NamedTuple):
    """The claims of a pod to allocate, with their requests and the devices in use."""

    claims: Sequence[JsonObject]
    shape: ClaimShape
    in_use: allocations.DevicesInUse


class RequestCandidates(NamedTuple):
    """The devices of a node that match a request."""

    claim: str
    request: str
    requested_count: int | None
    """The number of devices requested; None for all."""
    devices: Mapping[DeviceId, bool]
    """Matching device → whether it is free."""

    @property
    def matching_count(self) -> int:
        """Number of devices that match."""
        return len(self.devices)

    @property
    def free_count(self) -> int:
        """Number of matching devices that are free."""
        return sum(self.devices.values())  # exact: ints

    @property
    def busy_devices(self) -> list[DeviceId]:
        """The matching devices that are in use."""
        return [device for device, free in self.devices.items() if not free]


class DeviceAllocators:
    """The slices, classes and claims of a snapshot, with cached search results."""

    def __init__(self, listers: Listers, ordering: MapOrder) -> None:
        features = self.features = features_of(listers.flags)
        self.unknown = ""
        """The reason why allocations cannot be replayed; empty if they can."""
        if not features.is_supported:
            self.unknown = "the allocator of this release is not replayed"
        elif features.taint_rules and listers.device_taint_rules:
            self.unknown = "DeviceTaintRules are not replayed"
        self._pools = DevicePools([read_slice(manifest) for manifest in listers.resource_slices], features, ordering)
        self._outcomes: dict[
            ClaimShape, dict[NodeName, tuple[list[list[allocations.HeldDevice] | None], AllocationOutcome]]
        ] = {}
        self._reader = ClaimReader(listers.device_classes, features)
        self._claims = [*listers.resource_claims.values()]
        self._in_use = allocations.DevicesInUse(
            device for claim in self._claims for device in allocations.held_devices(claim, features)
        )

    def allocation_request(
        self, claims: Sequence[JsonObject], devices: Iterable[allocations.HeldDevice]
    ) -> AllocationRequest:
        """The request of a pod; `devices` are taken in this session, in addition to those of the snapshot."""
        shape = tuple([repr(spec_of(claim).get("devices")) for claim in claims])
        return AllocationRequest(claims, shape, allocations.DevicesInUse(devices, self._in_use))

    def allocate(self, need: AllocationRequest, node: NodeName, labels: Labels) -> list[allocations.ClaimAllocation]:
        """Allocate a pod's claims on a node, one result each; raises NoDevicesError, AllocationError and Undecided."""
        pools = self._pools.seen_by(node, labels)
        since = [need.in_use.held_by_pool.get(pool.id) for pool in pools]
        # A search depends on the node's pools alone: it is repeated only after one of them lost or gained devices.
        outcomes = self._cached_outcomes(need.shape)
        entry = outcomes.get(node)
        if entry is None or entry[0] != since:
            entry = since, self._run_search(need, (node, labels), pools)
            if not _has_parts(entry[1]):
                outcomes[node] = entry
        if isinstance(entry[1], str):
            raise NoDevicesError(entry[1])
        return entry[1]

    def _cached_outcomes(
        self, shape: ClaimShape
    ) -> dict[NodeName, tuple[list[list[allocations.HeldDevice] | None], AllocationOutcome]]:
        """The cached results of one shape: node → (devices taken in its pools at the time, outcome)."""
        outcomes = self._outcomes.get(shape)
        if outcomes is None:
            if len(self._outcomes) == MAX_CACHED_SHAPES:
                del self._outcomes[next(iter(self._outcomes))]
            outcomes = self._outcomes[shape] = {}
        return outcomes

    def _run_search(
        self, need: AllocationRequest, node: tuple[NodeName, Labels], pools: Sequence[DevicePool]
    ) -> AllocationOutcome:
        search, claims = self._begin_search(need, node, pools)
        if not search.allocate_claims():
            passed_over = any(pool.invalid for pool in pools) and not self.features.pools_by_node
            return INVALID_POOLS if passed_over else CANNOT_ALLOCATE
        slices = dict.fromkeys(device.slice for pool in pools for device in pool.devices)
        certain = self.features.by_name or len(slices) < 2
        pairs = zip(claims, search.allocations, strict=True)
        return [allocations.make_allocation(claim.key, taken, node[0], certain=certain) for (claim, _), taken in pairs]

    def claims_holding(self, devices: Collection[DeviceId]) -> Iterator[JsonObject]:
        """The snapshot's claims that hold one of the devices or a part of one."""
        for claim in self._claims:
            if any(device.id in devices for device in allocations.held_devices(claim, self.features)):
                yield claim

    def request_candidates(
        self, need: AllocationRequest, node: NodeName, labels: Labels
    ) -> Iterator[RequestCandidates]:
        """The candidates of each request and alternative; raises AllocationError and Undecided."""
        search, claims = self._begin_search(need, (node, labels), self._pools.seen_by(node, labels))
        for claim, _ in claims:
            for option in (option for request in claim.requests for option in request.alternatives):
                count = None if option.requests_all else option.count
                yield RequestCandidates(claim.key, option.result_name, count, search.devices_of_kind(option))

    def _begin_search(
        self, need: AllocationRequest, node: tuple[NodeName, Labels], pools: Sequence[DevicePool]
    ) -> tuple[DeviceSearch, list[tuple[DeviceClaim, list[DeviceConstraint]]]]:
        claims: list[tuple[DeviceClaim, list[DeviceConstraint]]] = []
        ledger = allocations.SearchLedger(need.in_use, self.features)
        search = DeviceSearch(node, pools, claims, ledger, self.features)
        for manifest in need.claims:
            claims.append(self._read_claim(manifest, pools, search, ledger))
            search.allocations.append([])
        return search, claims

    def _read_claim(
        self, manifest: JsonObject, pools: Sequence[DevicePool], search: DeviceSearch, ledger: allocations.SearchLedger
    ) -> tuple[DeviceClaim, list[DeviceConstraint]]:
        key = key_of(manifest)
        devices: Mapping[str, Sequence[JsonObject]] = spec_of(manifest).get("devices") or {}
        reader = self._reader
        raw = devices.get("requests") or ()
        requests = list(reader.read_requests(key, raw, lambda request: _count_all(request, pools, search, ledger)))
        fewest = sum(request.fewest_devices for request in requests)  # exact: ints
        if fewest > MAX_DEVICES:
            text = f"number of requested devices {fewest} exceeds the claim limit of {MAX_DEVICES}"
            raise AllocationError(f"claim {key}: {text}")
        constraints = read_constraints(key, devices.get("constraints") or (), self.features)
        return DeviceClaim(key, requests), constraints


def _has_parts(outcome: AllocationOutcome) -> bool:
    """Whether the outcome has parts of devices: their share IDs contain the claim's name, so it cannot be cached."""
    return not isinstance(outcome, str) and any(
        device.shared for allocation in outcome for device in allocation.devices
    )


def _count_all(
    request: RequestData, pools: Sequence[DevicePool], search: DeviceSearch, ledger: allocations.SearchLedger
) -> None:
    """Set count and devices of a request for all; raises AllocationError if a pool is incomplete or invalid."""
    if not request.requests_all:
        return
    for pool in pools:
        if pool.incomplete or pool.invalid:
            state = "being updated" if pool.incomplete else "invalid"
            text = f"asks for all devices, but resource pool {pool.id} is currently {state}"
            raise AllocationError(f"claim {request.claim}, request {request.name}: {text}")
        chosen = (one for one in pool.devices if search.selects_device(request, one) and ledger.has_room(request, one))
        request.devices.extend(chosen)
    request.count = len(request.devices)
