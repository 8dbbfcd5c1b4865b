"""Devices that resource claims are about: where they are, which of them a claim may have, and which it takes.

Upstream: plugins/predicates, k8s dynamic-resource-allocation structured (NewAllocator).
Upstream: k8s dynamic-resource-allocation structured.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from vcdebug.releases.nodes import DEVICE_FEATURES_1_33
from vcdebug.snapshot.snapshot import SchedulerFlags

# Which rules the allocation of devices goes by.

NEWEST_LIBRARY: Final = (1, 36)
"""The Kubernetes library whose allocator of capacity goes by names."""
WHOLE_POOLS_LIBRARY: Final = (1, 35)
"""The first library that counts all slices of a pool, and passes over pools that are incomplete or invalid."""
OLDEST_LIBRARY: Final = (1, 32)
"""The oldest library whose allocator is replayed."""


class AllocatorFeatures(NamedTuple):
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
    knows_capacity: bool
    """Whether the allocator is the one that reads capacity requests and distinct attributes, on or off."""
    pools_by_node: bool
    """Whether a pool is counted by the slices that the node sees, gives devices while it is incomplete, and ends the
    search where it is invalid."""
    distinct_by_address: bool
    """Whether no two values of an attribute that has to be distinct are the same."""
    forgetful: bool
    """Whether the allocator does not note what administrators look at, which they may have twice, does not read
    counters, and does not give all devices back where it has to look further."""
    stops_at_all: bool
    """Whether a request for all devices is content with none and ends the search where one is in use, slices with
    counters are like others, and an invalid pool is an error only once a device of it could be taken."""
    known: bool
    """Whether the allocator that has all of this is replayed."""


def features_of(flags: SchedulerFlags) -> AllocatorFeatures:
    """The one allocator that can do what the gates ask for."""
    gate, library = flags.is_gate_on, flags.release.kubernetes_version
    if flags.release.has_older_form(DEVICE_FEATURES_1_33):
        nothing = AllocatorFeatures(gate("DRAAdminAccess"), *[False] * (len(AllocatorFeatures._fields) - 1))
        return nothing._replace(
            pools_by_node=True, forgetful=True, stops_at_all=library <= OLDEST_LIBRARY, known=library >= OLDEST_LIBRARY
        )
    has_status = gate("DRAResourceClaimDeviceStatus")
    bindings = gate("DRADeviceBindingConditions") and has_status
    capacity, taints, counters = gate("DRAConsumableCapacity"), gate("DRADeviceTaints"), gate("DRAPartitionableDevices")
    newer, by_node = bindings or capacity, library < WHOLE_POOLS_LIBRARY
    begun = newer or (by_node and (taints or counters))
    return AllocatorFeatures(
        admin=gate("DRAAdminAccess"),
        alternatives=gate("DRAPrioritizedList"),
        counters=counters,
        taints=taints,
        bindings=bindings,
        capacity=capacity,
        taint_rules=taints and (library < NEWEST_LIBRARY or gate("DRADeviceTaintRules")),
        by_name=newer and library >= NEWEST_LIBRARY,
        keeps_alternative=library >= NEWEST_LIBRARY,
        knows_capacity=has_status if by_node else newer and library >= NEWEST_LIBRARY,
        pools_by_node=by_node,
        distinct_by_address=by_node,
        forgetful=False,
        stops_at_all=False,
        known=library >= NEWEST_LIBRARY or (library >= OLDEST_LIBRARY and not begun),
    )


# How an allocation of devices fails.


class AllocationError(Exception):
    """Something is wrong with the claim or the class, whatever devices there are; the text is upstream's."""


class NoDevicesError(Exception):
    """The node has not what the claims ask for; the text is upstream's."""
