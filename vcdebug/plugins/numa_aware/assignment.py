"""CPU assignment, container by container: suitable NUMA nodes, the node's policy, and the CPUs taken.

Upstream: plugins/numaaware/policy, plugins/numaaware/provider/cpumanager (cpu_mng, cpu_assignment).
Differs: sockets come in ascending order where upstream reads a map.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from vcdebug.errors import NIL_POINTER_TEXT, ProcessExit, blame_objects
from vcdebug.framework.go_sort import sort_slice
from vcdebug.gomath import int_div
from vcdebug.model.numa import CPU, BitSet, CpuTopology, NumaInfo, bit_set, set_members
from vcdebug.snapshot.manifest import JsonObject
from vcdebug.snapshot.quantity import milli_value, whole_value

NO_POLICY = "none"
BEST_EFFORT = "best-effort"
RESTRICTED = "restricted"
SINGLE_NUMA_NODE = "single-numa-node"
MASK_BITS = 64
MANAGED_POLICIES = (BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)


class TopologyHint(NamedTuple):
    """NUMA nodes that could provide a container's CPUs; None means any."""

    nodes: BitSet | None
    preferred: bool


class ContainerCpus(NamedTuple):
    """The CPUs of one container."""

    name: str
    cpu_count: int
    """The number of whole CPUs that it requests."""
    cpus: BitSet | None
    """The assigned CPUs; None if the node's policy rejects the container."""
    hints: tuple[TopologyHint, ...] | None
    """The NUMA nodes that could provide the CPUs; None if the container requests no whole CPUs."""


class Assignment(NamedTuple):
    """The CPUs assigned to a pod, or the name of the first container that is rejected."""

    cpus: BitSet
    refused: str | None


def cpu_request(container: JsonObject) -> int:
    """The number of whole CPUs that the container requests; 0 for none or a fraction.
    Upstream: plugins/numaaware/provider/cpumanager/cpu_mng.guaranteedCPUs.
    """
    requests = (container.get("resources") or {}).get("requests") or {}
    if CPU not in requests:
        return 0
    cpus = whole_value(requests[CPU])
    return cpus if cpus * 1000 == milli_value(requests[CPU]) else 0


def assign_containers(info: NumaInfo, free: BitSet | None, containers: Sequence[JsonObject]) -> Assignment:
    """Assign CPUs to the containers, one after the other. `free` is None if the node reports no CPUs.
    Upstream: plugins/numaaware/policy/factory.AccumulateProvidersHints, plugins/numaaware/policy/factory.Allocate.
    """
    cpus = 0
    for container in iter_container_cpus(info, free, containers):
        if container.cpus is None:
            return Assignment(0, container.name)
        cpus |= container.cpus
    return Assignment(cpus, None)


def reserved_cpus(info: NumaInfo) -> BitSet:
    """CPUs of the node that are reserved for the system."""
    return take_by_topology(info.topology, info.topology.cpus, info.reserved_cpus) or 0


def iter_container_cpus(
    info: NumaInfo, free: BitSet | None, containers: Sequence[JsonObject]
) -> Iterator[ContainerCpus]:
    """Yield the CPUs of each container, up to the first that is rejected."""
    reserved = reserved_cpus(info)
    for container in containers:
        name, need = container.get("name") or "", cpu_request(container)
        hints = None if need == 0 or free is None else _generate_hints(info, free & ~reserved, need)
        listed_hints = None if hints is None else tuple(hints)
        best, admitted = _filter_hints(info, hints)
        if not admitted:
            yield ContainerCpus(name, need, None, listed_hints)
            return
        free = free or 0
        cpus = _allocate_cpus(info.topology, free & ~reserved, best, need)
        free &= ~cpus
        yield ContainerCpus(name, need, cpus, listed_hints)


def _node_sets(topology: CpuTopology) -> Iterator[tuple[int, BitSet]]:
    """Yield (size, set) of every subset of NUMA nodes, by size. Upstream: plugins/numaaware/policy.iterate."""
    nodes = topology.numa_nodes
    for size in range(1, len(nodes) + 1):
        for subset in combinations(nodes, size):
            yield size, bit_set(subset)


def _numa_mask(info: NumaInfo) -> BitSet:
    """The set of NUMA nodes; upstream's mask has 64 bits, and a number outside of it ends the process."""
    numbers = info.topology.numa_nodes
    if numbers and not 0 <= numbers[0] <= numbers[-1] < MASK_BITS:
        change = f"number the NUMA nodes of {info.name} from 0 to {MASK_BITS - 1}"
        raise blame_objects(ProcessExit(NIL_POINTER_TEXT), (("Numatopology", info.name),), change)
    return bit_set(numbers)


def _generate_hints(info: NumaInfo, available: BitSet, need: int) -> list[TopologyHint]:
    """The sets of NUMA nodes with enough free CPUs; those of the smallest size that could ever suffice are preferred.
    Upstream: plugins/numaaware/provider/cpumanager/cpu_mng.generateCPUTopologyHints.
    """
    topology, smallest = info.topology, _numa_mask(info).bit_count()
    node_sets: list[tuple[int, BitSet]] = []
    for size, nodes in _node_sets(topology):
        cpus = _cpus_on(topology, nodes)
        if cpus.bit_count() >= need:
            smallest = min(smallest, size)
        if (cpus & available).bit_count() >= need:
            node_sets.append((size, nodes))
    return [TopologyHint(nodes, size == smallest) for size, nodes in node_sets]


def _cpus_on(topology: CpuTopology, nodes: BitSet) -> BitSet:
    cpus = 0
    for numa in set_members(nodes):
        cpus |= topology.in_numa.get(numa, 0)
    return cpus


def _filter_hints(info: NumaInfo, hints: list[TopologyHint] | None) -> tuple[BitSet | None, bool]:
    """(NUMA nodes to align with, None for any; whether the node's policy admits the container).
    Upstream: plugins/numaaware/policy.filterProvidersHints.
    """
    policy = info.topology_policy
    if policy not in MANAGED_POLICIES:
        return None, True
    if hints is None:
        hints = [TopologyHint(None, True)]
    elif not hints:
        hints = [TopologyHint(None, False)]
    if policy == SINGLE_NUMA_NODE:
        hints = [hint for hint in hints if hint.preferred and (hint.nodes is None or hint.nodes.bit_count() == 1)]
    best = _merge_hints(_numa_mask(info), hints)
    return best.nodes, policy == BEST_EFFORT or best.preferred


def _merge_hints(every: BitSet, hints: list[TopologyHint]) -> TopologyHint:
    """Upstream: plugins/numaaware/policy.mergeFilteredHints, plugins/numaaware/policy.mergePermutation."""
    best = TopologyHint(every, False)
    narrowness = _hint_narrowness(every)
    for hint in hints:
        nodes = every if hint.nodes is None else hint.nodes & every
        if not nodes or (best.preferred and not hint.preferred):
            continue
        if hint.preferred != best.preferred or _hint_narrowness(nodes) < narrowness:
            best, narrowness = TopologyHint(nodes, hint.preferred), _hint_narrowness(nodes)
    return best


def _hint_narrowness(nodes: BitSet) -> tuple[int, int]:
    return nodes.bit_count(), nodes


def _allocate_cpus(topology: CpuTopology, available: BitSet, nodes: BitSet | None, need: int) -> BitSet:
    """CPUs on the chosen NUMA nodes first, then on others; empty if either step fails.
    Upstream: plugins/numaaware/provider/cpumanager/cpu_mng.Allocate.
    """
    aligned = 0
    if nodes is not None:
        candidates = available & _cpus_on(topology, nodes)
        preferred = take_by_topology(topology, candidates, min(need, candidates.bit_count()))
        if preferred is None:
            return 0
        aligned = preferred
    remainder = take_by_topology(topology, available & ~aligned, need - aligned.bit_count())
    return 0 if remainder is None else aligned | remainder


def normalize_spans(raw: Sequence[int], highest: int) -> list[int]:
    """Scores from counts of NUMA nodes: 0 for the largest count, `highest` for a count of 0."""
    largest = max(raw, default=0)
    if largest <= 0:
        return [highest] * len(raw)
    return [highest - int_div(highest * count, largest) for count in raw]


# The CPUs that a container takes from a set: whole sockets first, then whole cores, then single CPUs.


def take_by_topology(topology: CpuTopology, cpus: BitSet, count: int) -> BitSet | None:
    """`count` CPUs of the set, None if there are not enough; CPUs outside the topology are ignored.
    Upstream: plugins/numaaware/provider/cpumanager/cpu_assignment.takeByTopology.
    """
    if count < 1:
        return 0
    work = _Accumulator(topology, cpus & topology.cpus, count)
    if count > work.free.bit_count():
        return None
    work.take_sockets()
    work.take_cores()
    work.take_single()
    return work.result


class _Accumulator:
    """Moves CPUs from `free` to `result` until `needed` is below 1."""

    __slots__ = ("_topology", "free", "needed", "result")

    def __init__(self, topology: CpuTopology, cpus: BitSet, count: int) -> None:
        self._topology = topology
        self.free = cpus
        self.result = 0
        self.needed = count

    def _take_cpus(self, cpus: BitSet) -> None:
        """Upstream: plugins/numaaware/provider/cpumanager/cpu_assignment.take."""
        self.result |= cpus
        self.free &= ~cpus
        self.needed -= cpus.bit_count()

    def take_sockets(self) -> None:
        """Take whole sockets while enough CPUs are still needed."""
        # Upstream intersects socket numbers with CPU numbers: a socket is skipped if its number is no free CPU.
        topology = self._topology
        for socket in self._only_free_cpus(topology.sockets_of(self.free)):
            if self.needed < max(topology.cpus_per_socket, 1):
                return
            self._take_cpus(topology.in_socket[socket] & self.free)

    def take_cores(self) -> None:
        """Take whole cores while enough CPUs are still needed; core numbers are intersected with CPU numbers too."""
        topology = self._topology
        if self.needed < topology.cpus_per_core:
            return
        for core in self._free_cores():
            if self.needed < max(topology.cpus_per_core, 1):
                return
            self._take_cpus(topology.in_core[core] & self.free)

    def _only_free_cpus(self, numbers: list[int]) -> list[int]:
        return [number for number in numbers if number >= 0 and self.free >> number & 1]

    def _free_cores(self) -> list[int]:
        """Upstream: plugins/numaaware/provider/cpumanager/cpu_assignment.freeCores."""
        topology = self._topology
        by_socket = {
            socket: self._only_free_cpus(topology.cores_of(topology.in_socket[socket] & self.free))
            for socket in topology.sockets_of(self.free)
        }
        ordered = sort_slice(by_socket, lambda a, b: len(by_socket[a]) < len(by_socket[b]) or a < b)
        return [core for socket in ordered for core in by_socket[socket]]

    def take_single(self) -> None:
        """Take single CPUs until no more are needed."""
        if self.needed < 1:
            return
        topology = self._topology
        # Go's sort exactly: upstream's comparison joins its terms by OR and is no order, so the algorithm decides.
        cores = sort_slice(topology.cores_of(self.free), self._core_less)
        for core in cores:
            for cpu in set_members(topology.in_core[core] & self.free):
                if self.needed < 1:
                    return
                self._take_cpus(bit_set((cpu,)))

    def _core_less(self, left: int, right: int) -> bool:
        a, b = self._core_key(left), self._core_key(right)
        return a[0] > b[0] or a[1] < b[1] or a[2] < b[2] or a[3] < b[3] or left < right

    def _core_key(self, core: int) -> tuple[int, int, int, int]:
        """(taken CPUs on the socket, free CPUs on the socket, free CPUs in the core, socket number)."""
        topology = self._topology
        first = next(set_members(topology.in_core[core]))
        socket = topology.places[first].socket
        on_socket = topology.in_socket[socket]
        return (
            (on_socket & self.result).bit_count(),
            (on_socket & self.free).bit_count(),
            (topology.in_core[core] & self.free).bit_count(),
            socket,
        )
