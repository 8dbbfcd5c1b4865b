"""Accessors of a manifest's metadata, spec and status; a missing part is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
"""The annotation of a pod that names its PodGroup."""
MADE_GROUP_PREFIX = "podgroup-"
"""How the names of PodGroups begin that Volcano's controller makes."""


def object_in(value: object) -> JsonDict:
    """The value if it is a JSON object, else an empty object."""
    return value if isinstance(value, dict) else {}


def object_list(value: object) -> list[JsonDict]:
    """The JSON objects of a list; none of any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def metadata_of(manifest: JsonObject) -> JsonObject:
    """The object's metadata."""
    metadata: JsonObject = manifest.get("metadata") or {}
    return metadata


def name_of(manifest: JsonObject) -> str:
    """The object's name."""
    return metadata_of(manifest).get("name") or ""


def key_of(manifest: JsonObject) -> str:
    """`namespace/name`."""
    return f"{metadata_of(manifest).get('namespace') or ''}/{name_of(manifest)}"


def labels_of(manifest: JsonObject) -> Mapping[str, str]:
    """The object's labels."""
    labels: Mapping[str, str] = metadata_of(manifest).get("labels") or {}
    return labels


def annotations_of(manifest: JsonObject) -> Mapping[str, str]:
    """The object's annotations."""
    annotations: Mapping[str, str] = metadata_of(manifest).get("annotations") or {}
    return annotations


def owners_of(manifest: JsonObject) -> Sequence[JsonObject]:
    """The object's owner references."""
    return metadata_of(manifest).get("ownerReferences") or ()


def spec_of(manifest: JsonObject) -> JsonObject:
    """The object's spec."""
    spec: JsonObject = manifest.get("spec") or {}
    return spec


def status_of(manifest: JsonObject) -> JsonObject:
    """The object's status."""
    status: JsonObject = manifest.get("status") or {}
    return status


def label_selector_matches(selector: JsonObject | None, labels: Mapping[str, str]) -> bool:
    """Whether the labels match a LabelSelector; a nil or invalid one matches nothing, an empty one everything."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_requirement_matches(raw, labels) for raw in selector.get("matchExpressions") or ())


def _requirement_matches(raw: JsonObject, labels: Mapping[str, str]) -> bool:
    key, operator, values = raw.get("key", ""), raw.get("operator"), raw.get("values") or ()
    if operator == "In":
        return bool(values) and key in labels and labels[key] in values
    if operator == "NotIn":
        return bool(values) and (key not in labels or labels[key] not in values)
    if operator == "Exists":
        return not values and key in labels
    return operator == "DoesNotExist" and not values and key not in labels


# Types of parsed documents: Any, since users write them and nothing is checked yet.

Json = Any
"""Any value of a document."""
JsonObject = Mapping[str, Any]
"""An object of a document, read only."""
JsonDict = dict[str, Any]
"""An object of a document that may be changed."""
