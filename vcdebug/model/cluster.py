"""ClusterInfo: jobs, nodes and queues that the cache hands to a session.

Upstream: cache/event_handlers, cache.Snapshot, cache (WaitForCacheSync before the workers that read nodes),
api/shared_device_pool (IgnoredDevicesList).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from operator import attrgetter
from typing import Final

from vcdebug.errors import SchedulerPanic
from vcdebug.gotime import parse_time
from vcdebug.model import pod_claims
from vcdebug.model.hyper_nodes import HyperNodes
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName, QueueName, TaskId, TaskKey
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeAmounts
from vcdebug.model.pod import Pod, PodAttributes, TaskStatePersistence
from vcdebug.model.pod_group import PodGroup
from vcdebug.model.pod_resources import PodRequestCache, RequestSums, StatedAmounts
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource_list import ignored_names
from vcdebug.model.task import TaskInfo, TaskStatus, get_task_status, is_completed_status
from vcdebug.releases.queues import DRA_QUOTA
from vcdebug.releases.scheduling import ADD_POD_ON_ERROR, HEADER_NOT_READY, QUEUE_ALLOCATION_GATE
from vcdebug.releases.topology import SUBJOBS_ABSENT
from vcdebug.snapshot.cycle_inputs import MapOrder, SchedulerProcess
from vcdebug.snapshot.manifest import JsonObject, key_of, name_of, spec_of
from vcdebug.snapshot.snapshot import Manifest, Snapshot


class ClusterInfo:
    """Jobs, nodes and queues, in the order in which the cycle visits maps, and what else a session starts from."""

    def __init__(
        self,
        snapshot: Snapshot,
        beside: ClusterInfo | None = None,
        opening: ReusableCluster | None = None,
        *,
        sparing: bool = False,
        ignored: tuple[str, ...] | None = None,
    ) -> None:
        """Read a snapshot. `beside`: a cluster whose tasks are copied where their pods are the same objects.
        `opening`: an earlier cycle whose tasks and amounts at session open are copied if all of its inputs are equal.

        `sparing`: actions change only copies of tasks that are on a node, so that a node may hold the job's own
        objects. `ignored`: resources that are dropped from every amount; None means those that the release drops.
        """
        self.snapshot = snapshot
        self.ordering = MapOrder(snapshot.chance.order_seed)
        self.queues: dict[QueueName, QueueInfo] = {}
        self.nodes: dict[NodeName, NodeInfo] = {}
        self.jobs: dict[JobId, JobInfo] = {}
        self.orphans: list[TaskInfo] = []
        """Tasks of Volcano's schedulers whose job is not in the session."""
        self.restored: dict[TaskId, NodeName] = {}
        """Tasks that an earlier cycle pipelined, with their nodes."""
        self.panic: tuple[str, TaskKey] | None = None
        """The panic that ends the process while it reads its pods, and the pod."""
        self.unseen: dict[TaskKey, str] = {}
        """Pods that upstream's cache drops by an error, and the error."""
        self.distinct = True
        """Whether no two pods have the same name or UID."""
        self.priority_classes = _PriorityClasses(snapshot)
        self.ignored = ignored_names(snapshot.release) if ignored is None else ignored
        self._read_queues()
        self._read_nodes()
        self.persistence = TaskStatePersistence(snapshot, self.nodes)
        self._shared = sparing and not self.persistence.on
        self._read_jobs()
        if opening is not None and opening.can_fill(self):
            opening.fill_cluster(self)
        else:
            self._read_pods(beside)
        labels = {name: node.labels for name, node in self.nodes.items()}
        self.hyper_nodes = HyperNodes(snapshot.objects_of("HyperNode"), labels)

    def _read_queues(self) -> None:
        # Upstream ranges over Go maps, whose order differs from run to run: the replay takes one order for all maps.
        queues = [QueueInfo(manifest, self.ignored) for manifest in self.snapshot.objects_of("Queue")]
        by_name = {queue.name: queue for queue in queues}
        self.queues = {name: by_name[name] for name in self.ordering.order_keys(by_name)}

    def _read_nodes(self) -> None:
        limits = _csi_limits(self.snapshot)
        stated = StatedAmounts(self.ignored)
        by_name: dict[NodeName, NodeInfo] = {}
        for manifest in self.snapshot.objects_of("Node"):
            node = NodeInfo(manifest, self.ordering, stated)
            if self._is_selected(node):
                node.add_csi_limits(limits.get(node.name, {}))
                by_name[node.name] = node
        self.nodes = {name: by_name[name] for name in self.ordering.order_keys(by_name)}

    def _is_selected(self, node: NodeInfo) -> bool:
        # Several --node-selector flags are alternatives: upstream takes a node that has any one of the labels.
        selector = self.snapshot.flags.node_selector
        return not selector or any(f"{key}:{value}" in selector for key, value in node.labels.items())

    def _read_jobs(self) -> None:
        jobs: dict[JobId, JobInfo] = {}
        stated = StatedAmounts(self.ignored)
        says_ready = not self.snapshot.release.has_older_form(HEADER_NOT_READY)
        for manifest in self.snapshot.objects_of("PodGroup"):
            group = PodGroup(manifest, stated)
            if self.snapshot.release.has_older_form(SUBJOBS_ABSENT):
                group.drop_sub_groups()
            job = JobInfo(group, self.snapshot.flags.default_queue, self.ordering)
            job.priority = self.priority_classes.value_of(job.pod_group.priority_class_name)
            job.says_ready = says_ready
            if job.queue in self.queues:
                jobs[job.uid] = job
        self.jobs = {uid: jobs[uid] for uid in self.ordering.order_keys(jobs)}

    def _read_pods(self, beside: ClusterInfo | None) -> None:
        tasks: dict[str, TaskInfo] = {}
        reader = PodReader(self.snapshot, beside, self.ignored)
        for task in reader.read_tasks(self.snapshot.objects_of("Pod")):
            tasks[task.uid or task.key] = task
        self.panic, self.unseen = reader.panic, reader.unseen
        # A cluster whose keys or UIDs occur twice is not reused: by-key copies would drop one of the two pods.
        uids, keys = (set(map(attrgetter(name), tasks.values())) for name in ("uid", "key"))
        self.distinct = len(uids) == len(keys) == len(tasks) and "" not in uids
        ordered = sorted(tasks.values(), key=attrgetter("key"))
        if self.persistence.on:
            for task in ordered:
                if task.job in self.jobs:
                    self._restore_placement(task)
        self._place_tasks(ordered)

    def _place_tasks(self, tasks: Sequence[TaskInfo]) -> None:
        """Give every node and every job its tasks, in the order of their keys.

        Nodes and jobs do not depend on each other here, so that each adds all of its tasks at once.
        """
        on_nodes: defaultdict[NodeName, list[TaskInfo]] = defaultdict(list)
        of_jobs: defaultdict[JobId, list[TaskInfo]] = defaultdict(list)
        for task in tasks:
            on_nodes[task.node_name].append(task)
            of_jobs[task.job].append(task)
        for name, placed in on_nodes.items():
            if name and name in self.nodes:
                held = [task for task in placed if not is_completed_status(task.status)]
                self.nodes[name].add_initial_tasks(held, shared=self._shared)
        sums = RequestSums()
        for uid, owned in of_jobs.items():
            if uid in self.jobs:
                self.jobs[uid].add_initial_tasks(owned, sums)
        if any(uid not in self.jobs for uid in of_jobs):
            self.orphans += [task for task in tasks if task.job and task.job not in self.jobs]

    def add_to_job(self, task: TaskInfo) -> None:
        """Add a task to its job; a task whose job is not in the session becomes an orphan."""
        if not task.job:
            return
        job = self.jobs.get(task.job)
        if job is None:
            self.orphans.append(task)
        else:
            job.add_task_info(task)

    def _restore_placement(self, task: TaskInfo) -> None:
        """Make a task Pipelined whose pod carries the annotations; they win over the pod's phase."""
        placement = self.persistence.find_placement(task.pod)
        if placement is not None:
            task.status = TaskStatus.PIPELINED
            task.node_name = placement.node
            task.eviction_occurred = placement.eviction
            self.restored[task.uid] = placement.node


class _PriorityClasses:
    """Priority values by class name; of several global defaults the last one by name counts."""

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


def _csi_limits(snapshot: Snapshot) -> dict[NodeName, dict[str, float]]:
    """Attachable volumes per node from CSINode objects; a driver without a count is practically unlimited."""
    limits: dict[NodeName, dict[str, float]] = {}
    limit_key = pod_claims.limit_key_function(snapshot.release)
    for manifest in snapshot.objects_of("CSINode"):
        name = name_of(manifest)
        for driver in spec_of(manifest).get("drivers") or ():
            count = (driver.get("allocatable") or {}).get("count")
            key = limit_key(driver.get("name", ""))
            # Upstream's constant for a driver that states no count: the largest int32.
            limits.setdefault(name, {})[key] = float(2147483647 if count is None else count)
    return limits


# Reuse of an earlier cycle's cluster. Reading and adding up pods takes most of a load, and edits of a what-if rarely
# touch them: nodes and jobs are filled with the sums and tasks that the earlier cycle began with.

_TASK_KINDS: Final = ("Pod", "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "ResourceClaim")
"""Kinds that the requests of tasks are read from."""
_LIMITS_KIND: Final = "CSINode"


class ReusableCluster:
    """The cluster of a finished cycle, whose actions changed only copies of tasks that were on nodes."""

    def __init__(self, cluster: ClusterInfo, amounts: Mapping[NodeName, NodeAmounts]) -> None:
        """`amounts`: every node's amounts right after the session was opened."""
        self._cluster = cluster
        self._amounts = amounts
        tables = [node.table for node in cluster.nodes.values() if node.table is not None][:1]
        self._changed = dict.fromkeys(tables[0].changes) if tables else {}

    def can_fill(self, now: ClusterInfo) -> bool:
        """Whether `now`, whose nodes are read and whose pods are not, has the same pods on the same nodes."""
        old, new = self._cluster.snapshot, now.snapshot
        if old.flags != new.flags or self._cluster.ignored != now.ignored:
            return False
        if self._cluster.persistence.on or now.persistence.on or not self._cluster.distinct:
            return False
        return all(_is_same_kind(kind, old, new) for kind in _TASK_KINDS) and self._has_same_nodes(now)

    def _has_same_nodes(self, now: ClusterInfo) -> bool:
        """Whether both clusters have the same Node objects: the pods of any other node are not known here."""
        if not _is_same_kind(_LIMITS_KIND, self._cluster.snapshot, now.snapshot):
            return False
        nodes = self._cluster.nodes
        same = [name in nodes and nodes[name].manifest is node.manifest for name, node in now.nodes.items()]
        return all(same) and len(same) == len(nodes) == len(self._amounts)

    def fill_cluster(self, now: ClusterInfo) -> None:
        """Fill nodes and jobs with the result that reading the pods one by one would have."""
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
        # Only nodes that the earlier cycle changed are filtered: for the others the dict can be copied as a whole.
        node.tasks = dict(_initial_tasks(before) if before.row in self._changed else before.tasks)


def _is_same_kind(kind: str, old: Snapshot, new: Snapshot) -> bool:
    # Identity is enough: an edit copies the list of the kind that it changes and shares all others.
    return old.objects.get(kind) is new.objects.get(kind)


def _initial_tasks(node: NodeInfo) -> Iterator[tuple[TaskKey, TaskInfo]]:
    """The tasks that a node had before anything was placed or evicted there."""
    for key in sorted(node.tasks):
        task = node.tasks[key]
        if task.pod.stated_node == node.name:
            yield key, task if _is_as_read(task) else task.clone_initial()


def _is_as_read(task: TaskInfo) -> bool:
    """Whether the cycle has left the task as it was read from its pod."""
    return task.last_transaction is None and task.status is get_task_status(task.pod)


def _fill_job(job: JobInfo, before: JobInfo) -> bool:
    """Fill a job from the earlier cycle's; False where its tasks are in sub groups or were changed by that cycle."""
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
    """Add initial copies of the tasks, in the order in which pods are read."""
    for task in sorted(tasks, key=attrgetter("key")):
        add(task.clone_initial())


VOLUME_KINDS: Final = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")
"""Kinds besides Pod that the requests of pods with volumes depend on."""
CLAIM_KINDS: Final = ("ResourceClaim",)
"""Kinds besides Pod that decide whether a pod with resource claims is read."""


class PodReader:
    """Makes the tasks that a session begins with, and copies those that an earlier cluster has read already."""

    def __init__(self, snapshot: Snapshot, beside: ClusterInfo | None = None, ignored: tuple[str, ...] = ()) -> None:
        """`beside`: a cluster whose tasks are copied where their pods are the same objects. `ignored`: resources that
        do not count, except for pods that upstream's cache read before the first node.
        """
        self._flags = snapshot.flags
        self._volumes = pod_claims.CsiVolumes(snapshot)
        self._ignored = ignored
        self._requests = PodRequestCache(snapshot.flags, self._ignored)
        self._requests_at_start = PodRequestCache(snapshot.flags)
        self._process, self._now = snapshot.process, snapshot.now
        self._words: dict[tuple[str, int, int], tuple[object, object, PodAttributes]] = {}
        """By namespace and the identities of annotations and labels. The value holds both: while they live no other
        object can get their id.
        """
        self._keeps_unread = snapshot.release.has_older_form(ADD_POD_ON_ERROR)
        self._gate_known = not snapshot.release.has_older_form(QUEUE_ALLOCATION_GATE)
        self._known = {} if beside is None or self._reads_differently(beside) else _tasks_by_manifest(beside)
        self._same_volumes = beside is not None and _are_same_kinds(VOLUME_KINDS, snapshot, beside.snapshot)
        self._same_claims = beside is not None and _are_same_kinds(CLAIM_KINDS, snapshot, beside.snapshot)
        self._reads_claims = not snapshot.release.has_older_form(DRA_QUOTA)
        self._claims = pod_claims.DeviceClaims(
            {key_of(one): one for one in snapshot.objects_of("ResourceClaim")}, snapshot.flags
        )
        self.panic: tuple[str, TaskKey] | None = None
        """The panic that ends the process while it reads its pods, and the pod."""
        self.unseen: dict[TaskKey, str] = {}
        """Pods that upstream's cache drops by an error, and the error."""

    def read_tasks(self, manifests: Iterable[Manifest]) -> Iterator[TaskInfo]:
        """Yield the task of every pod that the cache holds, in the order of the manifests."""
        for manifest in manifests:
            task = (self._copy_known_task(manifest) if self._known else None) or self._read_task(manifest)
            if task is not None:
                yield task

    def _copy_known_task(self, manifest: Manifest) -> TaskInfo | None:
        known = self._known.get(id(manifest))
        if known is None or known.pod.manifest is not manifest:
            return None
        if not self._same_volumes and known.pod.spec.get("volumes"):
            return None
        if not self._same_claims and known.pod.spec.get("resourceClaims"):
            return None
        return known.clone_initial()

    def _read_task(self, manifest: Manifest) -> TaskInfo | None:
        pod = Pod(manifest, volcano_gate_known=self._gate_known)
        if not pod.node_name and pod.scheduler_name not in self._flags.scheduler_names:
            return None
        early = self._ignored and was_read_at_start(pod, self._process, self._now)
        requests = self._requests_at_start if early else self._requests
        task = TaskInfo(pod, requests.find_request(pod), self._attributes_of(pod))
        spec = pod.spec
        return None if ("volumes" in spec or "resourceClaims" in spec) and not self._is_kept(task) else task

    def _reads_differently(self, beside: ClusterInfo) -> bool:
        """Whether that cluster's settings make another task of the same pod."""
        other = beside.snapshot
        if other.flags != self._flags or beside.ignored != self._ignored:
            return True
        return bool(self._ignored and other.process.started != self._process.started)

    def _is_kept(self, task: TaskInfo) -> bool:
        """Whether its volumes and claims can be read; a claim that does not exist yet hides nothing."""
        spec = task.pod.spec
        try:
            complete = not spec.get("volumes") or self._volumes.add_volume_counts(task)
        except pod_claims.VolumeLookupError as error:
            if not self._keeps_unread:
                self.unseen[task.key] = str(error)
            return self._keeps_unread
        return not (complete and spec.get("resourceClaims") and self._reads_claims) or self._claims_exist(task.pod)

    def _claims_exist(self, pod: Pod) -> bool:
        try:
            self._claims.build_task_dra_info(pod)
        except pod_claims.ClaimMissingError as error:
            self.unseen[pod.key] = str(error)
            return False
        except pod_claims.ClaimPendingError:
            return True
        except SchedulerPanic as panic:
            self.panic = self.panic or (panic.message, pod.key)
        return True

    def _attributes_of(self, pod: Pod) -> PodAttributes:
        annotations, labels = pod.annotations, pod.labels
        key = (pod.namespace, id(annotations), id(labels))
        known = self._words.get(key)
        if known is None:
            known = self._words[key] = (annotations, labels, PodAttributes.of_pod(pod))
        return known[2]


def _are_same_kinds(kinds: Iterable[str], one: Snapshot, other: Snapshot) -> bool:
    return all(one.objects.get(kind) is other.objects.get(kind) for kind in kinds)


def _tasks_by_manifest(cluster: ClusterInfo) -> Mapping[int, TaskInfo]:
    """Tasks by the identity of their manifests: a cycle changes tasks, but never a manifest."""
    placed = (node.tasks.values() for node in cluster.nodes.values())
    of_jobs = (job.tasks.values() for job in cluster.jobs.values())
    tasks = chain(chain.from_iterable(placed), chain.from_iterable(of_jobs), cluster.orphans)
    return {id(task.pod.manifest): task for task in tasks}


def was_read_at_start(pod: Pod, process: SchedulerProcess, now: datetime) -> bool:
    """Whether the process read the pod as it started: no timestamp of the pod is later. True in a first cycle.

    The cache learns the names of ignored resources from the first node, so that pods of the start keep them.
    """
    if process.started is None or process.is_first_cycle(now):
        return True
    return all(time < process.started for time in _change_times(pod))


def _change_times(pod: Pod) -> Iterator[datetime]:
    stated = [pod.creation_timestamp, pod.status.get("startTime")]
    stated += [condition.get("lastTransitionTime") for condition in pod.status.get("conditions") or ()]
    for text in stated:
        moment = parse_time(text)
        if moment is not None:
            yield moment
