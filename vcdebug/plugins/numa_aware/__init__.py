"""numa-aware: assigns whole CPUs to Guaranteed pods, on as few NUMA nodes as the node's policy demands.

Upstream: plugins/numaaware, api/node_info (RefreshNumaSchedulerInfoByCrd), cache (AddUnassignedNumaPods).
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple

import numpy as np
from msgspec.structs import replace

from vcdebug.errors import NIL_POINTER_TEXT, SchedulerPanic
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.plugin_answers import NodeScores
from vcdebug.framework.session import Event, Plugin, Session
from vcdebug.kube.pod_requests import GUARANTEED, pod_qos
from vcdebug.model.fit_errors import UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus
from vcdebug.model.names import Codes, NodeName, TaskId, TaskKey
from vcdebug.model.node_table import NodeRows
from vcdebug.model.numa import BitSet, CpuTopology, NumaInfo, format_cpu_list, parse_cpu_list, read_numa
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import ANNOTATIONS
from vcdebug.plugins.numa_aware import assignment
from vcdebug.releases.devices import NUMA_POD_LEVEL, NUMA_POLICY_MISSPELT
from vcdebug.snapshot.cycle_inputs import CpuReservation

(POLICY_ANNOTATION,) = ANNOTATIONS["numa-aware"]
STATIC_POLICY = "static"
MAX_SCORE = 100

NO_INFO = "numa info is empty"
NOT_STATIC = "cpu manager policy isn't static"
NO_CPUS = "cpu allocatable map is empty"

AssignmentKey = tuple[CpuTopology, str, int, BitSet | None, tuple[tuple[str, int], ...]]
"""The inputs of an assignment: nodes with equal inputs share the result."""


class NumaRoom(NamedTuple):
    """The NUMA nodes of a node, and the CPUs that a pod would get on it."""

    asked_policy: str
    policy: str
    cpu_manager: str
    numa: Mapping[int, BitSet]
    """NUMA node → its CPUs."""
    free: BitSet
    reserved: BitSet
    containers: tuple[assignment.ContainerCpus, ...]
    refusal: str
    """The reason why the node is rejected; empty if it is accepted."""


class NumaSpans(NamedTuple):
    """The number of NUMA nodes that the assigned CPUs span, for each of several nodes."""

    cpus: tuple[BitSet, ...]
    spans: tuple[int, ...]
    weight: int
    scores: tuple[float, ...]


class NumaAware(Plugin):
    """Assigns CPUs in predicate calls and charges them in allocate events."""

    name: ClassVar[str] = "numa-aware"
    remembers_rows = True

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._weight = arguments.get_int("weight", 1)

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/numaaware.OnSessionOpen, api/numa_info.GenerateNodeResNumaSets."""
        self._ssn = ssn
        manifests = ssn.snapshot.objects_of("Numatopology") if ssn.flags.is_gate_on("ResourceTopology") else []
        self._info: dict[NodeName, NumaInfo] = {
            name: info for name, info in read_numa(manifests).items() if name in ssn.nodes
        }
        self._policy_word = "polocy" if ssn.release.has_older_form(NUMA_POLICY_MISSPELT) else "policy"
        by_pod = not ssn.release.has_older_form(NUMA_POD_LEVEL)
        ssn.process = replace(
            ssn.process, reserved_cpus=reserve_cpus(self._info, ssn.process.reserved_cpus, by_pod=by_pod)
        )
        self._free: dict[NodeName, BitSet | None] = {name: info.free_cpus for name, info in self._info.items()}
        self._assigned: dict[TaskId, dict[NodeName, BitSet]] = {}
        self._assignments: dict[AssignmentKey, assignment.Assignment] = {}
        self._charged: dict[TaskId, tuple[NodeName, TaskKey]] = {}
        """Tasks whose CPUs an allocate event has charged and no event has released."""

    def on_session_close(self, ssn: Session) -> None:
        """Hand all assignments to the cache, even of pipelined tasks. Upstream: plugins/numaaware.OnSessionClose."""
        assigned = [
            CpuReservation(node, key, uid, format_cpu_list(self._assigned[uid][node]))
            for uid, (node, key) in self._charged.items()
        ]
        ssn.process = replace(ssn.process, reserved_cpus=with_reserved(ssn.process.reserved_cpus, assigned))

    # Filtering

    def predicate(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        """Upstream: plugins/numaaware.predicateFn."""
        codes: Codes = np.zeros(len(nodes), dtype=np.uint16)
        if pod_qos(task.pod, self._ssn.flags) != GUARANTEED:
            return codes
        policy = _task_policy(task)
        for index, name in enumerate(nodes.node_names):
            info = self._info.get(name)
            refusal = self._policy_refusal(policy, info) if policy else None
            if refusal is not None:
                codes[index] = self._ssn.reasons.error_code(refusal)
            elif info is not None and (policy or _manages_cpus(info)):
                codes[index] = self._assign_cpus(task, info)
        return codes

    def _policy_refusal(self, policy: str, info: NumaInfo | None) -> str | None:
        """Upstream: plugins/numaaware.filterNodeByPolicy."""
        if info is None:
            return NO_INFO
        if info.cpu_manager_policy != STATIC_POLICY:
            return NOT_STATIC
        if policy != info.topology_policy:
            return f"task topology {self._policy_word}[{policy}] is different with node[{info.topology_policy}]"
        return None if self._free[info.name] else NO_CPUS

    def _assign_cpus(self, task: TaskInfo, info: NumaInfo) -> int:
        """Assign CPUs on the node and remember them for the task; returns the reason code, 0 if it is accepted."""
        containers = task.pod.spec.get("containers") or ()
        needs = tuple((container.get("name") or "", assignment.cpu_request(container)) for container in containers)
        free = self._free[info.name]
        # An assignment searches subsets of NUMA nodes; the thousands of equal nodes share its result.
        question = (info.topology, info.topology_policy, info.reserved_cpus, free, needs)
        answer = self._assignments.get(question)
        if answer is None:
            answer = self._assignments[question] = assignment.assign_containers(info, free, containers)
        if answer.refused is not None:
            reason = _not_assigned(answer.refused)
            return self._ssn.reasons.code_of((FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, reason, self.name),))
        self._assigned.setdefault(task.uid, {})[info.name] = answer.cpus
        return 0

    def numa_room(self, task: TaskInfo, node: NodeName) -> NumaRoom | None:
        """The details of the verdict about a node; None if the plugin does not check the pod there."""
        policy, info = _task_policy(task), self._info.get(node)
        guaranteed = pod_qos(task.pod, self._ssn.flags) == GUARANTEED
        if (
            not guaranteed
            or (info is None and not policy)
            or (info is not None and not (policy or _manages_cpus(info)))
        ):
            return None
        refusal = self._policy_refusal(policy, info) if policy else None
        if info is None:
            return NumaRoom(policy, "", "", {}, 0, 0, (), refusal or "")
        free, containers = self._free[node], task.pod.spec.get("containers") or ()
        cpus = () if refusal else tuple(assignment.iter_container_cpus(info, free, containers))
        refused = next((_not_assigned(reservation.name) for reservation in cpus if reservation.cpus is None), "")
        places, manager = info.topology.in_numa, info.cpu_manager_policy
        reserved = assignment.reserved_cpus(info)
        return NumaRoom(policy, info.topology_policy, manager, places, free or 0, reserved, cpus, refusal or refused)

    # Scoring

    def batch_node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores | None:
        """Upstream: plugins/numaaware.batchNodeOrderFn."""
        spans = self.numa_spans(task, nodes)
        return None if spans is None else NodeScores(np.array(spans.scores, dtype=np.float64))

    def numa_spans(self, task: TaskInfo, nodes: NodeRows) -> NumaSpans | None:
        """The details of the scores; None if the plugin gives no scores."""
        assigned = self._assigned.get(task.uid)
        if assigned is None or not _task_policy(task):
            return None
        spans: list[int] = []
        for name in nodes.node_names:
            info = self._info.get(name)
            if info is None:
                raise SchedulerPanic(NIL_POINTER_TEXT)
            spans.append(info.topology.count_numa_nodes(assigned.get(name, 0)))
        scores = tuple([float(score * self._weight) for score in assignment.normalize_spans(spans, MAX_SCORE)])
        return NumaSpans(
            tuple([assigned.get(name, 0) for name in nodes.node_names]), tuple(spans), self._weight, scores
        )

    # Events

    def allocate_func(self, event: Event) -> None:
        """Charge the CPUs of the last predicate call, if any. Upstream: api/numa_info.Allocate."""
        cpus, free = self._planned_cpus(event.task)
        if cpus is None:
            return
        task = event.task
        self._charged[task.uid] = (task.node_name, task.key)
        if free is not None:
            self._free[task.node_name] = free & ~cpus

    def deallocate_func(self, event: Event) -> None:
        """Release the task's CPUs. Upstream: api/numa_info.Release."""
        cpus, free = self._planned_cpus(event.task)
        if cpus is None:
            return
        self._charged.pop(event.task.uid, None)
        if free is not None:
            self._free[event.task.node_name] = free | cpus

    def _planned_cpus(self, task: TaskInfo) -> tuple[BitSet | None, BitSet | None]:
        return self._assigned.get(task.uid, {}).get(task.node_name), self._free.get(task.node_name)


def _not_assigned(container: str) -> str:
    return f"container {container} cannot be assigned by numa"


def _task_policy(task: TaskInfo) -> str:
    """The policy that the pod requests; empty if it requests none."""
    policy = task.pod.annotations.get(POLICY_ANNOTATION, "")
    return "" if policy == assignment.NO_POLICY else policy


def _manages_cpus(info: NumaInfo) -> bool:
    """Whether the node also assigns CPUs to pods that request no policy."""
    return info.cpu_manager_policy == STATIC_POLICY and info.topology_policy not in (assignment.NO_POLICY, "")


# CPUs that earlier cycles assigned to pods and that no Numatopology shows yet.

CpuReservations = tuple[CpuReservation, ...]


def reserve_cpus(
    info: Mapping[NodeName, NumaInfo], reserved: CpuReservations, *, by_pod: bool = True
) -> CpuReservations:
    """Remove reserved CPUs from the nodes' free CPUs; returns the reservations that stay: without `by_pod`, all."""
    # A node's reservations end together, once the node shows all of their pods.
    on_nodes = [cpus for cpus in reserved if cpus.node in info]
    missing = dict.fromkeys(cpus.node for cpus in on_nodes if not (by_pod and _is_reported(info[cpus.node], cpus)))
    remaining = tuple(cpus for cpus in reserved if cpus.node in missing or cpus.node not in info)
    for reservation in remaining:
        node = info.get(reservation.node)
        if node is not None and node.free_cpus is not None:
            node.free_cpus &= ~(parse_cpu_list(reservation.cpus) or 0)
    return remaining


def _is_reported(node: NumaInfo, reservation: CpuReservation) -> bool:
    """Whether the kubelet has reported the reservation's pod. Upstream: api/numa_info.CheckNumaPodAssigned."""
    return any(uid == reservation.uid or pod == reservation.pod for uid, pod in node.shown_pods)


def with_reserved(reserved: CpuReservations, assigned: Iterable[CpuReservation]) -> CpuReservations:
    """The old reservations and the session's, one per pod and node, sorted by node and pod."""
    by_place = {(cpus.node, cpus.pod, cpus.uid): cpus for cpus in (*reserved, *assigned)}
    return tuple(by_place[place] for place in sorted(by_place))
