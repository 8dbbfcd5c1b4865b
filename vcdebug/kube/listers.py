"""Objects that the checks look up, indexed once per session.

Upstream: the informer listers that predicates and nodeorder use.
"""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.kube.selector import Labels, Selector, SelectorError, equality_selector, label_selector
from vcdebug.releases.nodes import VOLUME_ATTACHMENTS_UNREAD
from vcdebug.snapshot.json_values import Json, JsonDict, JsonObject
from vcdebug.snapshot.manifest import key_of, labels_of, metadata_of, name_of, spec_of
from vcdebug.snapshot.snapshot import Snapshot

Manifest = JsonObject
_CONTROLLERS = {"ReplicationController": "v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}


class Listers:
    """Lookups by name over the snapshot's raw objects."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.flags = snapshot.flags
        self._snapshot = snapshot
        self.namespace_labels = {name_of(m): labels_of(m) for m in self._sorted_objects("Namespace")}
        self.claims = {key_of(m): m for m in snapshot.objects_of("PersistentVolumeClaim")}
        self.volumes = {name_of(m): m for m in self._sorted_objects("PersistentVolume")}
        self.storage_classes = {name_of(m): m for m in snapshot.objects_of("StorageClass")}
        self.csi_nodes = {name_of(m): m for m in snapshot.objects_of("CSINode")}
        self.csi_drivers = (
            {name_of(m): m for m in snapshot.objects_of("CSIDriver")} if self.flags.is_csi_storage_on else {}
        )
        self.csi_capacities = self._sorted_objects("CSIStorageCapacity") if self.flags.is_csi_storage_on else []
        attached = not self.flags.release.has_older_form(VOLUME_ATTACHMENTS_UNREAD)
        self.volume_attachments = snapshot.objects_of("VolumeAttachment") if attached else []
        self.resource_claims = {key_of(m): m for m in snapshot.objects_of("ResourceClaim")}
        self.resource_slices = snapshot.objects_of("ResourceSlice")
        self.device_taint_rules = snapshot.objects_of("DeviceTaintRule")
        self.device_classes = {name_of(m): m for m in snapshot.objects_of("DeviceClass")}
        self._services = self._sorted_objects("Service")
        self._controllers = self._index_controllers()
        self.selects_pods = bool(self._services or self._controllers)
        """Whether there is anything that a pod could be selected by without saying so itself."""

    def _sorted_objects(self, kind: str) -> list[JsonDict]:
        return sorted(self._snapshot.objects_of(kind), key=key_of)

    def _index_controllers(self) -> dict[tuple[str, str], Manifest]:
        if not self.flags.is_gate_on("WorkLoadSupport"):
            return {}
        return {(kind, key_of(m)): m for kind in _CONTROLLERS for m in self._snapshot.objects_of(kind)}

    def default_selector(self, namespace: str, pod_labels: Labels, owners: Sequence[Manifest]) -> Selector:
        """What Services and the owning controller select the pod by."""
        pairs: dict[str, str] = {}
        for service in self._services:
            wanted = spec_of(service).get("selector")
            here = (metadata_of(service).get("namespace") or "") == namespace
            if here and wanted is not None and equality_selector(wanted).matches_labels(pod_labels):
                pairs.update(wanted)
        owner = next((o for o in owners if o.get("controller")), None)
        found = self._find_controller(namespace, owner) if owner else None
        if owner is None or found is None:
            return equality_selector(pairs)
        return _merge_selectors(pairs, owner.get("kind") or "", spec_of(found).get("selector"))

    def _find_controller(self, namespace: str, owner: Manifest) -> Manifest | None:
        kind = owner.get("kind") or ""
        if kind not in _CONTROLLERS or owner.get("apiVersion") != _CONTROLLERS[kind]:
            return None
        return self._controllers.get((kind, f"{namespace}/{owner.get('name')}"))


def _merge_selectors(pairs: dict[str, str], kind: str, selector: Json) -> Selector:
    if kind == "ReplicationController":
        return equality_selector({**pairs, **(selector or {})})
    try:
        return equality_selector(pairs).with_requirements(label_selector(selector).requirements)
    except SelectorError:
        return equality_selector(pairs)
