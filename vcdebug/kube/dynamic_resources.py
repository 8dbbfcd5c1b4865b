"""DynamicResources as far as a snapshot decides it: pods without claims, and claims that are already allocated.

Upstream: k8s plugin dynamicresources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vcdebug.kube.claims import owned_by
from vcdebug.kube.listers import Listers, Manifest, key_of, metadata_of, name_of, spec_of
from vcdebug.kube.node_affinity import NodeTerm, lenient_terms
from vcdebug.model.names import NodeName
from vcdebug.snapshot.json_values import Json, JsonObject

if TYPE_CHECKING:
    from vcdebug.model.pod import Pod

NOT_ON_NODE = "resourceclaim not available on the node"
IN_USE = "resourceclaim in use"
MOST_USERS = 256
"""Pods that one claim may be reserved for."""
NO_ALLOCATION = "claim allocation not found for node"


class DynamicResourcesError(Exception):
    """PreFilter refused the pod; the text is upstream's."""


@dataclass(slots=True)
class ClaimState:
    """The claims of one pod."""

    selectors: list[tuple[NodeTerm, ...]] = field(default_factory=list)
    """Node selectors of allocated claims."""
    unallocated: list[str] = field(default_factory=list)
    """Claims that a real scheduler would allocate now; which devices it would take a replay cannot know."""
    claims: list[str] = field(default_factory=list)
    """All of them."""


NO_CLAIMS = ClaimState()


class DynamicResources:
    """The check over one session's claims."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._in_flight: dict[str, None] = {}
        """Claims that were allocated for a pod of this session, which nobody has written down yet."""

    def pre_filter(self, pod: Pod) -> ClaimState:
        """The pod's claims; raises DynamicResourcesError."""
        if not pod.spec.get("resourceClaims"):
            return NO_CLAIMS
        state = ClaimState()
        for claim in [*self._claims(pod)]:
            state.claims.append(key_of(claim))
            allocation = (claim.get("status") or {}).get("allocation")
            if allocation is None:
                self._check_unallocated(claim)
                state.unallocated.append(key_of(claim))
            elif not _has_room_for(claim, pod):
                raise DynamicResourcesError(IN_USE)
            elif allocation.get("nodeSelector") is not None:
                terms = allocation["nodeSelector"].get("nodeSelectorTerms") or ()
                state.selectors.append(lenient_terms(terms))
        return state

    def _claims(self, pod: Pod) -> Iterator[Manifest]:
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

    def reserve(self, state: ClaimState) -> None:
        """The pod's claims are being allocated from now on. Upstream: k8s plugin dynamicresources.Reserve."""
        self._in_flight.update(dict.fromkeys(state.unallocated))

    def unreserve(self, state: ClaimState) -> None:
        """They are not any more. Upstream: k8s plugin dynamicresources.Unreserve."""
        for key in state.claims:
            self._in_flight.pop(key, None)

    def _check_unallocated(self, claim: Manifest) -> None:
        if key_of(claim) in self._in_flight:
            raise DynamicResourcesError(f"resource claim {key_of(claim)} is in the process of being allocated")
        for request in (spec_of(claim).get("devices") or {}).get("requests") or ():
            for wanted, name in _alternatives(request):
                device_class = wanted.get("deviceClassName")
                if not device_class:
                    raise DynamicResourcesError(f"request {name}: unsupported request type")
                if device_class not in self._listers.device_classes:
                    raise DynamicResourcesError(f"request {name}: device class {device_class} does not exist")


def _alternatives(request: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    """What would do, and what upstream calls it."""
    name = request.get("name") or ""
    if request.get("exactly") is not None:
        yield request["exactly"], name
        return
    for wanted in request.get("firstAvailable") or ():
        yield wanted, f"{name}/{wanted.get('name') or ''}"


def _has_room_for(claim: Manifest, pod: Pod) -> bool:
    """Whether the pod is among those that an allocated claim is reserved for, or may become one."""
    reserved = (claim.get("status") or {}).get("reservedFor") or ()
    return len(reserved) < MOST_USERS or any(user.get("uid") == pod.uid for user in reserved)


def _claim_name(pod: Pod, entry: JsonObject, statuses: Mapping[Json, JsonObject]) -> tuple[str | None, bool]:
    """(claim name or None for none, whether it comes from a template)."""
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
    if templated and not owned_by(claim, pod):
        raise DynamicResourcesError(
            f"ResourceClaim {key_of(claim)} was not created for Pod {pod.namespace}/{pod.name} (Pod is not owner)"
        )


def available_on(state: ClaimState, labels: Mapping[str, str], node: NodeName) -> bool:
    """Whether every allocated claim can be used on the node."""
    return all(any(term.matches(labels, node) for term in terms) for terms in state.selectors)
