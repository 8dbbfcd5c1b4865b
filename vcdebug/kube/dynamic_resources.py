"""DynamicResources: requires nodes that suit allocated claims and have devices for the other claims.

Upstream: k8s plugin dynamicresources.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from vcdebug.kube.cel import Undecided
from vcdebug.kube.devices import AllocationError, AllocatorFeatures, NoDevicesError, features_of
from vcdebug.kube.listers import Listers, Manifest, is_owned_by
from vcdebug.kube.node_affinity import NodeTerm, lenient_terms
from vcdebug.model.fit_errors import ERROR, UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.snapshot.cycle_inputs import ClaimReservation, MapOrder
from vcdebug.snapshot.manifest import Json, JsonObject, key_of, metadata_of, name_of, spec_of, status_of

if TYPE_CHECKING:
    from vcdebug.kube.devices.allocations import ClaimAllocation
    from vcdebug.kube.devices.allocator import AllocationRequest, DeviceAllocators, RequestCandidates
    from vcdebug.kube.devices.device import DeviceId
    from vcdebug.model.pod import Pod

NOT_ON_NODE = "resourceclaim not available on the node"
CLAIM_IN_USE = "resourceclaim in use"
MAX_CLAIM_USERS = 256
"""Maximum number of pods for which one claim can be reserved."""
MAX_ALTERNATIVES = 8
CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"
NO_ALTERNATIVES = "resource claim {}, request {}: has subrequests, but the DRAPrioritizedList feature is disabled"
UNSUPPORTED_REQUEST = "request {}: unsupported request type"
IN_ALLOCATION = "is in the process of being allocated"
NO_ALLOCATION = "claim allocation not found for node"
UNAVAILABLE_STATUS = FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, NOT_ON_NODE)


class DynamicResourcesError(Exception):
    """Raised if PreFilter rejects the pod; the text is upstream's."""


class ClaimState(Struct):
    """The resource claims of one pod."""

    pod: TaskKey = ""
    selectors: list[tuple[NodeTerm, ...]] = []
    """The node selectors of allocated claims."""
    unallocated: list[Manifest] = []
    """The claims to allocate now."""
    claims: list[Manifest] = []
    """All claims of the pod."""
    requested: AllocationRequest | None = None
    """The requests of `unallocated` and the devices in use; None if nothing needs or can be allocated."""
    undecided: str = ""
    """The reason why the replay cannot know the pod's devices, in which case every node passes; else empty."""
    allocations: dict[NodeName, list[ClaimAllocation]] = {}
    """Node → the allocations found by the search on that node."""
    reserved: list[ClaimAllocation] | None = None
    """The allocations that were reserved, also after they were given up."""


NO_CLAIMS = ClaimState()


class ReservedClaim(NamedTuple):
    """A claim that is being allocated, with its devices if they are known."""

    allocation: ClaimAllocation | None
    pod: TaskKey
    node: NodeName
    pods: int = 1
    """The number of pods that have reserved the claim."""


class DynamicResources:
    """The filter and scorer for one session's claims."""

    def __init__(self, listers: Listers, ordering: MapOrder, reserved: Iterable[ClaimReservation] = ()) -> None:
        self._listers = listers
        self._ordering = ordering
        self._read: DeviceAllocators | None = None
        """Slices and classes, which are read for the first claim to allocate."""
        known = (one for one in reserved if one.claim in listers.resource_claims)
        self.in_flight_claims = {one.claim: self._restore_claim(one) for one in known}
        """The claims that this or an earlier session allocated and that are not yet in the API server, by key."""

    def _restore_claim(self, kept: ClaimReservation) -> ReservedClaim:
        """A claim that an earlier session reserved."""
        if kept.devices is None:
            return ReservedClaim(None, kept.pod, kept.node)
        from vcdebug.kube.devices.allocations import ClaimAllocation, held_devices

        status = {"allocation": {"devices": {"results": kept.devices}}}
        devices = tuple(held_devices({"status": status}, self._allocator_features))
        return ReservedClaim(ClaimAllocation(devices, kept.devices, None, True), kept.pod, kept.node)

    @cached_property
    def _extended_resources(self) -> dict[str, None]:
        """Names of resources through which containers request devices of a class, as if by a claim."""
        classes = self._listers.device_classes if self._listers.flags.is_gate_on("DRAExtendedResource") else {}
        names = [str(spec_of(device_class).get("extendedResourceName") or "") for device_class in classes.values()]
        return dict.fromkeys([*filter(None, names), *(f"{CLASS_PREFIX}{name}" for name in classes)])

    @cached_property
    def _allocator_features(self) -> AllocatorFeatures:
        return features_of(self._listers.flags)

    @property
    def _device_allocators(self) -> DeviceAllocators:
        if self._read is None:
            # Imported here: most clusters have no claims, and the allocator with its CEL parser is slow to load.
            from vcdebug.kube.devices.allocator import DeviceAllocators

            self._read = DeviceAllocators(self._listers, self._ordering)
        return self._read

    def pre_filter(self, pod: Pod) -> ClaimState:
        """Read the pod's claims; raises DynamicResourcesError."""
        for name in _requested_resources(pod) if self._extended_resources else ():
            if name in self._extended_resources:
                return ClaimState(undecided=f"devices of a class are asked for as {name}")
        if not pod.spec.get("resourceClaims"):
            return NO_CLAIMS
        state = ClaimState(pod.key, claims=[*self._pod_claims(pod)])
        for claim in state.claims:
            allocation = status_of(claim).get("allocation")
            if allocation is None:
                self._check_unallocated(claim)
                state.unallocated.append(claim)
            elif not _has_room_for(claim, pod):
                raise DynamicResourcesError(CLAIM_IN_USE)
            elif allocation.get("nodeSelector") is not None:
                terms = allocation["nodeSelector"].get("nodeSelectorTerms") or ()
                state.selectors.append(lenient_terms(terms))
        if state.unallocated:
            self._prepare_allocation(state)
        return state

    def _prepare_allocation(self, state: ClaimState) -> None:
        """Fix the devices in use, so that the searches on all nodes start from the same state."""
        reserved = self.in_flight_claims.values()
        unknown = [key for key, claim in self.in_flight_claims.items() if claim.allocation is None]
        if unknown:
            state.undecided = f"the devices of {unknown[0]} are not known"
            return
        devices = [device for claim in reserved if claim.allocation is not None for device in claim.allocation.devices]
        state.undecided = self._device_allocators.unknown
        if not state.undecided:
            state.requested = self._device_allocators.allocation_request(state.unallocated, devices)

    def filter(self, state: ClaimState, labels: Mapping[str, str], node: NodeName) -> FitStatus | None:
        """The status that rejects the node, or None. Upstream: k8s plugin dynamicresources.Filter."""
        refused = None
        if state.requested is not None and not state.undecided:
            refused = self._allocate_on_node(state, state.requested, labels, node)
        # A refusal of the search is reported before one of an allocated claim, as upstream returns it first.
        if refused is None and not is_available_on(state, labels, node):
            state.allocations.pop(node, None)
            return UNAVAILABLE_STATUS
        return refused

    def _allocate_on_node(
        self, state: ClaimState, requested: AllocationRequest, labels: Mapping[str, str], node: NodeName
    ) -> FitStatus | None:
        """Search devices for all claims on one node; the result replaces an earlier one."""
        if state.reserved is not None and self._allocator_features.keeps_reserved:
            # Upstream takes a reserved allocation for one that another pod waits for, and searches nothing.
            state.allocations[node] = state.reserved
            return None
        try:
            state.allocations[node] = self._device_allocators.allocate(requested, node, labels)
        except NoDevicesError as error:
            return FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, str(error))
        except AllocationError as error:
            return FitStatus(ERROR, str(error))
        except Undecided as error:
            state.undecided = str(error)
        return None

    def request_candidates(
        self, state: ClaimState, labels: Mapping[str, str], node: NodeName
    ) -> Sequence[RequestCandidates]:
        """The candidate devices on the node for each request of the pod; empty if unknown."""
        if state.requested is None or state.undecided:
            return ()
        try:
            return [*self._device_allocators.request_candidates(state.requested, node, labels)]
        except (AllocationError, Undecided):
            return ()

    def device_holders(self, devices: Collection[DeviceId]) -> list[TaskKey]:
        """Keys of the pods that hold one of the devices, by a claim's status or through this session."""
        holders: dict[TaskKey, None] = {}
        for claim in self._device_allocators.claims_holding(devices):
            namespace = metadata_of(claim).get("namespace")
            holders.update((f"{namespace}/{user.get('name')}", None) for user in users_of(claim))
        for reserved in self.in_flight_claims.values():
            if reserved.allocation is not None and any(device.id in devices for device in reserved.allocation.devices):
                holders[reserved.pod] = None
        return sorted(holders)

    def score(self, state: ClaimState, node: NodeName) -> int:
        """The score of the alternatives found on the node; raises DynamicResourcesError."""
        allocations = state.allocations.get(node)
        return 0 if allocations is None else _score_alternatives(state.claims, allocations)

    def _pod_claims(self, pod: Pod) -> Iterator[Manifest]:
        statuses = {s.get("name"): s for s in pod.status.get("resourceClaimStatuses") or ()}
        for entry in pod.spec.get("resourceClaims") or ():
            name, templated = _claim_name(pod, entry, statuses)
            if name is None:
                continue
            claim = self._listers.resource_claims.get(f"{pod.namespace}/{name}")
            if claim is None:
                raise DynamicResourcesError(f'could not find ResourceClaim "{pod.namespace}/{name}"')
            _check_claim(claim, pod, templated=templated)
            yield claim

    def reserve(self, state: ClaimState, node: NodeName) -> str | None:
        """Mark the pod's claims as being allocated; returns an error if the node was not searched.
        Upstream: k8s plugin dynamicresources.Reserve.
        """
        if not state.unallocated:
            return None
        allocations = state.allocations.get(node)
        if allocations is None and not (state.undecided and node):
            return NO_ALLOCATION
        for place, claim in enumerate(state.unallocated):
            earlier = self.in_flight_claims.get(key_of(claim))
            new = ReservedClaim(None if allocations is None else allocations[place], state.pod, node)
            self.in_flight_claims[key_of(claim)] = new if earlier is None else earlier._replace(pods=earlier.pods + 1)
        state.reserved = allocations
        return None

    def unreserve(self, state: ClaimState) -> None:
        """Undo `reserve` for the pod's claims. Upstream: k8s plugin dynamicresources.Unreserve."""
        for key in map(key_of, state.claims):
            reserved = self.in_flight_claims.pop(key, None)
            if reserved is not None and reserved.pods > 1:
                self.in_flight_claims[key] = reserved._replace(pods=reserved.pods - 1)

    def _no_alternatives_text(self, claim: Manifest, request: str) -> str:
        """The reason for rejecting a request with alternatives; the oldest client library does not know the field."""
        if self._allocator_features.stops_at_all:
            return UNSUPPORTED_REQUEST.format(request)
        return NO_ALTERNATIVES.format(key_of(claim), request)

    def _check_unallocated(self, claim: Manifest) -> None:
        if key_of(claim) in self.in_flight_claims:
            raise DynamicResourcesError(f"resource claim {key_of(claim)} {IN_ALLOCATION}")
        for request in (spec_of(claim).get("devices") or {}).get("requests") or ():
            if request.get("firstAvailable") and not self._allocator_features.alternatives:
                raise DynamicResourcesError(self._no_alternatives_text(claim, request.get("name") or ""))
            for alternative, name in _request_alternatives(request):
                device_class = alternative.get("deviceClassName")
                if not device_class:
                    raise DynamicResourcesError(UNSUPPORTED_REQUEST.format(name))
                if device_class not in self._listers.device_classes:
                    raise DynamicResourcesError(f"request {name}: device class {device_class} does not exist")


def _request_alternatives(request: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    """(alternative, upstream's name for it) of each alternative."""
    name = request.get("name") or ""
    if request.get("exactly") is not None:
        yield request["exactly"], name
        return
    for alternative in request.get("firstAvailable") or ():
        yield alternative, f"{name}/{alternative.get('name') or ''}"


def users_of(claim: Manifest) -> Sequence[JsonObject]:
    """The entries of status.reservedFor."""
    users: Sequence[JsonObject] = status_of(claim).get("reservedFor") or ()
    return users


def _has_room_for(claim: Manifest, pod: Pod) -> bool:
    """Whether an allocated claim is reserved for the pod or can be."""
    users = users_of(claim)
    return len(users) < MAX_CLAIM_USERS or any(user.get("uid") == pod.uid for user in users)


def _requested_resources(pod: Pod) -> Iterator[str]:
    """The names of the resources that the pod's containers request."""
    for part in ("containers", "initContainers"):
        for container in pod.spec.get(part) or ():
            yield from (container.get("resources") or {}).get("requests") or {}


def _claim_name(pod: Pod, entry: JsonObject, statuses: Mapping[Json, JsonObject]) -> tuple[str | None, bool]:
    """(name of the claim or None if there is none, whether a template creates the claim)."""
    if entry.get("resourceClaimName") is not None:
        return entry["resourceClaimName"], False
    if entry.get("resourceClaimTemplateName") is None:
        raise DynamicResourcesError(
            f'pod "{pod.namespace}/{pod.name}", spec.resourceClaim "{entry.get("name")}": '
            "none of the supported fields are set"
        )
    status = statuses.get(entry.get("name"))
    if status is None:
        raise DynamicResourcesError(f'pod "{pod.namespace}/{pod.name}": ResourceClaim not created yet')
    return status.get("resourceClaimName"), True


def _check_claim(claim: Manifest, pod: Pod, *, templated: bool) -> None:
    if metadata_of(claim).get("deletionTimestamp"):
        raise DynamicResourcesError(f'resourceclaim "{name_of(claim)}" is being deleted')
    if templated and not is_owned_by(claim, pod):
        raise DynamicResourcesError(
            f"ResourceClaim {key_of(claim)} was not created for Pod {pod.namespace}/{pod.name} (Pod is not owner)"
        )


def _score_alternatives(claims: Sequence[Manifest], allocations: Sequence[ClaimAllocation]) -> int:
    """The sum of scores of all claims, higher for alternatives listed earlier; raises DynamicResourcesError."""
    # Upstream pairs all claims with the results of the unallocated ones by position, which differ once a pod has an
    # allocated claim: kept, as it decides scores and errors.
    score = 0
    for place, claim in enumerate(claims):
        if place >= len(allocations):
            raise DynamicResourcesError(f"number of allocations {len(allocations)} is smaller than number of claims")
        chosen = dict.fromkeys(result["request"] for result in allocations[place].results)
        for request in (spec_of(claim).get("devices") or {}).get("requests") or ():
            if request.get("exactly") is None:
                names = [f"{request.get('name')}/{part.get('name')}" for part in request.get("firstAvailable") or ()]
                score += sum(
                    MAX_ALTERNATIVES - index for index, name in enumerate(names) if name in chosen
                )  # exact: ints
    return score


def is_available_on(state: ClaimState, labels: Mapping[str, str], node: NodeName) -> bool:
    """Whether the node can use every allocated claim."""
    return all(any(term.matches_node(labels, node) for term in terms) for terms in state.selectors)
