"""Ledgers of devices that several pods share on a node; each ledger is separate from the node's amounts.

Upstream: api/shared_device_pool (Devices).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Protocol, runtime_checkable

from vcdebug.model.pod import Pod
from vcdebug.snapshot.manifest import JsonObject
from vcdebug.snapshot.quantity import NANO_PER_UNIT, nano_value, whole_value


class ReleaseOutcome(Enum):
    """Whether a pod is still charged after a release."""

    FREE = "free"
    KEPT = "kept"
    """The pod stays charged."""
    REFUSED = "refused"
    """The API server refused a write, so that the caller stops."""


class DeviceLedger(Protocol):
    """One kind of device on one node. Upstream keeps it on the NodeInfo (`Others`)."""

    def add_resource(self, pod: Pod) -> None:
        """Charge a placed pod for the devices that its annotations name."""

    def sub_resource(self, pod: Pod) -> None:
        """Remove the charge of a pod that is removed from the node."""

    def has_device_request(self, pod: Pod) -> bool:
        """Whether the pod asks for this device."""

    def filter_node(self, pod: Pod, policy: str) -> str | None:
        """The reason why the pod's request does not fit now, in upstream's words; None if it fits."""

    def score_node(self, pod: Pod, policy: str) -> float:
        """The device's part of the node score, before any weight."""

    def allocate(self, pod: Pod) -> str | None:
        """Charge devices for the pod; returns an error, after which nothing is charged, or None."""

    def release(self, pod: Pod) -> ReleaseOutcome:
        """Undo an allocation of this session."""

    def bind_annotations(self, pod: Pod) -> Mapping[str, str]:
        """Annotations that a bind writes on the pod, limited to those that a ledger reads again."""

    def queue_amounts(self, pod: Pod) -> Mapping[str, float]:
        """Amounts that replace the task's request when the session closes."""

    def clone(self) -> DeviceLedger:
        """An independent copy."""


@runtime_checkable
class BoundCharging(Protocol):
    """A ledger that may charge a pod again when it is bound."""

    def charge_bound(self, pod: Pod, *, has_news: bool) -> None:
        """Count a pod that is now bound; `has_news` if the cache already knows the annotations of its devices."""


def container_limit(container: JsonObject, name: str) -> object | None:
    """A container's limit of a resource."""
    return ((container.get("resources") or {}).get("limits") or {}).get(name)


def whole_limit(container: JsonObject, name: str) -> int:
    """The limit in whole units, rounded up; 0 when it is not there."""
    amount = container_limit(container, name)
    return 0 if amount is None else whole_value(amount)


def exact_integer(quantity: object | None) -> int:
    """Go's AsInt64 of a quantity, cut to an int32; 0 when it is absent or no whole number."""
    # Go's conversion int32(int64) wraps around; Python's int has no width.
    nano = 0 if quantity is None else nano_value(quantity)
    units, fraction = divmod(nano, NANO_PER_UNIT)  # exact: ints
    return 0 if fraction else (units + (1 << 31) & 0xFFFFFFFF) - (1 << 31)
