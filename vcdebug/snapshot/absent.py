"""Fields that every object from a cluster has; without them an object means something else than its author thinks."""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.snapshot.gather import Gathered, object_name
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.snapshot import Manifest


class _Expected(NamedTuple):
    kind: str
    part: str
    field: str
    effect: str


EXPECTED = (
    _Expected("Node", "status", "allocatable", "the node offers nothing; completing manifests would take its capacity"),
    _Expected("Pod", "status", "phase", "the pod counts as Unknown; completing manifests would make it Pending"),
    _Expected("Pod", "spec", "containers", "the pod asks for nothing"),
    _Expected("Queue", "spec", "weight", "the queue weighs nothing; completing manifests would make it 1"),
    _Expected("PriorityClass", "", "value", "the class is worth 0"),
)

_NO_SCHEDULER = "the scheduler does not see this pod"
_LEFT = 'if they were written by hand, --complete fills that in (or "complete": true in meta.json)'
_COMPLETED = 'they are completed as a server would; "complete": false in meta.json leaves them as they are'


def hand_written(found: Gathered) -> bool:
    """Whether there are objects that no server has seen: what they lack changes who is who."""
    return any(
        (KIND_BY_NAME[kind].namespaced and not manifest["metadata"].get("namespace"))
        or (kind == "Pod" and not manifest["metadata"].get("uid"))
        for kind, manifests in found.objects.items()
        for manifest in manifests
    )


def note_hand_written(found: Gathered, *, completed: bool) -> None:
    """One Problem for all objects that no server can have returned."""
    count = 0
    for kind, manifests in found.objects.items():
        namespaced = KIND_BY_NAME[kind].namespaced
        for manifest in manifests:
            metadata = manifest["metadata"]
            bare = namespaced and not metadata.get("namespace")
            if bare or (kind == "Pod" and (not metadata.get("uid") or not (manifest.get("status") or {}).get("phase"))):
                count += 1
    if count:
        lack = "1 object lacks" if count == 1 else f"{count} objects lack"
        found.report.add(
            f"{lack} what every server fills in (uid, phase, namespace)", _COMPLETED if completed else _LEFT
        )


def note_missing_fields(found: Gathered) -> None:
    """Add a Problem for each expected field that is not there."""
    for expected in EXPECTED:
        for index, manifest in enumerate(found.objects.get(expected.kind, ())):
            part = (manifest.get(expected.part) or {}) if expected.part else manifest
            if part.get(expected.field) is None:
                _note(found, expected, index, manifest)
    for index, manifest in enumerate(found.objects.get("Pod", ())):
        spec = manifest.get("spec") or {}
        if not spec.get("schedulerName") and not spec.get("nodeName"):
            _note(found, _Expected("Pod", "spec", "schedulerName", _NO_SCHEDULER), index, manifest)


def _note(found: Gathered, expected: _Expected, index: int, manifest: Manifest) -> None:
    field = ".".join(part for part in (expected.part, expected.field) if part)
    name = f"{expected.kind} {object_name(manifest)}"
    found.report.add("is missing", expected.effect, file=found.files[expected.kind][index], object=name, field=field)
