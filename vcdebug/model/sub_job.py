"""Tasks by status with a gang minimum (TaskSet), and sub jobs: the groups that subGroupPolicy makes of a job's pods.

Upstream: api/job_info, api/sub_job_info.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from vcdebug.gomath import DECIMAL_INTEGER
from vcdebug.grouping import split_names
from vcdebug.model.names import JobId, SubJobId, TaskId
from vcdebug.model.pod_group import NetworkTopology, PodGroup, SubGroupPolicy
from vcdebug.model.resource import Resource
from vcdebug.model.task import ALLOCATED_CLASS, TaskInfo, TaskStatus
from vcdebug.snapshot.cycle_inputs import ASCENDING, MapOrder
from vcdebug.snapshot.manifest import label_selector_matches


class MinimumCount(Struct, frozen=True):
    """A count and the minimum that the gang needs: pods of a role, or sub jobs of a policy."""

    name: str
    actual: int
    minimum: int

    @property
    def is_reached(self) -> bool:
        return self.actual >= self.minimum


StatusIndex = dict[TaskStatus, dict[TaskId, TaskInfo]]


def index_by_status(tasks: Iterable[TaskInfo]) -> StatusIndex:
    """Status → the tasks with this status."""
    index: StatusIndex = {}
    for task in tasks:
        index.setdefault(task.status, {})[task.uid] = task
    return index


READY_STATUSES = (*ALLOCATED_CLASS, TaskStatus.SUCCEEDED)


class TaskSet:
    """Tasks by status with a gang minimum: the common part of JobInfo and SubJobInfo."""

    __slots__ = split_names("_idle_pending _ready _ready_at changes min_available ordering task_status_index tasks")

    def __init__(self, min_available: int, ordering: MapOrder = ASCENDING) -> None:
        self.min_available = min_available
        self.ordering = ordering
        self.tasks: dict[TaskId, TaskInfo] = {}
        self.task_status_index: StatusIndex = {}
        self.changes = 0
        """Number of changes so far: tasks added, removed, or with a new status."""
        self._ready = 0
        self._ready_at = 0
        """The number of changes at which `_ready` was counted."""
        self._idle_pending = 0
        """Number of Pending tasks that request nothing; always up to date, as every order comparison reads it."""

    def set_initial_tasks(self, tasks: dict[TaskId, TaskInfo], index: StatusIndex) -> None:
        """Set the first tasks with their index: the same as index_task for each."""
        self.tasks = tasks
        self.task_status_index = index
        self.changes = len(tasks)
        pending = index.get(TaskStatus.PENDING)
        if pending:
            self._idle_pending = len([1 for task in pending.values() if task.best_effort])

    def share_tasks_of(self, other: TaskSet) -> None:
        """Share the dicts of another set; for a set without tasks."""
        self.tasks, self.task_status_index = other.tasks, other.task_status_index
        self.changes, self._idle_pending = other.changes, other._idle_pending

    def index_task(self, task: TaskInfo) -> None:
        """Add the task to the index under its current status. Upstream: api/job_info.addTaskIndex."""
        self.changes += 1
        entries = self.task_status_index.get(task.status)
        if entries is None:
            entries = self.task_status_index[task.status] = {}
        if task.status is TaskStatus.PENDING and task.best_effort and task.uid not in entries:
            self._idle_pending += 1
        entries[task.uid] = task

    def unindex_task(self, uid: TaskId, status: TaskStatus) -> None:
        """Remove a task, and its status if that becomes empty. Upstream: api/job_info.deleteTaskIndex."""
        entries = self.task_status_index.get(status)
        if entries is None or uid not in entries:
            return
        if status is TaskStatus.PENDING and entries[uid].best_effort:
            self._idle_pending -= 1
        self.changes += 1
        del entries[uid]
        if not entries:
            del self.task_status_index[status]

    def reindex_task(self, task: TaskInfo, old_status: TaskStatus) -> None:
        """unindex_task and index_task in one: the task moves from one status to the one that it has now."""
        uid, status, index = task.uid, task.status, self.task_status_index
        entries = index.get(old_status)
        if entries is not None and uid in entries:
            if old_status is TaskStatus.PENDING and entries[uid].best_effort:
                self._idle_pending -= 1
            self.changes += 1
            del entries[uid]
            if not entries:
                del index[old_status]
        self.changes += 1
        entries = index.get(status)
        if entries is None:
            entries = index[status] = {}
        if status is TaskStatus.PENDING and task.best_effort and uid not in entries:
            self._idle_pending += 1
        entries[uid] = task

    def tasks_with_status(self, status: TaskStatus) -> list[TaskInfo]:
        """Tasks of one status, by UID in the cycle's order."""
        entries = self.task_status_index.get(status)
        return [entries[uid] for uid in self.ordering.order_keys(entries)] if entries else []

    def count_tasks(self, *statuses: TaskStatus) -> int:
        """Number of tasks with one of these statuses."""
        index, number = self.task_status_index, 0
        if len(statuses) == 1:
            return len(index.get(statuses[0], ()))
        for status, entries in index.items():
            if status in statuses:
                number += len(entries)
        return number

    def count_each(self, *statuses: TaskStatus) -> list[int]:
        """Number of tasks with each of these statuses."""
        index = self.task_status_index
        return [len(index[status]) if status in index else 0 for status in statuses]

    def ready_task_num(self) -> int:
        """Number of Bound, Binding, Running, Allocated and Succeeded tasks.
        Upstream: api/job_info.ReadyTaskNum, api/sub_job_info.ReadyTaskNum.
        """
        if self._ready_at != self.changes:
            self._ready, self._ready_at = self.count_tasks(*READY_STATUSES), self.changes
        return self._ready

    def waiting_task_num(self) -> int:
        """Number of Pipelined tasks. Upstream: api/job_info.WaitingTaskNum, api/sub_job_info.WaitingTaskNum."""
        return len(self.task_status_index.get(TaskStatus.PIPELINED, ()))

    def allocated_task_num(self) -> int:
        """Number of Bound, Binding, Running and Allocated tasks.
        Upstream: api/job_info.AllocatedTaskNum, api/sub_job_info.AllocatedTaskNum.
        """
        return self.count_tasks(*ALLOCATED_CLASS)

    def pending_best_effort_task_num(self) -> int:
        """Number of Pending tasks that request nothing.
        Upstream: api/job_info.PendingBestEffortTaskNum, api/sub_job_info.PendingBestEffortTaskNum.
        """
        return self._idle_pending

    def settled_task_num(self) -> int:
        """Number of ready tasks and of pending ones that request nothing."""
        ready = self._ready if self._ready_at == self.changes else self.ready_task_num()
        return ready + self._idle_pending

    def placed_task_num(self) -> int:
        """Number of ready and of pipelined tasks."""
        return self.ready_task_num() + self.waiting_task_num()

    def is_ready(self) -> bool:
        """Whether ready and best-effort pending tasks reach the minimum.
        Upstream: api/job_info.IsReady, api/sub_job_info.IsReady.
        """
        ready = self._ready if self._ready_at == self.changes else self.ready_task_num()
        return ready + self._idle_pending >= self.min_available

    def is_pipelined(self) -> bool:
        """As is_ready, but pipelined tasks count. Upstream: api/job_info.IsPipelined, api/sub_job_info.IsPipelined."""
        return self.waiting_task_num() + self.settled_task_num() >= self.min_available

    def is_starving(self) -> bool:
        """Whether pipelined and ready tasks stay below the minimum (best-effort pending ones do not count).
        Upstream: api/job_info.IsStarving.
        """
        return self.placed_task_num() < self.min_available


_MAX_ID_BYTES = 128
_SAFE_ENCODE_CHARS = "bcdfghjklmnpqrstvwxz2456789"


class SubJobInfo(TaskSet):
    """One group of a job's tasks with its own minimum and topology; a job without policies has one.

    As upstream's, its status index can keep stale entries: `delete_task` removes by the status passed in.
    """

    __slots__ = split_names(
        "allocated_hyper_node gid job match_index network_topology nominated_hyper_node priority uid"
    )

    def __init__(
        self,
        uid: SubJobId,
        gid: str,
        job: JobId,
        min_available: int,
        topology: NetworkTopology | None,
        match: str = "",
        ordering: MapOrder = ASCENDING,
    ) -> None:
        super().__init__(min_available, ordering)
        self.uid = uid
        self.gid = gid
        self.job = job
        self.priority = 0
        self.match_index = int(match) if match and DECIMAL_INTEGER.fullmatch(match) else 0
        self.network_topology = topology.clone() if topology else None
        self.allocated_hyper_node = ""
        self.nominated_hyper_node = ""

    def add_task(self, task: TaskInfo) -> None:
        """Enter a task; the priority only ever grows. Upstream: api/sub_job_info.addTask."""
        self.tasks[task.uid] = task
        self.index_task(task)
        if task.priority > self.priority:
            self.priority = task.priority

    def delete_task(self, task: TaskInfo) -> None:
        """Remove by the status of the object passed in. Upstream: api/sub_job_info.deleteTask."""
        self.tasks.pop(task.uid, None)
        self.unindex_task(task.uid, task.status)

    def exchange_task(self, task: TaskInfo, old_status: TaskStatus) -> None:
        """delete_task and add_task in one, where the task had the status `old_status` when it was deleted."""
        tasks, uid = self.tasks, task.uid
        tasks.pop(uid, None)
        tasks[uid] = task
        self.reindex_task(task, old_status)
        if task.priority > self.priority:
            self.priority = task.priority

    def get_min_resources(self) -> Resource:
        """Requests of tasks indexed as Pending, even stale ones. Upstream: api/sub_job_info.GetMinResources."""
        return Resource().add_all(task.init_resreq for task in self.tasks_with_status(TaskStatus.PENDING))

    def with_network_topology(self) -> bool:
        """Whether this sub job states a topology. Upstream: api/sub_job_info.WithNetworkTopology."""
        return self.network_topology is not None


def match_sub_group(job: JobId, group: PodGroup, task: TaskInfo) -> tuple[SubGroupPolicy, SubJobId, str] | None:
    """(policy, sub job id, first match value) of the first policy that matches the task.
    Upstream: api/sub_job_info.getSubJobGID, api/sub_job_info.getSubJobID.
    """
    for policy in group.sub_group_policies:
        values = _match_values(policy, task)
        if values:
            return policy, f"{job}/{policy.name}-{_join_match_values(values)}", values[0]
    return None


def _match_values(policy: SubGroupPolicy, task: TaskInfo) -> list[str]:
    """Upstream: api/sub_job_info.getSubJobMatchValues."""
    labels = task.pod.labels
    if policy.label_selector is not None and not label_selector_matches(policy.label_selector, labels):
        return []
    values = [labels.get(key, "") for key in policy.match_label_keys]
    return values if all(values) else []


def _join_match_values(values: list[str]) -> str:
    text = "-".join(values)
    if len(text.encode()) <= _MAX_ID_BYTES:
        return text
    # FNV-1a of 32 bits, then Kubernetes' SafeEncodeString: both as upstream shortens ids that are too long.
    number = 0x811C9DC5
    for byte in text.encode():
        number = ((number ^ byte) * 0x01000193) & 0xFFFFFFFF
    return "".join(_SAFE_ENCODE_CHARS[ord(digit) % len(_SAFE_ENCODE_CHARS)] for digit in str(number))  # exact: ints
