"""What becomes of resource claims: written down for the pods that are bound, and given back after the last one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from vcdebug.kube.dynamic_resources import ReservedClaim, users_of
from vcdebug.model.names import TaskKey
from vcdebug.model.pod import ENDED_PHASES, Pod
from vcdebug.snapshot.json_values import JsonDict, JsonObject
from vcdebug.snapshot.manifest import key_of, status_of
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.trace.claims import reserved_claims
from vcdebug.trace.recording import Recording


def next_claims(recording: Recording, pods: Iterable[Manifest]) -> list[Manifest]:
    """All claims of the next cycle; the very same list where nothing was done to them."""
    reserved = reserved_claims(recording)
    there = {pod.key: pod for pod in map(Pod, pods) if pod.phase not in ENDED_PHASES}
    uids = {pod.uid for pod in there.values()}
    before = recording.snapshot.objects_of("ResourceClaim")
    after = [_next_claim(claim, reserved.get(key_of(claim)), there, uids) for claim in before]
    return after if any(new is not old for new, old in zip(after, before, strict=True)) else before


def _next_claim(
    claim: Manifest, reserved: ReservedClaim | None, there: Mapping[TaskKey, Pod], uids: Collection[str]
) -> Manifest:
    if reserved is not None and reserved.allocation is not None:
        pod = there.get(reserved.pod)
        return _allocated_claim(claim, reserved, pod) if pod is not None and pod.node_name else claim
    users = users_of(claim)
    if users and not any(user.get("uid") in uids for user in users):
        return {**claim, "status": {}}
    return claim


def _allocated_claim(claim: Manifest, reserved: ReservedClaim, pod: Pod) -> Manifest:
    """As PreBind writes it. Upstream: k8s plugin dynamicresources.bindClaim."""
    assert reserved.allocation is not None
    allocation: JsonDict = {"devices": {"results": list(reserved.allocation.results)}}
    if reserved.allocation.selector is not None:
        allocation["nodeSelector"] = reserved.allocation.selector
    status: JsonObject = status_of(claim)
    users = [*users_of(claim), {"resource": "pods", "name": pod.name, "uid": pod.uid}]
    return {**claim, "status": {**status, "allocation": allocation, "reservedFor": users}}
