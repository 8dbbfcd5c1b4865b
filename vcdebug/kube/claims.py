"""Persistent volume claims of a pod: which they are, whose they are, what state they are in.

Upstream: component-helpers storage volume and ephemeral, k8s volumebinding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from vcdebug.kube.listers import Manifest
from vcdebug.snapshot.manifest import annotations_of, metadata_of, name_of, owners_of, spec_of

if TYPE_CHECKING:
    from vcdebug.model.pod import Pod

STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"


class ClaimName(NamedTuple):
    """A claim that a pod's volume names, or (ephemeral) that is made for the volume."""

    name: str
    ephemeral: bool


def claim_names(pod: Pod) -> Iterator[ClaimName]:
    """Claims in the order of spec.volumes."""
    for volume in pod.spec.get("volumes") or ():
        source = volume.get("persistentVolumeClaim")
        if source is not None:
            yield ClaimName(source.get("claimName") or "", ephemeral=False)
        elif volume.get("ephemeral") is not None:
            yield ClaimName(f"{pod.name}-{volume.get('name') or ''}", ephemeral=True)


def storage_class_name(claim_or_volume: Manifest) -> str:
    """The storage class: the old annotation, else spec.storageClassName."""
    noted = annotations_of(claim_or_volume)
    if STORAGE_CLASS_ANNOTATION in noted:
        return noted[STORAGE_CLASS_ANNOTATION]
    return spec_of(claim_or_volume).get("storageClassName") or ""


def is_owned_by(claim: Manifest, pod: Pod) -> bool:
    """Whether the pod controls the claim."""
    owners = owners_of(claim)
    return any(owner.get("controller") and owner.get("uid") == pod.uid for owner in owners)


def not_owner_text(claim: Manifest, pod: Pod) -> str:
    """Upstream's refusal of a claim that another object made."""
    namespace = metadata_of(claim).get("namespace") or ""
    return f"PVC {namespace}/{name_of(claim)} was not created for pod {pod.namespace}/{pod.name} (pod is not owner)"


def is_fully_bound(claim: Manifest) -> bool:
    """Whether the claim has a volume and binding is complete."""
    return bool(spec_of(claim).get("volumeName")) and BIND_COMPLETED in annotations_of(claim)


def not_found_text(resource: str, name: str) -> str:
    """A lister's text for a missing object."""
    return f'{resource} "{name}" not found'
