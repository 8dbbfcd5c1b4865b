"""What an earlier cycle on nearly the same objects began with: nodes with their pods, and jobs with their tasks.

Amounts and sums are those that were added up then, task by task in the same order. Tasks that no cycle of the two can
have changed are shared; every other one is made afresh from its pod.

Upstream: none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from vcdebug.model.names import NodeName, TaskKey
from vcdebug.model.node_table import NodeAmounts
from vcdebug.model.task import TaskInfo, TaskStatus, get_task_status
from vcdebug.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from vcdebug.model.cluster import ClusterInfo
    from vcdebug.model.job import JobInfo
    from vcdebug.model.node import NodeInfo

_TASK_KINDS: Final = ("Pod", "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "ResourceClaim")
"""What tasks are made of."""
_LIMITS_KIND: Final = "CSINode"


class ReusableCluster:
    """The cluster of a cycle that is over, which evicted nothing but copies of tasks."""

    def __init__(self, cluster: ClusterInfo, amounts: Mapping[NodeName, NodeAmounts]) -> None:
        """`amounts` are those of every node when the session had opened."""
        self._cluster = cluster
        self._amounts = amounts
        tables = [node.table for node in cluster.nodes.values() if node.table is not None][:1]
        self._changed = dict.fromkeys(tables[0].changes) if tables else {}

    def can_fill(self, now: ClusterInfo) -> bool:
        """Whether a cluster with its nodes read, but not yet its pods, begins with the same pods on the same nodes."""
        old, new = self._cluster.snapshot, now.snapshot
        if old.flags != new.flags or self._cluster.ignored != now.ignored:
            return False
        if self._cluster.persistence.on or now.persistence.on or not self._cluster.distinct:
            return False
        return all(_is_same_kind(kind, old, new) for kind in _TASK_KINDS) and self._has_same_nodes(now)

    def _has_same_nodes(self, now: ClusterInfo) -> bool:
        """Whether the nodes are these: what is on another one is not known here."""
        if not _is_same_kind(_LIMITS_KIND, self._cluster.snapshot, now.snapshot):
            return False
        nodes = self._cluster.nodes
        same = [name in nodes and nodes[name].manifest is node.manifest for name, node in now.nodes.items()]
        return all(same) and len(same) == len(nodes) == len(self._amounts)

    def fill_cluster(self, now: ClusterInfo) -> None:
        """Fill nodes and jobs as reading the pods one by one does."""
        now.unseen = self._cluster.unseen
        for name, node in now.nodes.items():
            self._fill_node(node, self._cluster.nodes[name])
        loose = [*self._cluster.orphans]
        for uid, job in self._cluster.jobs.items():
            if uid not in now.jobs:
                loose += job.tasks.values()
            elif not _fill_job(now.jobs[uid], job):
                _add_all(job.tasks.values(), now.jobs[uid].add_task_info)
        _add_all(loose, now.add_to_job)

    def _fill_node(self, node: NodeInfo, before: NodeInfo) -> None:
        known = node.last_amounts = self._amounts[node.name]
        node.idle, node.used = known.idle.clone(), known.used.clone()
        node.releasing, node.pipelined = known.releasing.clone(), known.pipelined.clone()
        node.tasks = dict(_initial_tasks(before) if before.row in self._changed else before.tasks)


def _is_same_kind(kind: str, old: Snapshot, new: Snapshot) -> bool:
    return old.objects.get(kind) is new.objects.get(kind)


def _initial_tasks(node: NodeInfo) -> Iterator[tuple[TaskKey, TaskInfo]]:
    """The tasks that a node had before anything was placed or evicted there."""
    for key in sorted(node.tasks):
        task = node.tasks[key]
        if task.pod.stated_node == node.name:
            yield key, task if _is_as_read(task) else task.clone_initial()


def _is_as_read(task: TaskInfo) -> bool:
    return task.last_transaction is None and task.status is get_task_status(task.pod)


def _fill_job(job: JobInfo, before: JobInfo) -> bool:
    """False where tasks are in groups, or the earlier cycle has changed some of them."""
    if job.pod_group.sub_group_policies or before.pod_group.sub_group_policies or before.changes != len(before.tasks):
        return False
    if not before.tasks:
        return True
    tasks = {
        uid: task.clone_initial() if task.status is TaskStatus.PENDING else task for uid, task in before.tasks.items()
    }
    job.total_request, job.allocated = before.total_request.clone(), before.allocated.clone()
    job.task_to_sub_job = before.task_to_sub_job.copy()
    job.begin_undivided(tasks).priority = before.sub_jobs[job.uid].priority
    return True


def _add_all(tasks: Iterable[TaskInfo], add: Callable[[TaskInfo], None]) -> None:
    """Each made afresh, in the order in which pods are read."""
    for task in sorted(tasks, key=attrgetter("key")):
        add(task.clone_initial())
