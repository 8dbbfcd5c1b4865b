"""Which persistent volume a claim can have on a node.

Upstream: component-helpers storage volume (FindMatchingVolume, CheckNodeAffinity).
Upstream: k8s plugin volumebinding (checkVolumeProvisions, hasEnoughCapacity).
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from vcdebug.kube.listers import Listers, Manifest, storage_class_name
from vcdebug.kube.node_affinity import lenient_terms
from vcdebug.kube.selector import Labels, SelectorError, label_selector
from vcdebug.snapshot.manifest import labels_of, metadata_of, name_of, spec_of, status_of
from vcdebug.snapshot.quantity import whole_value


def storage_request(claim: Manifest) -> int:
    """Bytes that the claim asks for."""
    requests = (spec_of(claim).get("resources") or {}).get("requests") or {}
    return whole_value(requests.get("storage", 0))


def volume_capacity(volume: Manifest) -> int:
    """Bytes that the volume offers."""
    return whole_value((spec_of(volume).get("capacity") or {}).get("storage", 0))


def is_reachable(volume: Manifest, node_labels: Labels) -> bool:
    """Whether the volume's node affinity accepts a node with these labels (its name is not looked at)."""
    required = (spec_of(volume).get("nodeAffinity") or {}).get("required")
    if required is None:
        return True
    return any(term.matches_node(node_labels, "") for term in lenient_terms(required.get("nodeSelectorTerms") or ()))


def is_bound_to(volume: Manifest, claim: Manifest) -> bool:
    """Whether the volume is bound, or reserved by name, to the claim."""
    reference = spec_of(volume).get("claimRef")
    if reference is None:
        return False
    meta = metadata_of(claim)
    if (reference.get("name"), reference.get("namespace")) != (meta.get("name"), meta.get("namespace")):
        return False
    return not reference.get("uid") or reference["uid"] == meta.get("uid")


def find_matching_volume(
    claim: Manifest, volumes: Sequence[Manifest], node_labels: Labels, chosen: Container[str]
) -> Manifest | None:
    """The volume reserved for the claim, else the smallest available one that suits it."""
    best: Manifest | None = None
    for volume in volumes:
        if name_of(volume) in chosen or not _is_comparable(claim, volume):
            continue
        if is_bound_to(volume, claim):
            return volume if is_reachable(volume, node_labels) else None
        if _is_available(claim, volume, node_labels) and (
            best is None or volume_capacity(volume) < volume_capacity(best)
        ):
            best = volume
    return best


def _is_comparable(claim: Manifest, volume: Manifest) -> bool:
    if spec_of(volume).get("claimRef") is not None and not is_bound_to(volume, claim):
        return False
    if volume_capacity(volume) < storage_request(claim) or metadata_of(volume).get("deletionTimestamp"):
        return False
    modes = [spec_of(m).get("volumeMode") or "Filesystem" for m in (claim, volume)]
    attributes = [spec_of(m).get("volumeAttributesClassName") or "" for m in (claim, volume)]
    return modes[0] == modes[1] and attributes[0] == attributes[1]


def _is_available(claim: Manifest, volume: Manifest, node_labels: Labels) -> bool:
    if status_of(volume).get("phase") != "Available" or not _is_selected(claim, volume):
        return False
    if storage_class_name(volume) != storage_class_name(claim) or not is_reachable(volume, node_labels):
        return False
    offered = spec_of(volume).get("accessModes") or ()
    return all(mode in offered for mode in spec_of(claim).get("accessModes") or ())


def _is_selected(claim: Manifest, volume: Manifest) -> bool:
    raw = spec_of(claim).get("selector")
    if raw is None:
        return True
    try:
        return label_selector(raw).matches_labels(labels_of(volume))
    except SelectorError:
        return False


# Whether a volume could be provisioned for a claim on a node.

NO_PROVISIONER = "kubernetes.io/no-provisioner"


class VolumeProvisioning:
    """Storage classes, allowed topologies and published capacities."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers

    def is_allowed(self, class_name: str, node_labels: Labels) -> bool:
        """Whether the class provisions at all, and for nodes with these labels."""
        storage_class = self._listers.storage_classes[class_name]
        if (storage_class.get("provisioner") or "") in ("", NO_PROVISIONER):
            return False
        return _topology_matches(storage_class.get("allowedTopologies") or (), node_labels)

    def has_enough_capacity(self, class_name: str, claim: Manifest, node_labels: Labels) -> bool:
        """Whether the driver publishes capacity for the node, where it publishes any."""
        provisioner = self._listers.storage_classes[class_name].get("provisioner") or ""
        driver = self._listers.csi_drivers.get(provisioner)
        if driver is None or not spec_of(driver).get("storageCapacity"):
            return True
        return any(
            entry.get("storageClassName") == class_name
            and _largest_volume_size(entry) >= storage_request(claim)
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
