"""The part of Kubernetes' controllers of volumes that a scheduler waits for before it binds a pod."""

from __future__ import annotations

from typing import Final

from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import annotations_of, name_of, spec_of, status_of
from vcdebug.verify.address import ApiAddress
from vcdebug.verify.messages import Body
from vcdebug.verify.store import ObjectStore, key_of

VOLUMES_PATH, CLAIMS_PATH = (KIND_BY_NAME[name].api_path for name in ("PersistentVolume", "PersistentVolumeClaim"))
CLASSES_PATH: Final = KIND_BY_NAME["StorageClass"].api_path
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BOUND_STATUS: Final = {"phase": "Bound"}
BIND_COMPLETED: Final = {"pv.kubernetes.io/bind-completed": "yes"}
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


def follow_up_write(store: ObjectStore, address: ApiAddress, body: Body) -> None:
    """A volume that names its claim is bound to it; a claim for which a node is chosen gets a volume."""
    if address.collection_path == VOLUMES_PATH:
        reference = spec_of(body).get("claimRef") or {}
        claim = store.get_object(CLAIMS_PATH, f"{reference.get('namespace', '')}/{reference.get('name', '')}")
        if claim is not None:
            _bind_volume(store, body, claim)
    elif address.collection_path == CLAIMS_PATH and SELECTED_NODE in annotations_of(body):
        _provide_volume(store, body)


def _bind_volume(store: ObjectStore, volume: Body, claim: Body) -> None:
    """Each names the other; one that is taken by somebody else is left alone."""
    name = name_of(volume)
    if spec_of(claim).get("volumeName", name) != name or status_of(claim).get("phase") == "Bound":
        return
    annotations = {**annotations_of(claim), **BIND_COMPLETED}
    store.put_object(VOLUMES_PATH, {**volume, "status": {**status_of(volume), **BOUND_STATUS}})
    store.put_object(
        CLAIMS_PATH,
        {
            **claim,
            "metadata": {**claim["metadata"], "annotations": annotations},
            "spec": {**spec_of(claim), "volumeName": name},
            "status": {**status_of(claim), **BOUND_STATUS},
        },
    )


def _provide_volume(store: ObjectStore, claim: Body) -> None:
    """A new volume for a claim, unless its class is of volumes that somebody makes by hand."""
    spec = spec_of(claim)
    storage_class = store.get_object(CLASSES_PATH, str(spec.get("storageClassName") or ""))
    if (
        spec.get("volumeName")
        or storage_class is None
        or storage_class.get("provisioner") in (None, "", NO_PROVISIONER)
    ):
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
    _bind_volume(store, volume, claim)
