"""ClusterInfo: what the cache hands to a session. Upstream: cache/event_handlers, cache.Snapshot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Final

from vcdebug.model.hyper_nodes import HyperNodes
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName, QueueName, TaskId, TaskKey
from vcdebug.model.node import NodeAmounts, NodeInfo
from vcdebug.model.pod import TaskStatePersistence
from vcdebug.model.pod_claims import limit_key_function
from vcdebug.model.pod_group import PodGroup
from vcdebug.model.pod_reader import CLAIM_KIND, VOLUME_KINDS, EarlierTasks, PodReader, pod_inputs
from vcdebug.model.pod_resources import RequestSums, StatedAmounts
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource_list import ignored_names
from vcdebug.model.task import TaskInfo, TaskStatus, get_task_status, is_completed_status
from vcdebug.releases.nodes import NODE_NOT_READY_ABSENT
from vcdebug.releases.scheduling import HEADER_NOT_READY, MINIMUM_UNSAID, SUBJOBS_ABSENT, TOPOLOGY_ABSENT
from vcdebug.snapshot.cycle_inputs import MapOrder
from vcdebug.snapshot.manifest import JsonObject, find_condition, name_of, spec_of, status_of
from vcdebug.snapshot.snapshot import Snapshot


class ClusterInfo:
    """Jobs, nodes and queues (by name in the cycle's map order), and all other input of a session."""

    def __init__(
        self,
        snapshot: Snapshot,
        reuse_from: ClusterInfo | None = None,
        opening: ReusableCluster | None = None,
        *,
        running_tasks_are_read_only: bool = False,
        ignored: tuple[str, ...] | None = None,
    ) -> None:
        """`reuse_from` was read from nearly the same objects; `opening` is what a cycle on them began with.

        `running_tasks_are_read_only`: actions change only copies of tasks that are on a node already. `ignored`:
        resources dropped wherever amounts are read; by default those that every scheduler of the release drops.
        """
        self.snapshot = snapshot
        self.ordering = MapOrder(snapshot.chance.order_seed)
        self.queues: dict[QueueName, QueueInfo] = {}
        self.nodes: dict[NodeName, NodeInfo] = {}
        self.jobs: dict[JobId, JobInfo] = {}
        self.orphans: list[TaskInfo] = []
        """Tasks that Volcano handles but whose job is not in the session."""
        self.restored: dict[TaskId, NodeName] = {}
        """Tasks that an earlier cycle pipelined → their node."""
        self.panic: tuple[str, TaskKey] | None = None
        """(message, pod) of a panic while the scheduler reads its pods, before any cycle; None without one."""
        self.unseen: dict[TaskKey, str] = {}
        """Pods that the cache lacks because of an error → the reason."""
        self.distinct = True
        """Whether no two pods have the same name or UID."""
        self.priority_classes = _PriorityClasses(snapshot)
        self.ignored = ignored_names(snapshot.release) if ignored is None else ignored
        self._read_queues()
        self._read_nodes()
        self.persistence = TaskStatePersistence(snapshot, self.nodes)
        self._shared = running_tasks_are_read_only and not self.persistence.is_on
        self._read_jobs()
        if opening is not None and opening.can_fill(self):
            opening.fill_cluster(self)
        else:
            self._read_pods(reuse_from)
        labels = {name: node.labels for name, node in self.nodes.items()}
        manifests = () if snapshot.release.has_older_form(TOPOLOGY_ABSENT) else snapshot.objects_of("HyperNode")
        self.hyper_nodes = HyperNodes(manifests, labels)

    def _read_queues(self) -> None:
        queues = [QueueInfo(manifest, self.ignored) for manifest in self.snapshot.objects_of("Queue")]
        by_name = {queue.name: queue for queue in queues}
        self.queues = {name: by_name[name] for name in self.ordering.order_keys(by_name)}

    def _read_nodes(self) -> None:
        limits = _csi_limits(self.snapshot)
        amounts = StatedAmounts(self.ignored)
        by_name: dict[NodeName, NodeInfo] = {}
        for manifest in self.snapshot.objects_of("Node"):
            node = NodeInfo(manifest, self.ordering, amounts)
            if self._is_selected(node):
                node.add_csi_limits(limits.get(node.name, {}))
                by_name[node.name] = node
        self.nodes = {name: by_name[name] for name in self.ordering.order_keys(by_name)}

    def _is_selected(self, node: NodeInfo) -> bool:
        if self.snapshot.release.has_older_form(NODE_NOT_READY_ABSENT) and is_not_ready(node.manifest):
            return False
        selector = self.snapshot.flags.node_selector
        return not selector or any(f"{key}:{value}" in selector for key, value in node.labels.items())

    def _read_jobs(self) -> None:
        jobs: dict[JobId, JobInfo] = {}
        amounts = StatedAmounts(self.ignored)
        has_older_form = self.snapshot.release.has_older_form
        says_ready, says_minimum = not has_older_form(HEADER_NOT_READY), not has_older_form(MINIMUM_UNSAID)
        for manifest in self.snapshot.objects_of("PodGroup"):
            group = PodGroup(manifest, amounts)
            if has_older_form(SUBJOBS_ABSENT):
                group.drop_sub_groups()
            if has_older_form(TOPOLOGY_ABSENT):
                group.network_topology = None
            job = JobInfo(group, self.snapshot.flags.default_queue, self.ordering)
            job.priority = self.priority_classes.value_of(job.pod_group.priority_class_name)
            job.says_ready, job.says_minimum = says_ready, says_minimum
            if job.queue in self.queues:
                jobs[job.uid] = job
        self.jobs = {uid: jobs[uid] for uid in self.ordering.order_keys(jobs)}

    def _read_pods(self, reuse_from: ClusterInfo | None) -> None:
        tasks: dict[str, TaskInfo] = {}
        reader = PodReader(self.snapshot, self.ignored, None if reuse_from is None else _earlier_tasks(reuse_from))
        for task in reader.read_tasks(self.snapshot.objects_of("Pod")):
            tasks[task.uid or task.key] = task
        self.panic, self.unseen = reader.panic, reader.unseen
        uids, keys = (set(map(attrgetter(name), tasks.values())) for name in ("uid", "key"))
        self.distinct = len(uids) == len(keys) == len(tasks) and "" not in uids
        ordered = sorted(tasks.values(), key=attrgetter("key"))
        if self.persistence.is_on:
            for task in ordered:
                if task.job in self.jobs:
                    self._restore_placement(task)
        self._place_tasks(ordered)

    def _place_tasks(self, tasks: Sequence[TaskInfo]) -> None:
        """Add the tasks to their nodes and jobs, which do not depend on each other: each gets its tasks together."""
        on_nodes: defaultdict[NodeName, list[TaskInfo]] = defaultdict(list)
        of_jobs: defaultdict[JobId, list[TaskInfo]] = defaultdict(list)
        for task in tasks:
            on_nodes[task.node_name].append(task)
            of_jobs[task.job].append(task)
        for name, node_tasks in on_nodes.items():
            if name and name in self.nodes:
                active = [task for task in node_tasks if not is_completed_status(task.status)]
                self.nodes[name].add_initial_tasks(active, shared=self._shared)
        sums = RequestSums()
        for uid, owned in of_jobs.items():
            if uid in self.jobs:
                self.jobs[uid].add_initial_tasks(owned, sums)
        if any(uid not in self.jobs for uid in of_jobs):
            self.orphans += [task for task in tasks if task.job and task.job not in self.jobs]

    def add_to_job(self, task: TaskInfo) -> None:
        """Put a task into its job, if the session has that."""
        if not task.job:
            return
        job = self.jobs.get(task.job)
        if job is None:
            self.orphans.append(task)
        else:
            job.add_task_info(task)

    def _restore_placement(self, task: TaskInfo) -> None:
        """Set a task to Pipelined if its annotations say so; they take precedence over the pod's phase."""
        placement = self.persistence.find_placement(task.pod)
        if placement is not None:
            task.status = TaskStatus.PIPELINED
            task.node_name = placement.node
            task.eviction_occurred = placement.eviction
            self.restored[task.uid] = placement.node


class _PriorityClasses:
    """Priority values by class name; other pods get that of the last global default, by name."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.values: dict[str, int] = {}
        self.default = 0
        if not (snapshot.flags.priority_class and snapshot.flags.is_gate_on("PriorityClass")):
            return
        manifests: dict[str, JsonObject] = {name_of(m): m for m in snapshot.objects_of("PriorityClass")}
        for name in sorted(manifests):
            self.values[name] = manifests[name].get("value") or 0
            if manifests[name].get("globalDefault"):
                self.default = self.values[name]

    def value_of(self, name: str) -> int:
        return self.values.get(name, self.default)


def is_not_ready(node: JsonObject) -> bool:
    """Whether the node has a condition Ready that is not True. Upstream: api/node_info (v1.10: setNodeState)."""
    ready = find_condition(status_of(node), "Ready")
    return bool(ready) and ready.get("status") != "True"


def _csi_limits(snapshot: Snapshot) -> dict[NodeName, dict[str, float]]:
    """Attachable volumes per node from CSINode objects; a driver without a count is practically unlimited."""
    limits: dict[NodeName, dict[str, float]] = {}
    limit_key = limit_key_function(snapshot.release)
    for manifest in snapshot.objects_of("CSINode"):
        name = name_of(manifest)
        for driver in spec_of(manifest).get("drivers") or ():
            count = (driver.get("allocatable") or {}).get("count")
            key = limit_key(driver.get("name", ""))
            limits.setdefault(name, {})[key] = float(2147483647 if count is None else count)
    return limits


def _earlier_tasks(cluster: ClusterInfo) -> EarlierTasks:
    """The cluster's tasks for reuse: data that they read from pods is valid whatever the cycle did to them."""
    node_tasks = (node.tasks.values() for node in cluster.nodes.values())
    of_jobs = (job.tasks.values() for job in cluster.jobs.values())
    tasks = chain(chain.from_iterable(node_tasks), chain.from_iterable(of_jobs), cluster.orphans)
    inputs = pod_inputs(cluster.snapshot, cluster.ignored)
    return EarlierTasks(cluster.snapshot, inputs, {id(task.pod.manifest): task for task in tasks})


# What an earlier cycle on nearly the same objects began with. Amounts and sums are those that were added up then, task
# by task in the same order; tasks that neither cycle can have changed are shared, every other one is built.

_TASK_KINDS: Final = ("Pod", *VOLUME_KINDS, CLAIM_KIND)
"""Kinds of the objects from which tasks are made."""
_LIMITS_KIND: Final = "CSINode"


class ReusableCluster:
    """The cluster of a finished cycle whose actions changed only copies of running tasks."""

    def __init__(self, cluster: ClusterInfo, amounts: Mapping[NodeName, NodeAmounts]) -> None:
        """`amounts`: the amounts of every node when the session opened."""
        self._cluster = cluster
        self._amounts = amounts
        tables = [node.table for node in cluster.nodes.values() if node.table is not None][:1]
        self._changed_rows = dict.fromkeys(tables[0].changes) if tables else {}

    def can_fill(self, cluster: ClusterInfo) -> bool:
        """Whether a cluster without pods so far would begin with the same pods on the same nodes."""
        old = self._cluster
        if pod_inputs(old.snapshot, old.ignored) != pod_inputs(cluster.snapshot, cluster.ignored):
            return False
        if old.persistence.is_on or cluster.persistence.is_on or not old.distinct:
            return False
        same = all(old.snapshot.shares_list(kind, cluster.snapshot) for kind in _TASK_KINDS)
        return same and self._has_same_nodes(cluster)

    def _has_same_nodes(self, cluster: ClusterInfo) -> bool:
        """Whether the cluster has exactly the same nodes; only their amounts are known."""
        if not self._cluster.snapshot.shares_list(_LIMITS_KIND, cluster.snapshot):
            return False
        nodes = self._cluster.nodes
        same = [name in nodes and nodes[name].manifest is node.manifest for name, node in cluster.nodes.items()]
        return all(same) and len(same) == len(nodes) == len(self._amounts)

    def fill_cluster(self, cluster: ClusterInfo) -> None:
        """Fill nodes and jobs, with the same result as reading the pods one by one."""
        cluster.unseen = self._cluster.unseen
        for name, node in cluster.nodes.items():
            self._fill_node(node, self._cluster.nodes[name])
        orphans = [*self._cluster.orphans]
        for uid, job in self._cluster.jobs.items():
            if uid not in cluster.jobs:
                orphans += job.tasks.values()
            elif not _fill_job(cluster.jobs[uid], job):
                _add_all(job.tasks.values(), cluster.jobs[uid].add_task_info)
        _add_all(orphans, cluster.add_to_job)

    def _fill_node(self, node: NodeInfo, old: NodeInfo) -> None:
        amounts = node.last_amounts = self._amounts[node.name]
        node.idle, node.used = amounts.idle.clone(), amounts.used.clone()
        node.releasing, node.pipelined = amounts.releasing.clone(), amounts.pipelined.clone()
        node.tasks = dict(_initial_tasks(old) if old.row in self._changed_rows else old.tasks)


def _initial_tasks(node: NodeInfo) -> Iterator[tuple[TaskKey, TaskInfo]]:
    """The tasks that a node had before anything was placed or evicted there."""
    for key in sorted(node.tasks):
        task = node.tasks[key]
        if task.pod.stated_node == node.name:
            yield key, task if _is_unchanged(task) else task.clone_initial()


def _is_unchanged(task: TaskInfo) -> bool:
    return task.last_transaction is None and task.status is get_task_status(task.pod)


def _fill_job(job: JobInfo, old: JobInfo) -> bool:
    """Fill a job from its earlier state; returns False if its tasks are in groups, or the cycle changed any."""
    if job.pod_group.sub_group_policies or old.pod_group.sub_group_policies or old.changes != len(old.tasks):
        return False
    if not old.tasks:
        return True
    tasks = {
        uid: task.clone_initial() if task.status is TaskStatus.PENDING else task for uid, task in old.tasks.items()
    }
    job.total_request, job.allocated = old.total_request.clone(), old.allocated.clone()
    job.task_to_sub_job = old.task_to_sub_job.copy()
    job.begin_undivided(tasks).priority = old.sub_jobs[job.uid].priority
    return True


def _add_all(tasks: Iterable[TaskInfo], add: Callable[[TaskInfo], None]) -> None:
    """Add a fresh copy of each task, in the order in which pods are read."""
    for task in sorted(tasks, key=attrgetter("key")):
        add(task.clone_initial())
