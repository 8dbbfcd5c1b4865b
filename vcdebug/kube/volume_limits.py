"""NodeVolumeLimits: volumes of a CSI driver per node. Upstream: k8s plugin nodevolumelimits (CSILimits)."""

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from vcdebug.kube.listers import (
    ClaimName,
    Listers,
    Manifest,
    claim_names,
    is_owned_by,
    not_found_text,
    not_owner_text,
    storage_class_name,
)
from vcdebug.model.fit_errors import ERROR, UNSCHEDULABLE, UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus
from vcdebug.model.pod import Pod
from vcdebug.releases.nodes import PORTWORX_MIGRATION_ANNOTATION
from vcdebug.snapshot.manifest import JsonDict, annotations_of, spec_of

EXCEEDED_STATUS = FitStatus(UNSCHEDULABLE, "node(s) exceed max volume count")
PORTWORX, PORTWORX_PLUGIN = "portworxVolume", "kubernetes.io/portworx-volume"
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
_MIGRATED_SOURCES = {
    "awsElasticBlockStore": ("ebs.csi.aws.com", "volumeID"),
    "gcePersistentDisk": ("pd.csi.storage.gke.io", "pdName"),
    "azureDisk": ("disk.csi.azure.com", "diskURI"),
    "cinder": ("cinder.csi.openstack.org", "volumeID"),
    PORTWORX: ("pxd.portworx.com", "volumeID"),
}
"""In-tree volume sources that Kubernetes translates to CSI: driver, and the field that names the volume."""

VolumeDrivers = dict[str, str]
"""`driver/handle` of a volume → its driver."""


class DriverCount(Struct, frozen=True):
    """The numbers of volumes of one driver on a node."""

    driver: str
    attached: int
    new: int
    limit: int

    @property
    def exceeds_limit(self) -> bool:
        """Whether the new volumes exceed the limit."""
        return self.attached + self.new > self.limit


class _LookupFailed(Exception):
    def __init__(self, status: FitStatus) -> None:
        super().__init__(status.reason)
        self.status = status


def has_limited_volumes(pod: Pod) -> bool:
    """Whether the pod has volumes that may count: claims, ephemeral volumes, translatable inline volumes."""
    volumes = pod.spec.get("volumes") or ()
    return bool(volumes) and any(
        volume.get("persistentVolumeClaim") is not None
        or volume.get("ephemeral") is not None
        or any(source in volume for source in _MIGRATED_SOURCES)
        for volume in volumes
    )


class VolumeLimits:
    """The filter for one node at a time."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        flags = listers.flags
        self._asks_node = flags.release.has_older_form(PORTWORX_MIGRATION_ANNOTATION)
        self._portworx_on = flags.is_gate_on("CSIMigrationPortworx")

    def check_limits(self, pod: Pod, node: str, placed: Iterable[Pod]) -> FitStatus | None:
        """The status that rejects the pod; None if the node can attach its new volumes beside those of placed pods."""
        try:
            counted = self.count_volumes(pod, node, placed)
        except _LookupFailed as failure:
            return failure.status
        return EXCEEDED_STATUS if any(count.exceeds_limit for count in counted) else None

    def driver_counts(
        self, pod: Pod, node: str, placed: Iterable[Pod]
    ) -> tuple[tuple[DriverCount, ...], FitStatus | None]:
        """(counts of each driver on the node, the status that rejects the pod or None)."""
        try:
            counted = self.count_volumes(pod, node, placed)
        except _LookupFailed as failure:
            return (), failure.status
        return counted, EXCEEDED_STATUS if any(count.exceeds_limit for count in counted) else None

    def count_volumes(self, pod: Pod, node: str, placed: Iterable[Pod]) -> tuple[DriverCount, ...]:
        """Numbers of new and attached volumes of each driver with a limit; an attached volume is never new."""
        csi_node = self._listers.csi_nodes.get(node)
        new = self._pod_volumes(pod, csi_node, strict=True)
        drivers: list[JsonDict] = spec_of(csi_node or {}).get("drivers") or []
        counts = {driver.get("name") or "": (driver.get("allocatable") or {}).get("count") for driver in drivers}
        limits = {name: count for name, count in counts.items() if count is not None}
        if not new or not limits:
            return ()
        attached: VolumeDrivers = {}
        # Errors of placed pods are ignored: only the incoming pod's volumes must be found.
        for other in placed:
            attached.update(self._pod_volumes(other, csi_node, strict=False))
        return _make_counts(new, self._with_attachments(attached, node), attached, limits)

    def _pod_volumes(self, pod: Pod, csi_node: Manifest | None, *, strict: bool) -> VolumeDrivers:
        volumes: VolumeDrivers = {}
        for claim_name in claim_names(pod):
            handle = self._claimed_volume(pod, claim_name, csi_node, strict=strict)
            if handle is not None:
                volumes[f"{handle[0]}/{handle[1]}"] = handle[0]
        for volume in pod.spec.get("volumes") or ():
            translated = self._translate_in_tree(volume, csi_node)
            if translated is not None:
                volumes[f"{translated[0]}/{translated[1]}"] = translated[0]
        return volumes

    def _claimed_volume(
        self, pod: Pod, claim_name: ClaimName, csi_node: Manifest | None, *, strict: bool
    ) -> tuple[str, str] | None:
        claim = self._listers.claims.get(f"{pod.namespace}/{claim_name.name}")
        if claim is None:
            if strict:
                text = not_found_text("persistentvolumeclaim", claim_name.name)
                reason = f"looking up PVC {pod.namespace}/{claim_name.name}: {text}"
                raise _LookupFailed(FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, reason))
            return None
        if strict and claim_name.ephemeral and not is_owned_by(claim, pod):
            raise _LookupFailed(FitStatus(ERROR, not_owner_text(claim, pod)))
        volume = self._listers.volumes.get(spec_of(claim).get("volumeName") or "")
        if volume is None:
            storage_class = self._listers.storage_classes.get(storage_class_name(claim)) or {}
            provisioner = storage_class.get("provisioner") or ""
            # An unbound claim will become one volume of its class's driver; upstream counts it by a made-up handle.
            return (provisioner, f"unbound {pod.namespace}/{claim_name.name}") if provisioner else None
        csi = spec_of(volume).get("csi")
        if csi is not None:
            return csi.get("driver") or "", csi.get("volumeHandle") or ""
        return self._translate_in_tree(spec_of(volume), csi_node)

    def _translate_in_tree(self, volume: Manifest, csi_node: Manifest | None) -> tuple[str, str] | None:
        """Driver and handle of an in-tree volume that counts as CSI on this node; None for any other volume."""
        source = next((source for source in _MIGRATED_SOURCES if volume.get(source) is not None), None)
        if source is None or csi_node is None or (source == PORTWORX and not self._migrates_portworx(csi_node)):
            return None
        driver, field = _MIGRATED_SOURCES[source]
        return driver, str(volume[source].get(field) or "")

    def _migrates_portworx(self, csi_node: Manifest) -> bool:
        """Whether Portworx volumes count as CSI volumes: always, or in older releases by gate and node."""
        if not self._asks_node:
            return True
        notes = annotations_of(csi_node)
        return self._portworx_on and PORTWORX_PLUGIN in (notes.get(MIGRATED_PLUGINS) or "").split(",")

    def _with_attachments(self, attached: VolumeDrivers, node: str) -> VolumeDrivers:
        all_volumes = dict(attached)
        for attachment in self._listers.volume_attachments:
            source = (spec_of(attachment).get("source") or {}).get("persistentVolumeName") or ""
            volume = self._listers.volumes.get(source)
            csi = spec_of(volume).get("csi") if volume is not None else None
            if spec_of(attachment).get("nodeName") == node and csi is not None:
                driver = spec_of(attachment).get("attacher") or ""
                # An attachment of a volume that a pod uses already must not count twice: same key.
                all_volumes.setdefault(f"{driver}/{csi.get('volumeHandle') or ''}", driver)
        return all_volumes


def _make_counts(
    new: VolumeDrivers, all_volumes: VolumeDrivers, attached: VolumeDrivers, limits: dict[str, int]
) -> tuple[DriverCount, ...]:
    in_use = Counter(all_volumes.values())
    added = Counter(driver for key, driver in new.items() if key not in attached)
    return tuple(
        DriverCount(driver, in_use.get(driver, 0), count, limits[driver])
        for driver, count in added.items()
        if driver in limits
    )
