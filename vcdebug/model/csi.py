"""CSI volumes of a pod as scalar requests.

Upstream: cache/event_handlers (CSI volume counting).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.releases.nodes import CSI_LIMIT_KEY
from vcdebug.releases.release import Release
from vcdebug.releases.scheduling import PVC_MISSING_DROPS_POD
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.manifest import annotations_of, key_of, name_of, owners_of, spec_of
from vcdebug.snapshot.snapshot import Snapshot

LIMIT_PREFIX = "attachable-volumes-csi-"
MAX_NAME_LENGTH = 63
STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
DRIVER_PARAMETER = "csi.storage.k8s.io/csi-driver-name"


def limit_key_function(release: Release) -> Callable[[str], str]:
    """What the limit of a driver is called."""
    return _hashed_limit_key if release.has_older_form(CSI_LIMIT_KEY) else _limit_key


def _limit_key(driver: str) -> str:
    return LIMIT_PREFIX + driver.replace("/", "-")


def _hashed_limit_key(driver: str) -> str:
    """Upstream: k8s volume util (GetCSIAttachLimitKey)."""
    if len(LIMIT_PREFIX) + len(driver) < MAX_NAME_LENGTH:
        return LIMIT_PREFIX + driver
    from hashlib import sha1

    digest = sha1(driver.encode(), usedforsecurity=False).hexdigest()
    return f"{LIMIT_PREFIX}{driver[:23]}{digest[:16]}"


class VolumeLookupError(Exception):
    """The pod's volumes cannot be read: upstream leaves the pod out altogether."""


class CsiVolumes:
    """Adds `attachable-volumes-csi-<driver>` to the requests of tasks that use CSI-backed claims."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._claims = {key_of(m): m for m in snapshot.objects_of("PersistentVolumeClaim")}
        self._volumes = {name_of(m): m for m in snapshot.objects_of("PersistentVolume")}
        self._classes = {name_of(m): m for m in snapshot.objects_of("StorageClass")}
        self._limit_key = limit_key_function(snapshot.release)
        self._needs_claims = snapshot.release.has_older_form(PVC_MISSING_DROPS_POD)
        self._ignored = snapshot.flags.ignored_provisioners

    def add_volume_counts(self, task: TaskInfo) -> bool:
        """Add the counts to the task's request; a missing claim adds none at all, and is said."""
        counts: dict[str, float] = {}
        for claim in self._claims_of(task):
            if claim is None and self._needs_claims:
                raise VolumeLookupError("a PersistentVolumeClaim does not exist")
            if claim is None:
                return False
            driver = self._find_driver(claim)
            if driver is not None and driver not in self._ignored:
                name = self._limit_key(driver)
                counts[name] = counts.get(name, 0.0) + 1.0
        if counts:
            request = task.resreq.clone().add(Resource(scalars=counts))
            task.resreq = task.init_resreq = request
            task.best_effort = request.is_empty()
        return True

    def _claims_of(self, task: TaskInfo) -> Iterator[JsonObject | None]:
        for volume in task.pod.spec.get("volumes") or ():
            source = volume.get("persistentVolumeClaim")
            if source is not None:
                if not source.get("claimName"):
                    raise VolumeLookupError("a PersistentVolumeClaim has no name")
                yield self._claims.get(f"{task.namespace}/{source['claimName']}")
            elif volume.get("ephemeral") is not None:
                yield self._ephemeral_claim(task, volume)

    def _ephemeral_claim(self, task: TaskInfo, volume: JsonObject) -> JsonObject | None:
        claim = self._claims.get(f"{task.namespace}/{task.name}-{volume.get('name', '')}")
        if claim is None:
            return None
        owners = owners_of(claim)
        if not any(owner.get("controller") and owner.get("uid") == task.uid for owner in owners):
            raise VolumeLookupError(f"PersistentVolumeClaim {claim['metadata']['name']} is not owned by the pod")
        return claim

    def _find_driver(self, claim: JsonObject) -> str | None:
        spec = spec_of(claim)
        volume = self._volumes.get(spec.get("volumeName") or "")
        if volume is not None:
            csi = spec_of(volume).get("csi")
            return csi.get("driver") if csi else None
        annotations = annotations_of(claim)
        name = (
            annotations[STORAGE_CLASS_ANNOTATION]
            if STORAGE_CLASS_ANNOTATION in annotations
            else spec.get("storageClassName")
        )
        storage_class = self._classes.get(name or "")
        if storage_class is None:
            return None
        parameters = storage_class.get("parameters") or {}
        if DRIVER_PARAMETER in parameters:
            return str(parameters[DRIVER_PARAMETER])
        return storage_class.get("provisioner") or None
