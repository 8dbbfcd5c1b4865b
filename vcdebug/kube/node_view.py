"""NodeView: nodes and pods as the Kubernetes checks see them (upstream's NodeMap), in columns; and CycleState.

The predicates plugin keeps it in step with the session: placed pods are added, evicted pods disappear at once,
pods that were already terminating at session open still count.

Upstream: framework session (NodeMap), k8s framework NodeInfo and CycleState, kept per task UID by the session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from vcdebug.gomath import wrap_int64
from vcdebug.kube.affinity_terms import NO_TERMS, PodAffinityTerms
from vcdebug.kube.images import ImageStates, image_states
from vcdebug.kube.node_labels import NodeLabels
from vcdebug.kube.pod_counts import PodCounts, TermOwners
from vcdebug.kube.pod_requests import GPU, IMMENSE_AMOUNT, GateCheck, ScoredAmounts
from vcdebug.kube.pod_shape import PodShape, PodShapes
from vcdebug.kube.ports import UsedPorts
from vcdebug.kube.taints import NodeTaints
from vcdebug.model.names import IntArray, NodeName, Row, TaskId
from vcdebug.model.task import TaskStatus
from vcdebug.releases.release import NEWEST, Release
from vcdebug.snapshot.manifest import JsonObject, spec_of, status_of
from vcdebug.snapshot.quantity import milli_value, whole_value

if TYPE_CHECKING:
    from vcdebug.model.node import NodeInfo
    from vcdebug.model.pod import Pod


class ResourceColumns:
    """Milli cpu, memory and GPUs of every node, as integers."""

    __slots__ = ("cpu_and_memory", "gpu", "memory", "milli_cpu")

    def __init__(self, size: int) -> None:
        self.cpu_and_memory: IntArray = np.zeros((2, size), dtype=np.int64)
        """Shape (2, nodes): milli cpu, then memory; the next two are views of it."""
        self.milli_cpu: IntArray = self.cpu_and_memory[0]
        self.memory: IntArray = self.cpu_and_memory[1]
        self.gpu: IntArray = np.zeros(size, dtype=np.int64)

    def add_amounts(self, row: Row, amounts: ScoredAmounts, sign: int) -> None:
        """Add (sign 1) or subtract (sign -1) a pod's amounts."""
        # .item gives a Python int: its sum cannot overflow silently as numpy's would, and is then wrapped as Go's.
        self.milli_cpu[row] = wrap_int64(self.milli_cpu.item(row) + sign * amounts.milli_cpu)
        self.memory[row] = wrap_int64(self.memory.item(row) + sign * amounts.memory)
        if amounts.gpu:
            self.gpu[row] = wrap_int64(self.gpu.item(row) + sign * amounts.gpu)

    def fill_rows(self, amounts: Sequence[ScoredAmounts]) -> None:
        """Set every node's amounts."""
        if amounts:
            self.milli_cpu[:], self.memory[:], self.gpu[:] = zip(*amounts, strict=True)

    def add_many(self, rows: IntArray, indexes: Sequence[int], amounts: Sequence[ScoredAmounts]) -> None:
        """Add amounts[which[i]] to rows[i]; sums that are too large wrap around."""
        # np.add.at and not `+=`: a row that occurs twice must be added to twice.
        for column, values in zip((self.milli_cpu, self.memory, self.gpu), zip(*amounts, strict=True), strict=False):
            np.add.at(column, rows, np.array(values, dtype=np.int64)[indexes])


def _parse_scored(amounts: Mapping[str, object]) -> ScoredAmounts:
    return ScoredAmounts(
        milli_value(amounts.get("cpu", 0)), whole_value(amounts.get("memory", 0)), whole_value(amounts.get(GPU, 0))
    )


def _allocatable_amounts(manifests: Sequence[JsonObject]) -> list[ScoredAmounts]:
    """The allocatable amounts of each node; nodes of one kind share the list, which is parsed once."""
    lists = [status_of(manifest).get("allocatable") or {} for manifest in manifests]
    distinct = {id(amounts): amounts for amounts in lists}
    scored = {key: _parse_scored(amounts) for key, amounts in distinct.items()}
    return [scored[id(amounts)] for amounts in lists]


def _gate_open(_gate: str) -> bool:
    return True


class NodeView:
    """One row per node of the session's node table."""

    def __init__(
        self,
        names: Sequence[NodeName],
        nodes: Mapping[NodeName, NodeInfo],
        gate: GateCheck,
        *,
        release: Release = NEWEST,
        shapes: PodShapes | None = None,
    ) -> None:
        """`shapes`: the parsed pods of an earlier view with the same gates and release."""
        size = len(names)
        self.names = list(names)
        self.row_of: dict[NodeName, Row] = {name: row for row, name in enumerate(self.names)}
        self.manifests: list[JsonObject] = [nodes[name].manifest for name in self.names]
        self.labels = NodeLabels(self.names, [nodes[name].labels for name in self.names])
        self.taints = NodeTaints([spec_of(manifest) for manifest in self.manifests])
        self.images: list[ImageStates] = [{} for _ in self.names]
        self.shapes = shapes or PodShapes(gate, release)
        self.ports = UsedPorts()
        self.owners = TermOwners(size)
        self._counts: PodCounts | None = None
        self.pods: list[list[Pod]] = [[] for _ in self.names]
        self.pod_count: IntArray = np.zeros(size, dtype=np.int64)
        self.pods_with_affinity: IntArray = np.zeros(size, dtype=np.int64)
        self.pods_with_required_anti_affinity: IntArray = np.zeros(size, dtype=np.int64)
        self.requested = ResourceColumns(size)
        self.non_zero_requested = ResourceColumns(size)
        self.allocatable = ResourceColumns(size)
        self.complete = False
        """Whether every node has both cpu and memory."""
        self._immense_nodes = False
        self.changes: list[Row] = []
        """The rows to which pods were added or from which pods were removed, in order; never shortened."""

    @classmethod
    def build_at_open(
        cls,
        names: Sequence[NodeName],
        nodes: Mapping[NodeName, NodeInfo],
        images: Mapping[NodeName, ImageStates] | None = None,
        gate: GateCheck = _gate_open,
        *,
        release: Release = NEWEST,
        shapes: PodShapes | None = None,
    ) -> NodeView:
        """The view at session open: every task of a node counts, releasing and foreign ones included.

        A pipelined one does not: it enters with the event of its allocation.
        """
        view = cls(names, nodes, gate, release=release, shapes=shapes)
        states = image_states(dict(zip(view.names, view.manifests, strict=True))) if images is None else images
        view.allocatable.fill_rows(_allocatable_amounts(view.manifests))
        view.images = [states.get(name, {}) for name in view.names]
        for row, name in enumerate(view.names):
            tasks = nodes[name].tasks_in_order()
            view.pods[row] = [task.pod for task in tasks if task.status is not TaskStatus.PIPELINED]
        view.pod_count[:] = [len(pods) for pods in view.pods]
        view._count_first()
        # Decided once per session: allocatable amounts never change, and `complete` selects the fast score formulas.
        columns = (view.allocatable.milli_cpu, view.allocatable.memory)
        view.complete = len(view) > 0 and all(int(column.min()) > 0 for column in columns)
        view._immense_nodes = len(view) > 0 and any(int(column.max()) >= IMMENSE_AMOUNT for column in columns)
        return view

    @property
    def has_immense_amounts(self) -> bool:
        """Whether sums and products of its amounts can exceed 64 bits, so that columns must not be used."""
        return self._immense_nodes or self.shapes.immense

    @property
    def group_counts(self) -> PodCounts:
        """The pods by label group, counted on first use and updated from then on."""
        if self._counts is None:
            group = self.shapes.label_group
            self._counts = PodCounts(
                len(self), ((row, group(pod)) for row, pods in enumerate(self.pods) for pod in pods)
            )
        return self._counts

    def _count_first(self) -> None:
        """Count all pods of a new view at once: the same as add_pod for each."""
        # Pods of one template share their burden: amounts are converted once per distinct one.
        rows: IntArray = np.repeat(np.arange(len(self), dtype=np.int64), self.pod_count)
        pods = list(chain.from_iterable(self.pods))
        burdens = list(map(self.shapes.pod_demand, pods))
        distinct = {id(burden): burden for burden in burdens}
        numbers = {key: number for number, key in enumerate(distinct)}
        indexes = [numbers[id(burden)] for burden in burdens]
        self.requested.add_many(rows, indexes, [burden.requests.requested for burden in distinct.values()])
        self.non_zero_requested.add_many(rows, indexes, [burden.requests.non_zero for burden in distinct.values()])
        for row, pod, burden in zip(rows.tolist(), pods, burdens, strict=True):
            if burden.ports:
                self.ports.add_ports(row, burden.ports)
            # Most pods have no affinity: a complete PodShape is parsed only for pods with affinity.
            if "affinity" in pod.spec:
                self._count_terms(row, self.shapes.pod_shape(pod).affinity, 1)

    def add_pod(self, row: Row, pod: Pod) -> None:
        shape = self.shapes.pod_shape(pod)
        self.pods[row].append(pod)
        self.ports.add_ports(row, shape.ports)
        self._count_pod(row, shape, 1)

    def remove_pod(self, row: Row, uid: TaskId) -> bool:
        """Remove the pod with this UID from a node; False if it is not there or the UID is empty."""
        pods = self.pods[row]
        for position, pod in enumerate(pods):
            if uid and pod.uid == uid:
                # Upstream moves the last pod into the gap, which changes the order of later visits.
                pods[position] = pods[-1]
                pods.pop()
                shape = self.shapes.pod_shape(pod)
                self.ports.remove_ports(row, shape.ports)
                self._count_pod(row, shape, -1)
                return True
        return False

    def _count_pod(self, row: Row, shape: PodShape, sign: int) -> None:
        self.changes.append(row)
        self.pod_count[row] += sign
        self.requested.add_amounts(row, shape.requests.requested, sign)
        self.non_zero_requested.add_amounts(row, shape.requests.non_zero, sign)
        if shape.affinity is not NO_TERMS:
            self._count_terms(row, shape.affinity, sign)
        if self._counts is not None:
            self._counts.record_pod(row, shape.group, sign)

    def _count_terms(self, row: Row, terms: PodAffinityTerms, sign: int) -> None:
        if terms.has_affinity:
            self.pods_with_affinity[row] += sign
        if terms.required_anti_affinity:
            self.pods_with_required_anti_affinity[row] += sign
        self.owners.record_pod(row, terms, sign)

    def __len__(self) -> int:
        return len(self.names)


@runtime_checkable
class MutableState(Protocol):
    """An entry that simulations change, so that a cloned CycleState needs its own copy."""

    def clone(self) -> MutableState:
        """An independent copy."""
        ...


class CycleState:
    """The state that Kubernetes plugins keep for a task: PreFilter's entries and the filters that skip the task.

    A filter that was skipped once stays skipped: names are only ever added, and copies share the set.
    """

    __slots__ = ("data", "skip")

    def __init__(self) -> None:
        self.skip: dict[str, None] = {}
        self.data: dict[str, object] = {}

    def clone(self) -> CycleState:
        """A copy for a simulation: entries are cloned, the skip set is the same one."""
        copy = CycleState()
        # Shared on purpose: upstream's Clone copies the reference of SkipFilterPlugins too.
        copy.skip = self.skip
        copy.data = {
            name: entry.clone() if isinstance(entry, MutableState) else entry for name, entry in self.data.items()
        }
        return copy
