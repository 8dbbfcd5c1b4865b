"""The objects that filters and scorers look up, indexed once per session.

Upstream: the informer listers that predicates and nodeorder use; component-helpers storage volume and ephemeral.
"""

from collections.abc import Container, Iterator, Sequence

from msgspec import Struct

from vcdebug.kube.selector import Labels, Selector, SelectorError, equality_selector, label_selector
from vcdebug.model.pod import Pod
from vcdebug.model.pod_claims import ClaimMissingError, ClaimPendingError, DeviceClaims, TaskDemand
from vcdebug.releases.nodes import VOLUME_ATTACHMENTS_UNREAD
from vcdebug.snapshot import manifest
from vcdebug.snapshot.snapshot import Snapshot

Manifest = manifest.JsonObject
_CONTROLLERS = {"ReplicationController": "v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}


class Listers:
    """Lookups by name over the snapshot's raw objects."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.flags = snapshot.flags
        self._snapshot = snapshot
        self.namespace_labels = {manifest.name_of(m): manifest.labels_of(m) for m in self._sorted_objects("Namespace")}
        self.claims = {manifest.key_of(m): m for m in snapshot.objects_of("PersistentVolumeClaim")}
        self.volumes = {manifest.name_of(m): m for m in self._sorted_objects("PersistentVolume")}
        self.storage_classes = {manifest.name_of(m): m for m in snapshot.objects_of("StorageClass")}
        self.csi_nodes = {manifest.name_of(m): m for m in snapshot.objects_of("CSINode")}
        self.csi_drivers = (
            {manifest.name_of(m): m for m in snapshot.objects_of("CSIDriver")} if self.flags.is_csi_storage_on else {}
        )
        self.csi_capacities = self._sorted_objects("CSIStorageCapacity") if self.flags.is_csi_storage_on else []
        attached = not self.flags.release.has_older_form(VOLUME_ATTACHMENTS_UNREAD)
        self.volume_attachments = snapshot.objects_of("VolumeAttachment") if attached else []
        self.resource_claims = {manifest.key_of(m): m for m in snapshot.objects_of("ResourceClaim")}
        self.resource_slices = snapshot.objects_of("ResourceSlice")
        self.device_taint_rules = snapshot.objects_of("DeviceTaintRule")
        self.device_classes = {manifest.name_of(m): m for m in snapshot.objects_of("DeviceClass")}
        self._services = self._sorted_objects("Service")
        self._controllers = self._index_controllers()
        self.selects_pods = bool(self._services or self._controllers)
        """Whether a Service or controller exists, so that default spread constraints can apply."""

    def _sorted_objects(self, kind: str) -> list[manifest.JsonDict]:
        # Upstream's listers iterate over maps; here sorted, so that the first match is always the same.
        return sorted(self._snapshot.objects_of(kind), key=manifest.key_of)

    def _index_controllers(self) -> dict[tuple[str, str], Manifest]:
        if not self.flags.is_gate_on("WorkLoadSupport"):
            return {}
        return {(kind, manifest.key_of(m)): m for kind in _CONTROLLERS for m in self._snapshot.objects_of(kind)}

    def default_selector(self, namespace: str, pod_labels: Labels, owners: Sequence[Manifest]) -> Selector:
        """The selectors of the pod's Services and of its controller, combined."""
        pairs: dict[str, str] = {}
        for service in self._services:
            selector = manifest.spec_of(service).get("selector")
            same_namespace = manifest.namespace_of(service) == namespace
            if same_namespace and selector is not None and equality_selector(selector).matches_labels(pod_labels):
                pairs.update(selector)
        owner = next((o for o in owners if o.get("controller")), None)
        controller = self._find_controller(namespace, owner) if owner else None
        if owner is None or controller is None:
            return equality_selector(pairs)
        return _merge_selectors(pairs, owner.get("kind") or "", manifest.spec_of(controller).get("selector"))

    def _find_controller(self, namespace: str, owner: Manifest) -> Manifest | None:
        kind = owner.get("kind") or ""
        if kind not in _CONTROLLERS or owner.get("apiVersion") != _CONTROLLERS[kind]:
            return None
        return self._controllers.get((kind, f"{namespace}/{owner.get('name')}"))


def _merge_selectors(pairs: dict[str, str], kind: str, selector: manifest.Json) -> Selector:
    if kind == "ReplicationController":
        return equality_selector({**pairs, **(selector or {})})
    try:
        return equality_selector(pairs).with_requirements(label_selector(selector).requirements)
    except SelectorError:
        return equality_selector(pairs)


STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"


class ClaimName(Struct, frozen=True):
    """A claim named by a pod's volume, or created for an ephemeral volume."""

    name: str
    ephemeral: bool


def claim_names(pod: Pod) -> Iterator[ClaimName]:
    """The pod's claims, in the order of spec.volumes."""
    for volume in pod.spec.get("volumes") or ():
        source = volume.get("persistentVolumeClaim")
        if source is not None:
            yield ClaimName(source.get("claimName") or "", ephemeral=False)
        elif volume.get("ephemeral") is not None:
            yield ClaimName(f"{pod.name}-{volume.get('name') or ''}", ephemeral=True)


def read_device_demand(pod: Pod, claims: DeviceClaims, volume_claims: Container[str]) -> TaskDemand | None:
    """The devices that the pod requests through resource claims; None without any, or if one of its claims, of
    volumes (by `namespace/name`) or of devices, does not exist. Upstream: cache/event_handlers.NewTaskInfo.
    """
    if any(f"{pod.namespace}/{claim.name}" not in volume_claims for claim in claim_names(pod)):
        return None
    try:
        return claims.build_task_dra_info(pod)
    except (ClaimPendingError, ClaimMissingError):
        return None


def storage_class_name(claim_or_volume: Manifest) -> str:
    """The storage class: the old annotation, else spec.storageClassName."""
    annotations = manifest.annotations_of(claim_or_volume)
    return annotations.get(STORAGE_CLASS_ANNOTATION, manifest.spec_of(claim_or_volume).get("storageClassName") or "")


def is_owned_by(claim: Manifest, pod: Pod) -> bool:
    """Whether the pod controls the claim."""
    owners = manifest.owners_of(claim)
    return any(owner.get("controller") and owner.get("uid") == pod.uid for owner in owners)


def not_owner_text(claim: Manifest, pod: Pod) -> str:
    """Upstream's message for a claim that another object owns."""
    namespace = manifest.namespace_of(claim)
    name = manifest.name_of(claim)
    return f"PVC {namespace}/{name} was not created for pod {pod.namespace}/{pod.name} (pod is not owner)"


def is_fully_bound(claim: Manifest) -> bool:
    """Whether the claim has a volume and its binding is complete."""
    return bool(manifest.spec_of(claim).get("volumeName")) and manifest.BIND_COMPLETED in manifest.annotations_of(claim)


def not_found_text(resource: str, name: str) -> str:
    """A lister's message for a missing object."""
    return f'{resource} "{name}" not found'
