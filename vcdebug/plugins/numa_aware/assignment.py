"""Container by container: which NUMA nodes suit, whether the node's policy admits them, and the CPUs taken.

Upstream: plugins/numaaware/policy, plugins/numaaware/provider/cpumanager (cpu_mng).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from vcdebug.gomath import int_div
from vcdebug.model.numa import CPU, BitSet, CpuTopology, NumaInfo, bit_set, set_members
from vcdebug.plugins.numa_aware.accumulator import take_by_topology
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.quantity import milli_value, whole_value

NO_POLICY = "none"
BEST_EFFORT = "best-effort"
RESTRICTED = "restricted"
SINGLE_NUMA_NODE = "single-numa-node"
MANAGED_POLICIES = (BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)


class TopologyHint(NamedTuple):
    """NUMA nodes that could serve a container; None stands for any."""

    nodes: BitSet | None
    preferred: bool


class ContainerCpus(NamedTuple):
    """What one container takes."""

    name: str
    asked: int
    """Whole CPUs."""
    cpus: BitSet | None
    """None where the node's policy does not admit it."""
    hints: tuple[TopologyHint, ...] | None
    """NUMA nodes that could serve it; None where it asks for no CPUs of its own."""


class Assignment(NamedTuple):
    """The CPUs that a pod's containers take, or the first container that is refused."""

    cpus: BitSet
    refused: str | None


def cpu_request(container: JsonObject) -> int:
    """Whole CPUs that the container requests; 0 when it requests none or a fraction.
    Upstream: plugins/numaaware/provider/cpumanager/cpu_mng.guaranteedCPUs.
    """
    requests = (container.get("resources") or {}).get("requests") or {}
    if CPU not in requests:
        return 0
    whole = whole_value(requests[CPU])
    return whole if whole * 1000 == milli_value(requests[CPU]) else 0


def assign_containers(info: NumaInfo, free: BitSet | None, containers: Sequence[JsonObject]) -> Assignment:
    """What the containers take from `free` one after the other; None means that the node names no CPUs.
    Upstream: plugins/numaaware/policy/factory.AccumulateProvidersHints, plugins/numaaware/policy/factory.Allocate.
    """
    taken = 0
    for given in given_cpus(info, free, containers):
        if given.cpus is None:
            return Assignment(0, given.name)
        taken |= given.cpus
    return Assignment(taken, None)


def reserved_cpus(info: NumaInfo) -> BitSet:
    """CPUs of the node that no container gets."""
    return take_by_topology(info.topology, info.topology.cpus, info.reserved_cpus) or 0


def given_cpus(info: NumaInfo, free: BitSet | None, containers: Sequence[JsonObject]) -> Iterator[ContainerCpus]:
    """Container by container, up to one that is refused."""
    reserved = reserved_cpus(info)
    for container in containers:
        name, need = container.get("name") or "", cpu_request(container)
        hints = None if need == 0 or free is None else _generate_hints(info.topology, free & ~reserved, need)
        shown = None if hints is None else tuple(hints)
        best, admitted = _filter_hints(info, hints)
        if not admitted:
            yield ContainerCpus(name, need, None, shown)
            return
        free = free or 0
        chosen = _allocate_cpus(info.topology, free & ~reserved, best, need)
        free &= ~chosen
        yield ContainerCpus(name, need, chosen, shown)


def _node_sets(topology: CpuTopology) -> Iterator[tuple[int, BitSet]]:
    """(size, set) of every subset of the NUMA nodes, smaller ones first. Upstream: plugins/numaaware/policy.iterate."""
    nodes = topology.numa_nodes
    for size in range(1, len(nodes) + 1):
        for chosen in combinations(nodes, size):
            yield size, bit_set(chosen)


def _generate_hints(topology: CpuTopology, available: BitSet, need: int) -> list[TopologyHint]:
    """Every set of NUMA nodes with enough free CPUs; preferred are those as small as an empty machine would allow.
    Upstream: plugins/numaaware/provider/cpumanager/cpu_mng.generateCPUTopologyHints.
    """
    smallest = len(topology.in_numa)
    found: list[tuple[int, BitSet]] = []
    for size, nodes in _node_sets(topology):
        cpus = _cpus_on(topology, nodes)
        if cpus.bit_count() >= need:
            smallest = min(smallest, size)
        if (cpus & available).bit_count() >= need:
            found.append((size, nodes))
    return [TopologyHint(nodes, size == smallest) for size, nodes in found]


def _cpus_on(topology: CpuTopology, nodes: BitSet) -> BitSet:
    cpus = 0
    for numa in set_members(nodes):
        cpus |= topology.in_numa.get(numa, 0)
    return cpus


def _filter_hints(info: NumaInfo, hints: list[TopologyHint] | None) -> tuple[BitSet | None, bool]:
    """(NUMA nodes to align with, whether the node's policy admits the container).
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
    best = _merge_hints(bit_set(info.topology.in_numa), hints)
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
    """CPUs on the chosen NUMA nodes first, the rest anywhere; nothing at all when one of the two fails.
    Upstream: plugins/numaaware/provider/cpumanager/cpu_mng.Allocate.
    """
    aligned = 0
    if nodes is not None:
        candidates = available & _cpus_on(topology, nodes)
        taken = take_by_topology(topology, candidates, min(need, candidates.bit_count()))
        if taken is None:
            return 0
        aligned = taken
    rest = take_by_topology(topology, available & ~aligned, need - aligned.bit_count())
    return 0 if rest is None else aligned | rest


def normalize_spans(raw: Sequence[int], highest: int) -> list[int]:
    """Fewer is better: 0 of the largest scores `highest`, the largest scores 0."""
    largest = max(raw, default=0)
    if largest <= 0:
        return [highest] * len(raw)
    return [highest - int_div(highest * count, largest) for count in raw]
