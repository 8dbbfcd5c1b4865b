"""Whether a volume could be provisioned for a claim on a node.

Upstream: k8s plugin volumebinding (checkVolumeProvisions, hasEnoughCapacity).
"""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.kube.listers import Listers, Manifest
from vcdebug.kube.selector import Labels, SelectorError, label_selector
from vcdebug.kube.volume_match import storage_request
from vcdebug.snapshot.manifest import spec_of
from vcdebug.snapshot.quantity import whole_value

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
