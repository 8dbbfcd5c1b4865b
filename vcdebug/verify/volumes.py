"""The part of Kubernetes' controllers of volumes that a scheduler waits for before it binds a pod."""

from __future__ import annotations

from typing import Final

from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import annotations_of, name_of, spec_of, status_of
from vcdebug.verify.address import Address
from vcdebug.verify.messages import Body
from vcdebug.verify.store import Store, key_of

VOLUMES, CLAIMS = (KIND_BY_NAME[name].path for name in ("PersistentVolume", "PersistentVolumeClaim"))
CLASSES: Final = KIND_BY_NAME["StorageClass"].path
SELECTED: Final = "volume.kubernetes.io/selected-node"
BOUND: Final = {"phase": "Bound"}
COMPLETED: Final = {"pv.kubernetes.io/bind-completed": "yes"}
NONE: Final = "kubernetes.io/no-provisioner"


def follow_up(store: Store, address: Address, body: Body) -> None:
    """A volume that names its claim is bound to it; a claim for which a node is chosen gets a volume."""
    if address.collection == VOLUMES:
        reference = spec_of(body).get("claimRef") or {}
        claim = store.get(CLAIMS, f"{reference.get('namespace', '')}/{reference.get('name', '')}")
        if claim is not None:
            _bind(store, body, claim)
    elif address.collection == CLAIMS and SELECTED in annotations_of(body):
        _provide(store, body)


def _bind(store: Store, volume: Body, claim: Body) -> None:
    """Each names the other; one that is taken by somebody else is left alone."""
    name = name_of(volume)
    if spec_of(claim).get("volumeName", name) != name or status_of(claim).get("phase") == "Bound":
        return
    annotations = {**annotations_of(claim), **COMPLETED}
    store.put(VOLUMES, {**volume, "status": {**status_of(volume), **BOUND}})
    store.put(
        CLAIMS,
        {
            **claim,
            "metadata": {**claim["metadata"], "annotations": annotations},
            "spec": {**spec_of(claim), "volumeName": name},
            "status": {**status_of(claim), **BOUND},
        },
    )


def _provide(store: Store, claim: Body) -> None:
    """A new volume for a claim, unless its class is of volumes that somebody makes by hand."""
    spec = spec_of(claim)
    storage_class = store.get(CLASSES, str(spec.get("storageClassName") or ""))
    if spec.get("volumeName") or storage_class is None or storage_class.get("provisioner") in (None, "", NONE):
        return
    metadata = claim["metadata"]
    reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "name": metadata["name"]}
    volume = {
        "kind": "PersistentVolume",
        "apiVersion": "v1",
        "metadata": {"name": f"made-{key_of(claim).replace('/', '-')}", "uid": f"made-{metadata.get('uid')}"},
        "spec": {
            "capacity": (spec.get("resources") or {}).get("requests") or {},
            "accessModes": spec.get("accessModes") or [],
            "storageClassName": spec.get("storageClassName"),
            "claimRef": {**reference, "namespace": metadata.get("namespace"), "uid": metadata.get("uid")},
            "csi": {"driver": storage_class["provisioner"], "volumeHandle": str(metadata.get("uid"))},
        },
    }
    _bind(store, volume, claim)
