"""NodeView: the nodes and their pods as the Kubernetes checks see them (upstream's NodeMap), in columns.

The predicates plugin keeps it in step with the session: placed pods are added, evicted pods disappear at once,
pods that were already terminating at session open still count.

Upstream: framework session (NodeMap), k8s framework NodeInfo.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from vcdebug.gomath import wrap_int64
from vcdebug.kube.affinity_terms import NO_TERMS, PodAffinityTerms
from vcdebug.kube.images import ImageStates, image_states
from vcdebug.kube.node_labels import NodeLabels
from vcdebug.kube.node_taints import NodeTaints
from vcdebug.kube.pod_counts import PodCounts
from vcdebug.kube.pod_shape import PodShape, PodShapes
from vcdebug.kube.ports import UsedPorts
from vcdebug.kube.requests import GPU, IMMENSE, Gate, Scored
from vcdebug.kube.term_owners import TermOwners
from vcdebug.model.names import BoolArray, IntArray, NodeName, Row, TaskId
from vcdebug.model.status import TaskStatus
from vcdebug.releases.release import NEWEST, Release
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.manifest import spec_of, status_of
from vcdebug.snapshot.quantity import milli_value, value

if TYPE_CHECKING:
    from vcdebug.model.node import NodeInfo
    from vcdebug.model.pod import Pod


class Columns:
    """Milli cpu, memory and GPUs of every node, as integers."""

    __slots__ = ("both", "gpu", "memory", "milli_cpu")

    def __init__(self, size: int) -> None:
        self.both: IntArray = np.zeros((2, size), dtype=np.int64)
        """Milli cpu above memory."""
        self.milli_cpu: IntArray = self.both[0]
        self.memory: IntArray = self.both[1]
        self.gpu: IntArray = np.zeros(size, dtype=np.int64)

    def add(self, row: Row, amounts: Scored, sign: int) -> None:
        """Add (sign 1) or subtract (sign -1) a pod's amounts."""
        self.milli_cpu[row] = wrap_int64(self.milli_cpu.item(row) + sign * amounts.milli_cpu)
        self.memory[row] = wrap_int64(self.memory.item(row) + sign * amounts.memory)
        if amounts.gpu:
            self.gpu[row] = wrap_int64(self.gpu.item(row) + sign * amounts.gpu)

    def fill(self, amounts: Sequence[Scored]) -> None:
        """Every node's amounts."""
        if amounts:
            self.milli_cpu[:], self.memory[:], self.gpu[:] = zip(*amounts, strict=True)

    def count(self, rows: IntArray, which: Sequence[int], amounts: Sequence[Scored]) -> None:
        """Add many at once, which of the amounts to which row; sums that are too large wrap around."""
        for column, values in zip((self.milli_cpu, self.memory, self.gpu), zip(*amounts, strict=True), strict=False):
            np.add.at(column, rows, np.array(values, dtype=np.int64)[which])


def _scored(amounts: Mapping[str, object]) -> Scored:
    return Scored(milli_value(amounts.get("cpu", 0)), value(amounts.get("memory", 0)), value(amounts.get(GPU, 0)))


def _allocatable(manifests: Sequence[JsonObject]) -> list[Scored]:
    """Of each node; those of one kind state the very same list."""
    lists = [status_of(manifest).get("allocatable") or {} for manifest in manifests]
    distinct = {id(amounts): amounts for amounts in lists}
    scored = {key: _scored(amounts) for key, amounts in distinct.items()}
    return [scored[id(amounts)] for amounts in lists]


def _gate_open(_gate: str) -> bool:
    return True


class NodeView:
    """One row per node of the session's node table."""

    def __init__(
        self,
        names: Sequence[NodeName],
        nodes: Mapping[NodeName, NodeInfo],
        gate: Gate,
        *,
        release: Release = NEWEST,
        shapes: PodShapes | None = None,
    ) -> None:
        """`shapes` are those of another view with the same gates, where pods of this one are parsed already."""
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
        self.requested = Columns(size)
        self.non_zero_requested = Columns(size)
        self.allocatable = Columns(size)
        self.complete = False
        """Whether every node has both cpu and memory."""
        self._immense_nodes = False
        self.changes: list[Row] = []
        """Rows to which a pod came or from which one went, one entry each, ever growing."""

    @classmethod
    def build(
        cls,
        names: Sequence[NodeName],
        nodes: Mapping[NodeName, NodeInfo],
        images: Mapping[NodeName, ImageStates] | None = None,
        gate: Gate = _gate_open,
        *,
        release: Release = NEWEST,
        shapes: PodShapes | None = None,
    ) -> NodeView:
        """The view at session open: every task of a node counts, releasing and foreign ones included.

        A pipelined one does not: it enters with the event of its allocation.
        """
        view = cls(names, nodes, gate, release=release, shapes=shapes)
        states = image_states(dict(zip(view.names, view.manifests, strict=True))) if images is None else images
        view.allocatable.fill(_allocatable(view.manifests))
        view.images = [states.get(name, {}) for name in view.names]
        for row, name in enumerate(view.names):
            tasks = nodes[name].tasks_in_order()
            view.pods[row] = [task.pod for task in tasks if task.status is not TaskStatus.PIPELINED]
        view.pod_count[:] = [len(pods) for pods in view.pods]
        view._count_first()
        columns = (view.allocatable.milli_cpu, view.allocatable.memory)
        view.complete = len(view) > 0 and all(int(column.min()) > 0 for column in columns)
        view._immense_nodes = len(view) > 0 and any(int(column.max()) >= IMMENSE for column in columns)
        return view

    @property
    def immense(self) -> bool:
        """Whether sums and products of its amounts may not fit in 64 bits."""
        return self._immense_nodes or self.shapes.immense

    @property
    def counts(self) -> PodCounts:
        """The pods by their labels, counted once somebody asks and kept up to date from then on."""
        if self._counts is None:
            group = self.shapes.group
            self._counts = PodCounts(
                len(self), ((row, group(pod)) for row, pods in enumerate(self.pods) for pod in pods)
            )
        return self._counts

    def _count_first(self) -> None:
        """What add_pod counts, for all pods at once where nothing was counted yet."""
        rows: IntArray = np.repeat(np.arange(len(self), dtype=np.int64), self.pod_count)
        placed = list(chain.from_iterable(self.pods))
        burdens = list(map(self.shapes.burden, placed))
        distinct = {id(burden): burden for burden in burdens}
        numbers = {key: number for number, key in enumerate(distinct)}
        which = [numbers[id(burden)] for burden in burdens]
        self.requested.count(rows, which, [burden.requests.requested for burden in distinct.values()])
        self.non_zero_requested.count(rows, which, [burden.requests.non_zero for burden in distinct.values()])
        for row, pod, burden in zip(rows.tolist(), placed, burdens, strict=True):
            if burden.ports:
                self.ports.add(row, burden.ports)
            if "affinity" in pod.spec:
                self._count_terms(row, self.shapes.shape(pod).affinity, 1)

    def add_pod(self, row: Row, pod: Pod) -> None:
        """Put a pod on a node."""
        shape = self.shapes.shape(pod)
        self.pods[row].append(pod)
        self.ports.add(row, shape.ports)
        self._count(row, shape, 1)

    def remove_pod(self, row: Row, uid: TaskId) -> bool:
        """Take the pod with this UID off a node; False when it is not there (or has no UID)."""
        pods = self.pods[row]
        for position, pod in enumerate(pods):
            if uid and pod.uid == uid:
                pods[position] = pods[-1]
                pods.pop()
                shape = self.shapes.shape(pod)
                self.ports.remove(row, shape.ports)
                self._count(row, shape, -1)
                return True
        return False

    def _count(self, row: Row, shape: PodShape, sign: int) -> None:
        self.changes.append(row)
        self.pod_count[row] += sign
        self.requested.add(row, shape.requests.requested, sign)
        self.non_zero_requested.add(row, shape.requests.non_zero, sign)
        if shape.affinity is not NO_TERMS:
            self._count_terms(row, shape.affinity, sign)
        if self._counts is not None:
            self._counts.record(row, shape.group, sign)

    def _count_terms(self, row: Row, terms: PodAffinityTerms, sign: int) -> None:
        if terms.has_affinity:
            self.pods_with_affinity[row] += sign
        if terms.required_anti_affinity:
            self.pods_with_required_anti_affinity[row] += sign
        self.owners.record(row, terms, sign)

    def rows_with_affinity(self) -> BoolArray:
        """Nodes that hold pods with affinity or anti-affinity now; plugins take this once, at session open."""
        return self.pods_with_affinity > 0

    def rows_with_required_anti_affinity(self) -> BoolArray:
        """Nodes that hold pods with required anti-affinity now; plugins take this once, at session open."""
        return self.pods_with_required_anti_affinity > 0

    def __len__(self) -> int:
        return len(self.names)
