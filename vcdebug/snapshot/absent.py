"""Fields that every object from a cluster has; without them an object means something else than its author thinks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vcdebug.amount_text import count_noun
from vcdebug.snapshot.gather import GatheredObjects, object_name
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import spec_of, status_of
from vcdebug.snapshot.snapshot import Manifest


class _ExpectedField(NamedTuple):
    kind: str
    part: str
    field: str
    effect: str


EXPECTED_FIELDS = (
    _ExpectedField(
        "Node", "status", "allocatable", "the node offers nothing; completing manifests would take its capacity"
    ),
    _ExpectedField("Pod", "status", "phase", "the pod counts as Unknown; completing manifests would make it Pending"),
    _ExpectedField("Pod", "spec", "containers", "the pod asks for nothing"),
    _ExpectedField("Queue", "spec", "weight", "the queue weighs nothing; completing manifests would make it 1"),
    _ExpectedField("PriorityClass", "", "value", "the class is worth 0"),
)

_NO_NAMESPACE = "the object is in no namespace; completing manifests would put it in default"
_NO_SCHEDULER = "the scheduler does not see this pod"
_LEFT = 'if they were written by hand, --complete fills that in (or "complete": true in meta.json)'
_COMPLETED = 'they are completed as a server would; "complete": false in meta.json leaves them as they are'


def is_hand_written(found: GatheredObjects) -> bool:
    """Whether there are objects that no server has seen: what they lack changes who is who."""
    uids = [manifest["metadata"].get("uid") for manifest in found.objects.get("Pod", ())]
    return not all(uids) or any(_without_namespace(found))


def note_hand_written(found: GatheredObjects, *, completed: bool) -> None:
    """One Problem for all objects that no server can have returned."""
    lacking = dict.fromkeys(_without_namespace(found))
    for index, manifest in enumerate(found.objects.get("Pod", ())):
        if not manifest["metadata"].get("uid") or not status_of(manifest).get("phase"):
            lacking["Pod", index] = None
    if lacking:
        lack = f"{count_noun(len(lacking), 'object')} {'lacks' if len(lacking) == 1 else 'lack'}"
        found.report.add_problem(
            f"{lack} what every server fills in (uid, phase, namespace)", _COMPLETED if completed else _LEFT
        )


def note_missing_namespaces(found: GatheredObjects) -> None:
    """A namespaced object without namespace is in none, unless it is completed."""
    for kind, index in _without_namespace(found):
        name = f"{kind} {object_name(found.objects[kind][index])}"
        found.report.add_problem(
            "is missing", _NO_NAMESPACE, file=found.files[kind][index], object=name, field="metadata.namespace"
        )


def _without_namespace(found: GatheredObjects) -> Iterator[tuple[str, int]]:
    """Kind and place of objects that should be in a namespace and are in none."""
    for kind, manifests in found.objects.items():
        if KIND_BY_NAME[kind].namespaced:
            namespaces = [manifest["metadata"].get("namespace") for manifest in manifests]
            if not all(namespaces):
                yield from ((kind, index) for index, namespace in enumerate(namespaces) if not namespace)


def note_missing_fields(found: GatheredObjects) -> None:
    """Add a Problem for each expected field that is not there."""
    for expected in EXPECTED_FIELDS:
        manifests = found.objects.get(expected.kind, [])
        parts = [manifest.get(expected.part) or {} for manifest in manifests] if expected.part else manifests
        values = [part.get(expected.field) for part in parts]
        for index, value in enumerate(values):
            if value is None:
                _note_missing(found, expected, index, manifests[index])
    for index, manifest in enumerate(found.objects.get("Pod", ())):
        spec = spec_of(manifest)
        if not spec.get("schedulerName") and not spec.get("nodeName"):
            _note_missing(found, _ExpectedField("Pod", "spec", "schedulerName", _NO_SCHEDULER), index, manifest)


def _note_missing(found: GatheredObjects, expected: _ExpectedField, index: int, manifest: Manifest) -> None:
    field = ".".join(part for part in (expected.part, expected.field) if part)
    name = f"{expected.kind} {object_name(manifest)}"
    found.report.add_problem(
        "is missing", expected.effect, file=found.files[expected.kind][index], object=name, field=field
    )
