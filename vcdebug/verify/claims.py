"""The devices that claims get, in the same words whoever tells of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from vcdebug.model.names import TaskKey
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.manifest import status_of
from vcdebug.snapshot.quantity import nano_value
from vcdebug.trace.claims import reserved_claims
from vcdebug.trace.recording import Recording

PodDevices = dict[TaskKey, dict[str, str]]
"""Pod → claim → its devices."""


def allocated_devices(recording: Recording, bound: Collection[TaskKey]) -> PodDevices:
    """Of pods that the replay binds; where the order of slices is chance, nothing is said."""
    found: PodDevices = {}
    for claim, one in reserved_claims(recording).items():
        if one.allocation is not None and one.pod in bound and one.allocation.certain:
            words = _allocation_words(one.allocation.results, one.allocation.selector)
            found.setdefault(one.pod, {})[claim] = words
    return found


def note_devices(found: PodDevices, claim: str, body: JsonObject) -> None:
    """What a claim's status says of its devices, for the pod that it was reserved for last."""
    status = status_of(body)
    allocation, users = status.get("allocation"), status.get("reservedFor")
    if allocation and users:
        results = (allocation.get("devices") or {}).get("results") or ()
        namespace = claim.partition("/")[0]
        pod = f"{namespace}/{users[-1].get('name')}"
        found.setdefault(pod, {})[claim] = _allocation_words(results, allocation.get("nodeSelector"))


def _allocation_words(results: Iterable[JsonObject], selector: JsonObject | None) -> str:
    where = [
        f"{one.get('key')} {one.get('operator')} {','.join(one.get('values') or ())}"
        for term in (selector or {}).get("nodeSelectorTerms") or ()
        for part in ("matchFields", "matchExpressions")
        for one in term.get(part) or ()
    ]
    return "; ".join([*map(_device_words, results), *where])


def _device_words(one: JsonObject) -> str:
    name = "/".join(one.get(part) or "" for part in ("driver", "pool", "device"))
    capacity = sorted((own, nano_value(text)) for own, text in (one.get("consumedCapacity") or {}).items())
    amounts = "".join(f" {own}={nano}n" for own, nano in capacity)
    return f"{one.get('request')}: {name}{' for an administrator' if one.get('adminAccess') else ''}{amounts}"
