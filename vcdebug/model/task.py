"""TaskInfo, a pod's scheduling state, and statuses. Upstream: api/job_info (TaskInfo), api/types, api/helpers."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from vcdebug.grouping import split_names
from vcdebug.model.names import JobId, NodeName, TaskId, TaskKey
from vcdebug.model.pod import Pod, PodAttributes
from vcdebug.model.resource import Resource


class TransactionContext(NamedTuple):
    """A statement's plan for a task; kept after a discard for the pod's condition at session close."""

    node_name: NodeName
    eviction_occurred: bool
    job_allocated_hyper_node: str
    status: TaskStatus


class TaskInfo:
    """A pod's scheduling state. Copies share the Pod and the (never changed) request."""

    __slots__ = split_names(
        "best_effort eviction_occurred has_restartable_init_container init_resreq job job_allocated_hyper_node key "
        "last_transaction name namespace node_name pod preemptable priority resreq revocable_zone sch_gated status "
        "task_role uid"
    )

    uid: TaskId
    job: JobId
    key: TaskKey
    node_name: NodeName
    status: TaskStatus
    last_transaction: TransactionContext | None

    def __init__(self, pod: Pod, request: Resource, words: PodAttributes | None = None) -> None:
        """`words`: the pod's attributes if they are read already. Upstream: api/job_info.NewTaskInfo."""
        words = words or PodAttributes.of_pod(pod)
        spec = pod.spec
        self.pod = pod
        self.uid = pod.uid
        self.job = words.job
        self.name = pod.name
        self.namespace = pod.namespace
        self.key = pod.key
        self.task_role = words.task_role
        self.resreq = request
        self.init_resreq = request
        self.node_name = pod.node_name
        self.eviction_occurred = False
        self.job_allocated_hyper_node = ""
        self.status = status_on_node(pod, pod.node_name)
        self.last_transaction = None
        priority: int | None = words.priority
        if priority is None:
            priority = spec.get("priority")
        self.priority = 1 if priority is None else priority
        self.preemptable = words.preemptable
        self.best_effort = request.is_empty()
        self.sch_gated = "schedulingGates" in spec and bool(spec["schedulingGates"])
        self.has_restartable_init_container = "initContainers" in spec and pod.has_restartable_init_container
        self.revocable_zone = words.revocable_zone

    def clone(self) -> TaskInfo:
        """A copy without the transaction's flags, as upstream's Clone leaves them. Upstream: api/job_info.Clone."""
        copy = TaskInfo.__new__(TaskInfo)
        copy.pod, copy.uid, copy.job, copy.key = self.pod, self.uid, self.job, self.key
        copy.name, copy.namespace, copy.task_role = self.name, self.namespace, self.task_role
        copy.resreq, copy.init_resreq = self.resreq, self.init_resreq
        copy.node_name, copy.status = self.node_name, self.status
        copy.last_transaction, copy.priority = self.last_transaction, self.priority
        copy.preemptable, copy.best_effort, copy.sch_gated = self.preemptable, self.best_effort, self.sch_gated
        copy.has_restartable_init_container = self.has_restartable_init_container
        copy.revocable_zone = self.revocable_zone
        copy.eviction_occurred = False
        copy.job_allocated_hyper_node = ""
        return copy

    def clone_initial(self) -> TaskInfo:
        """A copy of the task in its initial state, for another cycle, with its own Pod; nothing is parsed again."""
        copy = self.clone()
        pod = copy.pod = self.pod.clone_initial()
        copy.node_name, copy.status, copy.last_transaction = pod.node_name, get_task_status(pod), None
        return copy

    def transaction_context(self) -> TransactionContext:
        """The task's current transaction context."""
        # tuple.__new__ skips the NamedTuple's Python-level constructor: one context per task and statement.
        values = (self.node_name, self.eviction_occurred, self.job_allocated_hyper_node, self.status)
        return tuple.__new__(TransactionContext, values)

    def __repr__(self) -> str:
        return f"TaskInfo({self.key} {self.status.upstream_name} {self.node_name})"


def get_task_status(pod: Pod) -> TaskStatus:
    """Status from phase, deletion and node name; else Unknown. Upstream: api/helpers.getTaskStatus."""
    return status_on_node(pod, pod.node_name)


def status_on_node(pod: Pod, node: str) -> TaskStatus:
    """The status of a pod if its node were `node`. Upstream: api/helpers.getTaskStatus."""
    phase = pod.status.get("phase")
    if phase == "Running":
        return TaskStatus.RELEASING if pod.deleting else TaskStatus.RUNNING
    if phase == "Pending":
        if pod.deleting:
            return TaskStatus.RELEASING
        return TaskStatus.BOUND if node else TaskStatus.PENDING
    if phase == "Succeeded":
        return TaskStatus.SUCCEEDED
    return TaskStatus.FAILED if phase == "Failed" else TaskStatus.UNKNOWN


class TaskStatus(IntEnum):
    """Status codes as upstream numbers them (they are also the keys of its JSON dumps)."""

    PENDING = 1
    ALLOCATED = 2
    PIPELINED = 4
    BINDING = 8
    BOUND = 16
    RUNNING = 32
    RELEASING = 64
    SUCCEEDED = 128
    FAILED = 256
    UNKNOWN = 512

    @property
    def upstream_name(self) -> str:
        """Upstream's spelling: `Pending`."""
        return _LABELS[self]


_LABELS = {status: status.name.capitalize() for status in TaskStatus}
STATUS_BY_LABEL = {label: status for status, label in _LABELS.items()}

ALLOCATED_CLASS = (TaskStatus.BOUND, TaskStatus.BINDING, TaskStatus.RUNNING, TaskStatus.ALLOCATED)
ALLOCATED_MASK = TaskStatus.BOUND | TaskStatus.BINDING | TaskStatus.RUNNING | TaskStatus.ALLOCATED


ENDED_STATUSES = (TaskStatus.SUCCEEDED, TaskStatus.FAILED)
"""Statuses of pods that have ended and use nothing any more."""


def is_allocated_status(status: TaskStatus) -> bool:
    """Whether the status is Bound, Binding, Running or Allocated. Upstream: api/helpers.AllocatedStatus."""
    return bool(status & ALLOCATED_MASK)


def is_preemptable_status(status: TaskStatus) -> bool:
    """Whether the status is Bound or Running. Upstream: api/helpers.PreemptableStatus."""
    return status is TaskStatus.RUNNING or status is TaskStatus.BOUND


def is_completed_status(status: TaskStatus) -> bool:
    """Whether the status is Failed or Succeeded. Upstream: api/helpers.CompletedStatus."""
    return status is TaskStatus.FAILED or status is TaskStatus.SUCCEEDED
