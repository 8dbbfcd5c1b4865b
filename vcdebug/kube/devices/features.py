"""Which rules the allocation of devices goes by.

Upstream: plugins/predicates, k8s dynamic-resource-allocation structured (NewAllocator).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from vcdebug.releases.nodes import DEVICE_FEATURES_1_33
from vcdebug.snapshot.snapshot import Flags

NEWEST: Final = (1, 36)
"""The Kubernetes library whose allocator of capacity goes by names."""
OLDEST: Final = (1, 35)
"""The oldest library whose allocator is replayed."""


class Features(NamedTuple):
    """What the gates switch on."""

    admin: bool
    alternatives: bool
    counters: bool
    taints: bool
    bindings: bool
    capacity: bool
    taint_rules: bool
    by_name: bool
    """Whether pools and slices are gone through by name; any other allocator goes through them in any order."""
    keeps_alternative: bool
    """Whether an alternative for all devices goes on with itself after its first one, and not with the best one."""
    known: bool
    """Whether the allocator that has all of this is replayed."""


def features_of(flags: Flags) -> Features:
    """The one allocator that can do what the gates ask for."""
    gate, library = flags.gate, flags.release.kubernetes
    if flags.release.has(DEVICE_FEATURES_1_33):
        return Features(gate("DRAAdminAccess"), *[False] * (len(Features._fields) - 1))
    bindings = gate("DRADeviceBindingConditions") and gate("DRAResourceClaimDeviceStatus")
    capacity, taints = gate("DRAConsumableCapacity"), gate("DRADeviceTaints")
    newer = bindings or capacity
    return Features(
        admin=gate("DRAAdminAccess"),
        alternatives=gate("DRAPrioritizedList"),
        counters=gate("DRAPartitionableDevices"),
        taints=taints,
        bindings=bindings,
        capacity=capacity,
        taint_rules=taints and (library < NEWEST or gate("DRADeviceTaintRules")),
        by_name=newer and library >= NEWEST,
        keeps_alternative=library >= NEWEST,
        known=library >= NEWEST or (library >= OLDEST and not newer),
    )
