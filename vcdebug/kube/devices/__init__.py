"""Allocation of devices for resource claims: slices and pools, requests, the search, and the features per release.

Upstream: plugins/predicates, k8s dynamic-resource-allocation structured (NewAllocator).
"""

from typing import Final, NamedTuple

from vcdebug.releases.nodes import DEVICE_FEATURES_1_33
from vcdebug.snapshot.snapshot import SchedulerFlags

NEWEST_LIBRARY: Final = (1, 36)
"""First version of the Kubernetes library whose allocator with capacity tries pools and slices by name."""
WHOLE_POOLS_LIBRARY: Final = (1, 35)
"""First version that counts all slices of a pool, and skips incomplete and invalid pools."""
OLDEST_LIBRARY: Final = (1, 32)
"""Oldest version of the library whose allocator is replayed."""


class AllocatorFeatures(NamedTuple):
    """The features of an allocator, by library version and feature gates."""

    admin: bool
    alternatives: bool
    counters: bool
    taints: bool
    bindings: bool
    capacity: bool
    taint_rules: bool
    by_name: bool
    """Pools and slices are tried in order of name; other allocators iterate over maps."""
    keeps_alternative: bool
    """An alternative for all devices continues with itself after its first device, not with the best alternative."""
    knows_capacity: bool
    """The allocator reads capacity requests and distinct attributes, even if their gate is off."""
    pools_by_node: bool
    """A pool consists of the slices that the node sees; it gives devices while incomplete, and ends the search if
    invalid."""
    distinct_by_address: bool
    """Distinct attributes are compared by address, so that no two values are equal."""
    forgets_admin_devices: bool
    """Admin access is not recorded, so that a request can get one device twice; counters are not read; and a search
    that backtracks from a request for all devices keeps them."""
    stops_at_all: bool
    """A request for all devices accepts none, and ends the search if one is in use. Slices with counters are like
    others. An invalid pool is an error only once a device of it could be taken."""
    keeps_reserved: bool
    """Claims that were reserved keep their devices, on any node, until the pod's PreFilter runs again."""
    is_supported: bool
    """Whether the replay supports an allocator with these features."""


def features_of(flags: SchedulerFlags) -> AllocatorFeatures:
    """The features of the allocator that a scheduler with these flags chooses."""
    # Upstream has several allocators and, per library version, uses the oldest one that supports all enabled gates.
    gate, library = flags.is_gate_on, flags.release.kubernetes_version
    if flags.release.has_older_form(DEVICE_FEATURES_1_33):
        oldest = AllocatorFeatures(gate("DRAAdminAccess"), *[False] * (len(AllocatorFeatures._fields) - 1))
        return oldest._replace(
            pools_by_node=True,
            forgets_admin_devices=True,
            stops_at_all=library <= OLDEST_LIBRARY,
            is_supported=library >= OLDEST_LIBRARY,
        )
    has_status = gate("DRAResourceClaimDeviceStatus")
    bindings = gate("DRADeviceBindingConditions") and has_status
    capacity, taints, counters = gate("DRAConsumableCapacity"), gate("DRADeviceTaints"), gate("DRAPartitionableDevices")
    newer, by_node = bindings or capacity, library < WHOLE_POOLS_LIBRARY
    needs_newer = newer or (by_node and (taints or counters))
    return AllocatorFeatures(
        admin=gate("DRAAdminAccess"),
        alternatives=gate("DRAPrioritizedList"),
        counters=counters,
        taints=taints,
        bindings=bindings,
        capacity=capacity,
        taint_rules=taints and (library < NEWEST_LIBRARY or gate("DRADeviceTaintRules")),
        by_name=newer and library >= NEWEST_LIBRARY,
        keeps_reserved=library >= NEWEST_LIBRARY,
        keeps_alternative=library >= NEWEST_LIBRARY,
        knows_capacity=has_status if by_node else newer and library >= NEWEST_LIBRARY,
        pools_by_node=by_node,
        distinct_by_address=by_node,
        forgets_admin_devices=False,
        stops_at_all=False,
        is_supported=library >= NEWEST_LIBRARY or (library >= OLDEST_LIBRARY and not needs_newer),
    )


class AllocationError(Exception):
    """Raised if a claim or its class is invalid, whatever devices exist; the text is upstream's."""


class NoDevicesError(Exception):
    """Raised if the node lacks devices for the claims; the text is upstream's."""
