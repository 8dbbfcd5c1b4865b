"""Ledgers of devices that several pods share on a node, kept beside the node's amounts.

Upstream: api/shared_device_pool (Devices).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Protocol

from vcdebug.model.pod import Pod
from vcdebug.snapshot.manifest import JsonObject
from vcdebug.snapshot.quantity import nano_value, whole_value

# What a node's ledger of shared devices answers, whatever the device.

NANO_PER_UNIT = 1_000_000_000


class ReleaseOutcome(Enum):
    """What became of a pod's charge."""

    FREE = "free"
    KEPT = "kept"
    """The pod stays charged."""
    REFUSED = "refused"
    """The API server refused a write, so that the caller stops."""


class DeviceLedger(Protocol):
    """One kind of device on one node. Upstream keeps it on the NodeInfo (`Others`)."""

    def add_resource(self, pod: Pod) -> None:
        """A placed pod arrives: charge what its annotations say it holds."""

    def sub_resource(self, pod: Pod) -> None:
        """A placed pod leaves."""

    def has_device_request(self, pod: Pod) -> bool:
        """Whether the pod asks for this device."""

    def filter_node(self, pod: Pod, policy: str) -> str | None:
        """Why the pod's request does not fit now, in upstream's words; None when it fits."""

    def score_node(self, pod: Pod, policy: str) -> float:
        """How good the node is for the pod."""

    def allocate(self, pod: Pod) -> str | None:
        """Charge devices for the pod; an error charges nothing."""

    def release(self, pod: Pod) -> ReleaseOutcome:
        """Take the charge back."""

    def bind_annotations(self, pod: Pod) -> Mapping[str, str]:
        """Annotations by which a bind tells the pod what it was given; only those that a ledger reads."""

    def queue_amounts(self, pod: Pod) -> Mapping[str, float]:
        """Amounts that the close of a session writes over the task's request."""

    def clone(self) -> DeviceLedger:
        """An independent copy."""


def container_limit(container: JsonObject, name: str) -> object | None:
    """A container's limit of a resource."""
    return ((container.get("resources") or {}).get("limits") or {}).get(name)


def whole_limit(container: JsonObject, name: str) -> int:
    """The limit in whole units, rounded up; 0 when it is not there."""
    amount = container_limit(container, name)
    return 0 if amount is None else whole_value(amount)


def exact_integer(quantity: object | None) -> int:
    """Go's AsInt64 of a quantity, cut to an int32; 0 when it is absent or no whole number."""
    nano = 0 if quantity is None else nano_value(quantity)
    units, rest = divmod(nano, NANO_PER_UNIT)  # exact: ints
    return 0 if rest else (units + (1 << 31) & 0xFFFFFFFF) - (1 << 31)
