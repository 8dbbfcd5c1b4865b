"""CPUs that earlier cycles gave to pods and that no Numatopology shows yet.

Upstream: api/node_info (RefreshNumaSchedulerInfoByCrd), cache (AddUnassignedNumaPods).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vcdebug.model.names import NodeName
from vcdebug.model.numa import NumaInfo, parse_cpu_list
from vcdebug.snapshot.process import CpuReservation

CpuReservations = tuple[CpuReservation, ...]


def reserve_cpus(
    info: Mapping[NodeName, NumaInfo], reserved: CpuReservations, *, by_pod: bool = True
) -> CpuReservations:
    """Take them from the nodes' free CPUs; what is still reserved.

    A node's reservations end together, once it shows every pod of them: one that is missing keeps all of them.
    Without `by_pod` what the node shows of pods is not read, and they stay.
    """
    on_nodes = [one for one in reserved if one.node in info]
    missing = dict.fromkeys(one.node for one in on_nodes if not (by_pod and _is_reported(info[one.node], one)))
    kept = tuple(one for one in reserved if one.node in missing or one.node not in info)
    for one in kept:
        node = info.get(one.node)
        if node is not None and node.free_cpus is not None:
            node.free_cpus &= ~(parse_cpu_list(one.cpus) or 0)
    return kept


def _is_reported(node: NumaInfo, one: CpuReservation) -> bool:
    """Whether the kubelet has reported the pod. Upstream: api/numa_info.CheckNumaPodAssigned."""
    return any(uid == one.uid or pod == one.pod for uid, pod in node.shown_pods)


def with_reserved(reserved: CpuReservations, given: Iterable[CpuReservation]) -> CpuReservations:
    """With those of a session, by node and pod; a pod has one reservation per node, and keeps those on other nodes."""
    by_place = {(one.node, one.pod, one.uid): one for one in (*reserved, *given)}
    return tuple(by_place[place] for place in sorted(by_place))
