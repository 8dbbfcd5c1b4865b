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


NO_CLAIMS = ClaimState()


class DynamicResources:
    """The check over one session's claims."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers

    def pre_filter(self, pod: Pod) -> ClaimState:
        """The pod's claims; raises DynamicResourcesError."""
        if not pod.spec.get("resourceClaims"):
            return NO_CLAIMS
        state = ClaimState()
        for claim in self._claims(pod):
            allocation = (claim.get("status") or {}).get("allocation")
            if allocation is None:
                self._check_classes(claim)
                state.unallocated.append(key_of(claim))
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

    def _check_classes(self, claim: Manifest) -> None:
        for request in (spec_of(claim).get("devices") or {}).get("requests") or ():
            for wanted in (request.get("exactly") or request, *(request.get("firstAvailable") or ())):
                name = wanted.get("deviceClassName")
                if name and name not in self._listers.device_classes:
                    raise DynamicResourcesError(f"request {request.get('name')}: device class {name} does not exist")


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
