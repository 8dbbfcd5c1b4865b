"""Which CPUs of a set a container takes: whole sockets, then whole cores, then single CPUs.

Upstream: plugins/numaaware/provider/cpumanager (cpu_assignment).
Differs: sockets come in ascending order where upstream reads a map.
"""

from __future__ import annotations

from vcdebug.framework.slice_sort import sort_slice
from vcdebug.model.numa import BitSet, CpuTopology, bit_set, set_members


def take_by_topology(topology: CpuTopology, cpus: BitSet, count: int) -> BitSet | None:
    """`count` CPUs of the set; None when there are not enough. CPUs that the topology lacks do not count.
    Upstream: plugins/numaaware/provider/cpumanager/cpu_assignment.takeByTopology.
    """
    if count < 1:
        return 0
    work = _Accumulator(topology, cpus & topology.cpus, count)
    if count > work.left.bit_count():
        return None
    work.take_sockets()
    work.take_cores()
    work.take_single()
    return work.taken


class _Accumulator:
    """`left` shrinks, `taken` grows, until `needed` is below 1."""

    __slots__ = ("_topology", "left", "needed", "taken")

    def __init__(self, topology: CpuTopology, cpus: BitSet, count: int) -> None:
        self._topology = topology
        self.left = cpus
        self.taken = 0
        self.needed = count

    def _take_cpus(self, cpus: BitSet) -> None:
        """Upstream: plugins/numaaware/provider/cpumanager/cpu_assignment.take."""
        self.taken |= cpus
        self.left &= ~cpus
        self.needed -= cpus.bit_count()

    def take_sockets(self) -> None:
        """Upstream intersects socket numbers with CPU numbers, so a socket whose number is no free CPU is passed."""
        topology = self._topology
        for socket in self._that_are_cpus(topology.sockets_of(self.left)):
            if self.needed < max(topology.cpus_per_socket, 1):
                return
            self._take_cpus(topology.in_socket[socket] & self.left)

    def take_cores(self) -> None:
        """The same intersection of core numbers with CPU numbers."""
        topology = self._topology
        if self.needed < topology.cpus_per_core:
            return
        for core in self._free_cores():
            if self.needed < max(topology.cpus_per_core, 1):
                return
            self._take_cpus(topology.in_core[core] & self.left)

    def _that_are_cpus(self, numbers: list[int]) -> list[int]:
        return [number for number in numbers if self.left >> number & 1]

    def _free_cores(self) -> list[int]:
        """Upstream: plugins/numaaware/provider/cpumanager/cpu_assignment.freeCores."""
        topology = self._topology
        by_socket = {
            socket: self._that_are_cpus(topology.cores_of(topology.in_socket[socket] & self.left))
            for socket in topology.sockets_of(self.left)
        }
        ordered = sort_slice(by_socket, lambda a, b: len(by_socket[a]) < len(by_socket[b]) or a < b)
        return [core for socket in ordered for core in by_socket[socket]]

    def take_single(self) -> None:
        """From cores in an order that upstream's comparison only hints at: its terms are joined by OR."""
        if self.needed < 1:
            return
        topology = self._topology
        cores = sort_slice(topology.cores_of(self.left), self._core_less)
        for core in cores:
            for cpu in set_members(topology.in_core[core] & self.left):
                if self.needed < 1:
                    return
                self._take_cpus(bit_set((cpu,)))

    def _core_less(self, one: int, other: int) -> bool:
        a, b = self._core_key(one), self._core_key(other)
        return a[0] > b[0] or a[1] < b[1] or a[2] < b[2] or a[3] < b[3] or one < other

    def _core_key(self, core: int) -> tuple[int, int, int, int]:
        """(taken CPUs on its socket, free ones on its socket, free ones in the core, its socket)."""
        topology = self._topology
        first = next(set_members(topology.in_core[core]))
        socket = topology.places[first].socket
        on_socket = topology.in_socket[socket]
        return (
            (on_socket & self.taken).bit_count(),
            (on_socket & self.left).bit_count(),
            (topology.in_core[core] & self.left).bit_count(),
            socket,
        )
