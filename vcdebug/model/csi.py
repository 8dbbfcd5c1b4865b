"""CSI volumes of a pod as scalar requests.

Upstream: cache/event_handlers (CSI volume counting).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.snapshot import Snapshot

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
DRIVER_PARAMETER = "csi.storage.k8s.io/csi-driver-name"


class VolumeLookupError(Exception):
    """The pod's volumes cannot be read: upstream leaves the pod out altogether."""


class CsiVolumes:
    """Adds `attachable-volumes-csi-<driver>` to the requests of tasks that use CSI-backed claims."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._claims = {_key(m): m for m in snapshot.of("PersistentVolumeClaim")}
        self._volumes = {m["metadata"]["name"]: m for m in snapshot.of("PersistentVolume")}
        self._classes = {m["metadata"]["name"]: m for m in snapshot.of("StorageClass")}
        self._ignored = snapshot.flags.ignored_provisioners

    def charge(self, task: TaskInfo) -> None:
        """Add the counts to the task's request; a missing claim adds none at all."""
        if not task.pod.spec.get("volumes"):
            return
        counts: dict[str, float] = {}
        for claim in self._claims_of(task):
            if claim is None:
                return
            driver = self._driver(claim)
            if driver is not None and driver not in self._ignored:
                name = "attachable-volumes-csi-" + driver.replace("/", "-")
                counts[name] = counts.get(name, 0.0) + 1.0
        if counts:
            request = task.resreq.clone().add(Resource(scalars=counts))
            task.resreq = task.init_resreq = request
            task.best_effort = request.is_empty()

    def _claims_of(self, task: TaskInfo) -> Iterator[Mapping[str, Any] | None]:
        for volume in task.pod.spec.get("volumes") or ():
            source = volume.get("persistentVolumeClaim")
            if source is not None:
                if not source.get("claimName"):
                    raise VolumeLookupError(f"{task.key}: PersistentVolumeClaim had no name")
                yield self._claims.get(f"{task.namespace}/{source['claimName']}")
            elif volume.get("ephemeral") is not None:
                yield self._ephemeral(task, volume)

    def _ephemeral(self, task: TaskInfo, volume: Mapping[str, Any]) -> Mapping[str, Any] | None:
        claim = self._claims.get(f"{task.namespace}/{task.name}-{volume.get('name', '')}")
        if claim is None:
            return None
        owners = claim["metadata"].get("ownerReferences") or ()
        if not any(owner.get("controller") and owner.get("uid") == task.uid for owner in owners):
            raise VolumeLookupError(f"{task.key}: claim {claim['metadata']['name']} is not owned by the pod")
        return claim

    def _driver(self, claim: Mapping[str, Any]) -> str | None:
        spec = claim.get("spec") or {}
        volume = self._volumes.get(spec.get("volumeName") or "")
        if volume is not None:
            csi = (volume.get("spec") or {}).get("csi")
            return csi.get("driver") if csi else None
        annotations = claim["metadata"].get("annotations") or {}
        name = annotations[CLASS_ANNOTATION] if CLASS_ANNOTATION in annotations else spec.get("storageClassName")
        storage_class = self._classes.get(name or "")
        if storage_class is None:
            return None
        parameters = storage_class.get("parameters") or {}
        if DRIVER_PARAMETER in parameters:
            return str(parameters[DRIVER_PARAMETER])
        return storage_class.get("provisioner") or None


def _key(manifest: Mapping[str, Any]) -> str:
    metadata = manifest["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"
