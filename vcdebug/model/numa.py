"""A node's CPUs with their sockets, cores and NUMA nodes, from its Numatopology object.

A set of CPUs (or of NUMA nodes) is an integer with one bit per number, so that every iteration is ascending.

Upstream: api/numa_info, cache/event_handlers (getNumaInfo).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from vcdebug.gomath import SHORT_INTEGER, int_div
from vcdebug.snapshot.manifest import Json, JsonObject, name_of, spec_of
from vcdebug.snapshot.quantity import QuantityError, milli_value

BitSet = int
"""Bit n is set when n is a member."""

CPU = "cpu"
MAX_CPU = 65535
"""Highest CPU number in a list that can be parsed."""
RESERVABLE_RESOURCES = ("cpu", "memory", "ephemeral-storage")


class CpuPlace(NamedTuple):
    """The place of one CPU: socket, core and NUMA node."""

    numa: int
    socket: int
    core: int


def set_members(bits: BitSet) -> Iterator[int]:
    """The numbers in a set, ascending."""
    while bits:
        # bits & -bits is the lowest bit that is set.
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def bit_set(numbers: Iterable[int]) -> BitSet:
    """The set of these numbers."""
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits


def parse_cpu_list(text: str) -> BitSet | None:
    """A list such as `0-3,8`; None where it cannot be parsed."""
    bits = 0
    for part in text.split(",") if text else ():
        first, dash, last = part.partition("-")
        bounds = (first, last if dash else first)
        if not all(SHORT_INTEGER.fullmatch(bound) and not bound.startswith("-") for bound in bounds):
            return None
        low, high = int(bounds[0]), int(bounds[1])
        if low > high or high > MAX_CPU:
            return None
        bits |= ((1 << (high - low + 1)) - 1) << low
    return bits


def format_cpu_list(bits: BitSet) -> str:
    """The set as a list such as `0-3,8`."""
    parts: list[str] = []
    while bits:
        first = (bits & -bits).bit_length() - 1
        run = bits >> first
        length = (~run & (run + 1)).bit_length() - 1
        parts.append(str(first) if length == 1 else f"{first}-{first + length - 1}")
        bits &= ~(((1 << length) - 1) << first)
    return ",".join(parts)


class CpuTopology:
    """The CPUs of a node with their places; core numbers are used as given, even if two sockets share one."""

    __slots__ = ("cpus", "cpus_per_core", "cpus_per_socket", "in_core", "in_numa", "in_socket", "places")

    def __init__(self, places: Mapping[int, CpuPlace]) -> None:
        self.places = {cpu: places[cpu] for cpu in sorted(places)}
        self.cpus = bit_set(self.places)
        self.in_numa: dict[int, BitSet] = {}
        self.in_socket: dict[int, BitSet] = {}
        self.in_core: dict[int, BitSet] = {}
        for cpu, place in self.places.items():
            self.in_numa[place.numa] = self.in_numa.get(place.numa, 0) | 1 << cpu
            self.in_socket[place.socket] = self.in_socket.get(place.socket, 0) | 1 << cpu
            self.in_core[place.core] = self.in_core.get(place.core, 0) | 1 << cpu
        cores = dict.fromkeys((place.socket, place.core) for place in self.places.values())
        self.cpus_per_socket = int_div(len(self.places), len(self.in_socket)) if self.in_socket else 0
        self.cpus_per_core = int_div(len(self.places), len(cores)) if cores else 0

    @property
    def numa_nodes(self) -> list[int]:
        """NUMA node numbers, ascending. Upstream: api/numa_info.GenerateNumaNodes."""
        return sorted(self.in_numa)

    def sockets_of(self, cpus: BitSet) -> list[int]:
        """Sockets with a CPU of the set, ascending."""
        return [socket for socket in sorted(self.in_socket) if self.in_socket[socket] & cpus]

    def cores_of(self, cpus: BitSet) -> list[int]:
        """Core numbers with a CPU of the set, ascending."""
        return [core for core in sorted(self.in_core) if self.in_core[core] & cpus]

    def count_numa_nodes(self, cpus: BitSet) -> int:
        """How many NUMA nodes the set touches."""
        return len([numa for numa in self.in_numa.values() if numa & cpus])


class NumaInfo:
    """One node's NUMA layout, policies and free CPUs."""

    def __init__(self, manifest: JsonObject, topologies: dict[tuple[Json, ...], CpuTopology]) -> None:
        spec = spec_of(manifest)
        policies = spec.get("policies") or {}
        self.name: str = name_of(manifest)
        self.cpu_manager_policy: str = policies.get("CPUManagerPolicy", "")
        self.topology_policy: str = policies.get("TopologyManagerPolicy", "")
        self.free_cpus: BitSet | None = _read_free_cpus(spec.get("numares") or {})
        """The free CPUs; None if the object does not list the resource cpu."""
        self.reserved_cpus = _read_reserved(spec.get("resReserved") or {})
        self.shown_pods = tuple(
            (str(pod.get("uid") or ""), f"{pod.get('namespace') or ''}/{pod.get('name') or ''}")
            for pod in spec.get("podAllocations") or ()
        )
        """UID and namespace/name of the pods whose CPUs the kubelet has reported."""
        self.topology = _read_topology(spec.get("cpuDetail") or {}, topologies)


def _read_free_cpus(resources: JsonObject) -> BitSet | None:
    if CPU not in resources:
        return None
    return parse_cpu_list((resources[CPU] or {}).get("allocatable") or "") or 0


def _read_reserved(resources: Mapping[str, str]) -> int:
    """Number of reserved CPUs, rounded up; 0 where any entry is invalid."""
    amounts: dict[str, int] = {}
    for name, text in resources.items():
        try:
            amounts[name] = milli_value(text)
        except QuantityError:
            return 0
        if name not in RESERVABLE_RESOURCES or amounts[name] < 0:
            return 0
    return int_div(amounts.get(CPU, 0) + 999, 1000)


def _read_topology(detail: JsonObject, topologies: dict[tuple[Json, ...], CpuTopology]) -> CpuTopology:
    """Equal layouts share one object; a key that is no number counts as CPU 0."""
    places: dict[int, CpuPlace] = {}
    for key in sorted(detail):
        cpu = int(key) if SHORT_INTEGER.fullmatch(key) and 0 <= int(key) <= MAX_CPU else 0
        place = detail[key] or {}
        places[cpu] = CpuPlace(place.get("numa") or 0, place.get("socket") or 0, place.get("core") or 0)
    content = tuple(sorted(places.items()))
    if content not in topologies:
        topologies[content] = CpuTopology(places)
    return topologies[content]


def read_numa(manifests: Iterable[JsonObject]) -> dict[str, NumaInfo]:
    """Node name → its NUMA information."""
    topologies: dict[tuple[Json, ...], CpuTopology] = {}
    return {name_of(manifest): NumaInfo(manifest, topologies) for manifest in manifests}
