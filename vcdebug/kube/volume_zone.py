"""VolumeZone: requires a node in a zone of each bound volume with zone labels; and where volumes can be provisioned.

Upstream: k8s plugin volumezone.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from vcdebug.kube.listers import WAIT_FOR_FIRST_CONSUMER, Listers, Manifest, not_found_text, storage_class_name
from vcdebug.kube.node_labels import NodeLabels
from vcdebug.kube.selector import Labels, SelectorError, label_selector
from vcdebug.model.names import BoolArray, IntArray
from vcdebug.model.pod import Pod
from vcdebug.snapshot.manifest import labels_of, spec_of
from vcdebug.snapshot.quantity import whole_value

ZONE_CONFLICT = "node(s) had no available volume zone"
_GA_NAME = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}


class VolumeZoneError(Exception):
    """Raised if the pod's claims cannot be resolved; the text is upstream's."""


class ZoneLimit(Struct, frozen=True):
    """A volume's zones or regions under one label key."""

    key: str
    values: tuple[str, ...]


def zone_limits(pod: Pod, listers: Listers) -> tuple[ZoneLimit, ...]:
    """The limits of the pod's bound volumes; raises VolumeZoneError."""
    limits: list[ZoneLimit] = []
    for volume in pod.spec.get("volumes") or ():
        source = volume.get("persistentVolumeClaim")
        if source is not None:
            bound_volume = _bound_volume(pod.namespace, source.get("claimName") or "", listers)
            limits.extend(_limits_of(bound_volume) if bound_volume is not None else ())
    return tuple(limits)


def _bound_volume(namespace: str, claim_name: str, listers: Listers) -> Manifest | None:
    if not claim_name:
        raise VolumeZoneError("PersistentVolumeClaim had no name")
    claim = listers.claims.get(f"{namespace}/{claim_name}")
    if claim is None:
        raise VolumeZoneError(not_found_text("persistentvolumeclaim", claim_name))
    volume_name = spec_of(claim).get("volumeName") or ""
    if not volume_name:
        _check_unbound(claim, listers)
        return None
    volume = listers.volumes.get(volume_name)
    if volume is None:
        raise VolumeZoneError(not_found_text("persistentvolume", volume_name))
    return volume


def _check_unbound(claim: Manifest, listers: Listers) -> None:
    name = storage_class_name(claim)
    if not name:
        raise VolumeZoneError("PersistentVolumeClaim had no pv name and storageClass name")
    storage_class = listers.storage_classes.get(name)
    if storage_class is None:
        raise VolumeZoneError(not_found_text("storageclass.storage.k8s.io", name))
    mode = storage_class.get("volumeBindingMode")
    if mode is None:
        raise VolumeZoneError(f'VolumeBindingMode not set for StorageClass "{name}"')
    if mode != WAIT_FOR_FIRST_CONSUMER:
        raise VolumeZoneError("PersistentVolume had no name")


def _limits_of(volume: Manifest) -> Iterator[ZoneLimit]:
    for key in _GA_NAME:
        text = labels_of(volume).get(key)
        if text is not None:
            values = tuple(zone.strip() for zone in text.split("__"))
            if all(values):
                yield ZoneLimit(key, values)


def rows_outside_zone(limits: tuple[ZoneLimit, ...], node_labels: NodeLabels, rows: IntArray) -> BoolArray:
    """Mask of rows outside the zones of some volume; nodes without any zone or region label pass."""
    # A node without any of the labels passes: upstream finds no zone constraint on it.
    constrained: BoolArray = np.zeros(len(rows), dtype=np.bool_)
    for key in _GA_NAME:
        constrained |= node_labels.label_column(key).rows_present[rows]
    failing: BoolArray = np.zeros(len(rows), dtype=np.bool_)
    for limit in limits:
        failing |= ~_rows_inside(limit, node_labels, rows)
    return constrained & failing


def zone_of(labels: Mapping[str, str], limit: ZoneLimit) -> str | None:
    """The node's zone or region for a limit, from the beta label or the current one; None without either."""
    return labels.get(limit.key, labels.get(_GA_NAME[limit.key]))


def _rows_inside(limit: ZoneLimit, node_labels: NodeLabels, rows: IntArray) -> BoolArray:
    column, ga = node_labels.label_column(limit.key), node_labels.label_column(_GA_NAME[limit.key])
    hits = np.array([*(value in limit.values for value in column.values), False], dtype=np.bool_)[column.ids[rows]]
    ga_hits = np.array([*(value in limit.values for value in ga.values), False], dtype=np.bool_)[ga.ids[rows]]
    inside: BoolArray = np.where(column.rows_present[rows], hits, ga_hits)
    return inside


# Dynamic provisioning of volumes.

NO_PROVISIONER = "kubernetes.io/no-provisioner"


class VolumeProvisioning:
    """Decides where volumes can be provisioned: storage classes, allowed topologies, published capacities."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers

    def is_allowed(self, class_name: str, node_labels: Labels) -> bool:
        """Whether the class provisions volumes, and does so for nodes with these labels."""
        storage_class = self._listers.storage_classes[class_name]
        if (storage_class.get("provisioner") or "") in ("", NO_PROVISIONER):
            return False
        return _topology_matches(storage_class.get("allowedTopologies") or (), node_labels)

    def has_enough_capacity(self, class_name: str, size: int, node_labels: Labels) -> bool:
        """Whether the driver publishes enough capacity for the node; True if it does not publish capacities."""
        provisioner = self._listers.storage_classes[class_name].get("provisioner") or ""
        driver = self._listers.csi_drivers.get(provisioner)
        if driver is None or not spec_of(driver).get("storageCapacity"):
            return True
        return any(
            entry.get("storageClassName") == class_name
            and _largest_volume_size(entry) >= size
            and _is_published_for(entry, node_labels)
            for entry in self._listers.csi_capacities
        )


def _topology_matches(terms: Sequence[Manifest], node_labels: Labels) -> bool:
    if not terms:
        return True
    for term in terms:
        expressions = term.get("matchLabelExpressions") or ()
        if expressions and all(node_labels.get(e.get("key")) in (e.get("values") or ()) for e in expressions):
            return True
    return False


def _largest_volume_size(entry: Manifest) -> int:
    size = entry.get("maximumVolumeSize")
    if size is None:
        size = entry.get("capacity")
    return -1 if size is None else whole_value(size)


def _is_published_for(entry: Manifest, node_labels: Labels) -> bool:
    try:
        return label_selector(entry.get("nodeTopology")).matches_labels(node_labels)
    except SelectorError:
        return False
