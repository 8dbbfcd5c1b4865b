"""Redaction: a snapshot that holds only what the replay reads, so that it replays the same and tells nothing else.

Environment, commands, secrets, addresses, foreign annotations and the cluster's name go; names, labels and images of
objects stay, because decisions depend on them.
"""

from __future__ import annotations

from dataclasses import replace

from vcdebug.snapshot.schema import SHAPES
from vcdebug.snapshot.snapshot import Manifest, Snapshot

READ_DOMAINS = (
    "volcano.sh",
    "scheduling.k8s.io",
    "hami.io",
    "huawei.com",
    "storage-class",
    "pv.kubernetes.io",
    "selected-node",
)
"""Annotations whose key contains one of these are read by the scheduler or its plugins."""

NAME = "redacted"


def redact(snapshot: Snapshot) -> Snapshot:
    """A new snapshot with every field removed that the replay does not read."""
    objects = {kind: [_redacted(kind, manifest) for manifest in found] for kind, found in snapshot.objects.items()}
    past = snapshot.provenance
    past = past if past is None else replace(past, context="", server="", user="")
    return replace(snapshot, objects=objects, name=NAME, origin="", description="", provenance=past)


def _redacted(kind: str, manifest: Manifest) -> Manifest:
    kept: Manifest = SHAPES[kind].keep(manifest)
    annotations = kept["metadata"].get("annotations")
    if annotations:
        kept["metadata"]["annotations"] = {
            key: text for key, text in annotations.items() if any(domain in key for domain in READ_DOMAINS)
        }
    return kept
