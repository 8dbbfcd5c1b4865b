"""What any Kubernetes object states: its metadata by parts, its spec and its status; what is missing is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vcdebug.snapshot.json_values import JsonObject


def metadata_of(manifest: JsonObject) -> JsonObject:
    """The object's metadata."""
    found: JsonObject = manifest.get("metadata") or {}
    return found


def name_of(manifest: JsonObject) -> str:
    """The object's name."""
    return metadata_of(manifest).get("name") or ""


def key_of(manifest: JsonObject) -> str:
    """`namespace/name`."""
    return f"{metadata_of(manifest).get('namespace') or ''}/{name_of(manifest)}"


def labels_of(manifest: JsonObject) -> Mapping[str, str]:
    """The object's labels."""
    found: Mapping[str, str] = metadata_of(manifest).get("labels") or {}
    return found


def annotations_of(manifest: JsonObject) -> Mapping[str, str]:
    """The object's annotations."""
    found: Mapping[str, str] = metadata_of(manifest).get("annotations") or {}
    return found


def owners_of(manifest: JsonObject) -> Sequence[JsonObject]:
    """The object's owner references."""
    return metadata_of(manifest).get("ownerReferences") or ()


def spec_of(manifest: JsonObject) -> JsonObject:
    """The object's spec."""
    found: JsonObject = manifest.get("spec") or {}
    return found


def status_of(manifest: JsonObject) -> JsonObject:
    """The object's status."""
    found: JsonObject = manifest.get("status") or {}
    return found
