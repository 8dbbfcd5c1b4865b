"""task-topology: orders tasks of roles with affinity together and places them on one node.

Upstream: plugins/task-topology (JobManager, Bucket, readTopologyFromPgAnnotations, ApplyTaskTopology).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import permutations
from typing import ClassVar, NamedTuple

import numpy as np

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.plugin_answers import NodeScores
from vcdebug.framework.session import Event, Plugin, Session
from vcdebug.model.job import JobInfo
from vcdebug.model.names import BoolArray, FloatArray, IntArray, JobId, NodeName, TaskId
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows, fits_amount
from vcdebug.model.pod import TASK_SPEC_KEY
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import ANNOTATIONS
from vcdebug.snapshot.cycle_inputs import MapOrder

MAX_SCORE = 100


class BucketScores(NamedTuple):
    """For several nodes, how many tasks of a task's bucket each holds or has room for."""

    bucket: Bucket
    tasks_on_node: IntArray
    """Tasks of the bucket on the node, less the tasks that the role avoids."""
    left_out_count: IntArray
    """Number of tasks to leave out before the rest of the bucket fits."""
    small: BoolArray
    """Mask of the nodes without room for the task itself."""
    weight: int
    largest: int
    """Number of tasks in the job's largest bucket."""
    scores: FloatArray


class TaskTopology(Plugin):
    """Groups tasks in buckets; a task prefers the node that holds, or has room for, most of its bucket."""

    name: ClassVar[str] = "task-topology"

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._weight = arguments.get_int("task-topology.weight", 1)
        self._jobs: dict[JobId, JobBuckets] = {}

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/task-topology/topology.OnSessionOpen."""
        self._ordering: MapOrder = ssn.cluster.ordering
        for job in ssn.jobs.values():
            topology = read_topology(job) if job.has_pending_tasks() else None
            if topology is not None:
                self._jobs[job.uid] = JobBuckets(topology, job.tasks.values())

    def buckets_of(self, job: JobId) -> JobBuckets | None:
        """The job's buckets; None if it has no topology, or had no pending tasks at session open."""
        return self._jobs.get(job)

    def task_order(self, left: TaskInfo, right: TaskInfo) -> int:
        """Tasks in buckets first; within a job, the bucket with more tasks left, then the older bucket.
        Upstream: plugins/task-topology/topology.TaskOrderFn.
        """
        left_job, right_job = self._jobs.get(left.job), self._jobs.get(right.job)
        if left_job is None or right_job is None:
            return 0
        left_bucket, right_bucket = left_job.get_bucket(left), right_job.get_bucket(right)
        if left_bucket is None or right_bucket is None:
            return (left_bucket is None) - (right_bucket is None)
        if left.job != right.job:
            return 0
        if len(left_bucket.tasks) != len(right_bucket.tasks):
            return -1 if len(left_bucket.tasks) > len(right_bucket.tasks) else 1
        if left_bucket is right_bucket:
            return left_job.compare_roles(left, right)
        return -1 if left_bucket.index < right_bucket.index else 1

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """Upstream: plugins/task-topology/topology.NodeOrderFn."""
        bucket_scores = self.bucket_scores(task, nodes)
        return NodeScores(nodes.zero_scores() if bucket_scores is None else bucket_scores.scores)

    def bucket_scores(self, task: TaskInfo, nodes: NodeRows) -> BucketScores | None:
        """The scores of the nodes, with their parts; None for a task without a bucket."""
        buckets = self._jobs.get(task.job)
        bucket = None if buckets is None else buckets.get_bucket(task)
        if buckets is None or bucket is None:
            return None
        room = IdleAndReleasing(nodes)
        small = room.too_small(task.resreq)
        left_out = self._left_out_counts(task, bucket, room, small)
        present = self._tasks_present(task, buckets, bucket, nodes)
        score = present + len(bucket.tasks) - left_out
        weighted = (score * self._weight).astype(np.float64)
        if buckets.largest != 0:
            weighted = weighted * float(MAX_SCORE) / float(buckets.largest)
        scores: FloatArray = np.where(small, 0.0, weighted)
        return BucketScores(bucket, present, left_out, small, self._weight, buckets.largest, scores)

    def _tasks_present(self, task: TaskInfo, buckets: JobBuckets, bucket: Bucket, nodes: NodeRows) -> IntArray:
        """Per node, tasks of the bucket on it, less the tasks bound in this session that the role avoids."""
        counts: IntArray = np.zeros(len(nodes.table), dtype=np.int64)
        row_of = nodes.table.row_of
        for name, count in bucket.nodes.items():
            if name in row_of:
                counts[row_of[name]] += count
        for name, roles in buckets.bound_roles.items():
            if name in row_of:
                counts[row_of[name]] += buckets.topology.role_repulsion(role_of(task), roles)
        present: IntArray = counts[nodes.rows]
        return present

    def _left_out_counts(self, task: TaskInfo, bucket: Bucket, room: IdleAndReleasing, ignored: BoolArray) -> IntArray:
        """Per node, the number of other tasks to remove from the bucket, one by one, until the rest fits."""
        fits = room.request_fits(bucket.request) | ignored
        left_out: IntArray = np.zeros(len(fits), dtype=np.int64)
        remains = bucket.request.clone()
        # Upstream iterates over a map: here the session's order decides which tasks are removed first.
        for uid in self._ordering.order_keys(bucket.tasks):
            if uid == task.uid:
                continue
            if fits.all():
                break
            remains.sub(bucket.tasks[uid].resreq)
            left_out[~fits] += 1
            fits |= room.request_fits(remains)
        return left_out

    def allocate_func(self, event: Event) -> None:
        """Upstream: plugins/task-topology/topology.AllocateFunc."""
        buckets = self._jobs.get(event.task.job)
        if buckets is not None:
            buckets.task_bound(event.task)


class IdleAndReleasing:
    """The sum of idle and releasing amounts of each node."""

    def __init__(self, nodes: NodeRows) -> None:
        self._nodes = nodes
        amounts = (nodes.table.field_matrix("idle") + nodes.table.field_matrix("releasing"))[:, nodes.rows]
        self._columns: dict[str, FloatArray] = {name: amounts[index] for name, index in nodes.table.dims.items()}

    def _amount_column(self, name: str) -> FloatArray:
        column = self._columns.get(name)
        return self._nodes.zero_scores() if column is None else column

    def too_small(self, request: Resource) -> BoolArray:
        """Mask of nodes where a dimension is below the request, even an overcommitted one that is not requested."""
        small: BoolArray = np.zeros(len(self._nodes), dtype=np.bool_)
        for name in dict.fromkeys((*self._columns, *(request.scalars or {}))):
            small |= self._amount_column(name) < request.get(name)
        unstated = [name for name, amount in (request.scalars or {}).items() if amount <= 0]
        if unstated:
            missing = [not all(_states_scalar(node, name) for name in unstated) for node in self._nodes.node_infos]
            small |= np.array(missing, dtype=np.bool_)
        return small

    def request_fits(self, request: Resource) -> BoolArray:
        """Mask of nodes that fit the request, with upstream's tolerance."""
        fits: BoolArray = np.ones(len(self._nodes), dtype=np.bool_)
        for name, amount in request.items():
            fits &= fits_amount(amount, self._amount_column(name))
        return fits


def _states_scalar(node: NodeInfo, name: str) -> bool:
    return name in (node.idle.scalars or {}) or name in (node.releasing.scalars or {})


# Buckets: the tasks of a job that should be on one node.

KIBIS_PER_MEBI = 1024


class Bucket:
    """Pending tasks, and the number of placed tasks per node. Upstream: plugins/task-topology/bucket.NewBucket."""

    __slots__ = ("bound_count", "index", "nodes", "request", "request_score", "roles", "tasks")

    def __init__(self, index: int) -> None:
        self.index = index
        self.tasks: dict[TaskId, TaskInfo] = {}
        """The tasks of the bucket that have no node yet."""
        self.roles: dict[Role, int] = {}
        self.request = Resource()
        self.request_score = 0.0
        self.bound_count = 0
        self.nodes: dict[NodeName, int] = {}

    def add_task(self, role: Role, task: TaskInfo) -> None:
        """Add a task at session open, as placed if it has a node. Upstream: plugins/task-topology/bucket.AddTask."""
        self.roles[role] = self.roles.get(role, 0) + 1
        if task.node_name:
            self._count_bound(task.node_name)
            return
        self.tasks[task.uid] = task
        self.request_score += request_score(task.resreq)
        self.request.add(task.resreq)

    def task_bound(self, task: TaskInfo) -> None:
        """Move a task to the placed ones. Upstream: plugins/task-topology/bucket.TaskBound."""
        # Not checked, as upstream: a task that is bound twice is subtracted twice, which may panic.
        self._count_bound(task.node_name)
        self.tasks.pop(task.uid, None)
        self.request_score -= request_score(task.resreq)
        self.request.sub(task.resreq)

    def _count_bound(self, node: NodeName) -> None:
        self.nodes[node] = self.nodes.get(node, 0) + 1
        self.bound_count += 1


class JobBuckets:
    """A job's buckets, built at session open. Upstream: plugins/task-topology/manager.ConstructBucket."""

    def __init__(self, topology: RoleTopology, tasks: Iterable[TaskInfo]) -> None:
        self.topology = topology
        self.buckets: list[Bucket] = []
        self.largest = 0
        self.bound_roles: dict[NodeName, dict[Role, int]] = {}
        """The number of tasks bound in this session, by node and role."""
        self._bucket_of: dict[TaskId, Bucket] = {}
        self._of_node: dict[NodeName, Bucket] = {}
        for task in sorted((t for t in tasks if role_of(t) in topology.priority and role_of(t)), key=self._task_rank):
            self._build_bucket(task)

    def _task_rank(self, task: TaskInfo) -> tuple[bool, str, int, int, str]:
        """Sort key: tasks with a node first, by node; then by the rank of the role, and by name.
        Upstream: plugins/task-topology/manager.buildTaskInfo.
        """
        if task.node_name:
            return False, task.node_name, 0, 0, task.name
        order, priority = self.topology.rank_role(role_of(task))
        return True, "", -order, -priority, task.name

    def _build_bucket(self, task: TaskInfo) -> None:
        """Upstream: plugins/task-topology/manager.buildBucket."""
        role = role_of(task)
        bucket = self._of_node.get(task.node_name) if task.node_name else self._bucket_of_most_affinity(role)
        if bucket is None:
            bucket = self._new_bucket(task.node_name)
        self._bucket_of[task.uid] = bucket
        bucket.add_task(role, task)
        self.largest = max(self.largest, len(bucket.tasks) + bucket.bound_count)

    def _new_bucket(self, node: NodeName) -> Bucket:
        """Upstream: plugins/task-topology/manager.NewBucket."""
        bucket = Bucket(len(self.buckets))
        self.buckets.append(bucket)
        if node:
            self._of_node[node] = bucket
        return bucket

    def _bucket_of_most_affinity(self, role: Role) -> Bucket | None:
        """The bucket with the most affinity, then the smallest request; None if all have negative affinity."""
        best_bucket: Bucket | None = None
        best = 0
        for bucket in self.buckets:
            affinity = self.topology.role_affinity(role, bucket.roles)
            is_better = best_bucket is None or affinity > best
            if is_better or (best_bucket and affinity == best and bucket.request_score < best_bucket.request_score):
                best_bucket, best = bucket, affinity
        return best_bucket if best >= 0 else None

    def get_bucket(self, task: TaskInfo) -> Bucket | None:
        """The task's bucket; None if its role has no topology. Upstream: plugins/task-topology/manager.GetBucket."""
        return self._bucket_of.get(task.uid)

    def task_bound(self, task: TaskInfo) -> None:
        """Count a task as bound. Upstream: plugins/task-topology/manager.TaskBound."""
        role = role_of(task)
        if role:
            roles = self.bound_roles.setdefault(task.node_name, {})
            roles[role] = roles.get(role, 0) + 1
        bucket = self.get_bucket(task)
        if bucket is not None:
            bucket.task_bound(task)

    def compare_roles(self, left: TaskInfo, right: TaskInfo) -> int:
        """Compare two tasks by the rank of their roles, the higher rank first."""
        if role_of(left) == role_of(right):
            return 0
        left_rank, right_rank = self.topology.rank_role(role_of(left)), self.topology.rank_role(role_of(right))
        return (left_rank < right_rank) - (left_rank > right_rank)


def role_of(task: TaskInfo) -> Role:
    """The role in the pod's annotation; labels are ignored."""
    return task.pod.annotations.get(TASK_SPEC_KEY, "")


def request_score(request: Resource) -> float:
    """The size of a request: a milli-core, a mebibyte and a milli-unit of a scalar count the same."""
    score = request.milli_cpu + request.memory / KIBIS_PER_MEBI / KIBIS_PER_MEBI
    for _, amount in sorted((request.scalars or {}).items()):
        score = score + amount
    return score


# The affinities between a job's roles, from annotations of the PodGroup.

AFFINITY_KEY, ANTI_AFFINITY_KEY, TASK_ORDER_KEY = ANNOTATIONS["task-topology"]

INTER_ANTI_PRIORITY = 1
SELF_PRIORITY = 2
INTER_PRIORITY = 3
SELF_ANTI_PRIORITY = 4

Role = str
RoleGroups = list[list[Role]]
RolePairs = dict[tuple[Role, Role], None]


class RoleTopology:
    """Pairs of roles with affinity or anti-affinity, and the rank of each role."""

    def __init__(self, affinity: RoleGroups, anti_affinity: RoleGroups, order: list[Role]) -> None:
        self._near_pairs: RolePairs = {}
        self._anti_pairs: RolePairs = {}
        self.priority: dict[Role, int] = {}
        self._add_groups(affinity, self._near_pairs, SELF_PRIORITY, INTER_PRIORITY)
        self._add_groups(anti_affinity, self._anti_pairs, SELF_ANTI_PRIORITY, INTER_ANTI_PRIORITY)
        self._order = {role: len(order) - index for index, role in enumerate(order)}

    def _add_groups(self, groups: RoleGroups, pairs: RolePairs, alone: int, together: int) -> None:
        for group in groups:
            if len(group) == 1:
                pairs[group[0], group[0]] = None
            pairs.update(dict.fromkeys(pair for pair in permutations(group, 2) if pair[0] != pair[1]))
            for role in group:
                self.priority[role] = max(self.priority.get(role, 0), alone if len(group) == 1 else together)

    def rank_role(self, role: Role) -> tuple[int, int]:
        """(position in the task order, priority) of the role; higher values come first."""
        return self._order.get(role, 0), self.priority.get(role, 0)

    def role_affinity(self, role: Role, counts: Mapping[Role, int]) -> int:
        """The number of these tasks that the role has affinity to, less those with anti-affinity."""
        liked = sum(count for other, count in counts.items() if (role, other) in self._near_pairs)  # exact: ints
        return liked + self.role_repulsion(role, counts)

    def role_repulsion(self, role: Role, counts: Mapping[Role, int]) -> int:
        """Minus the number of these tasks to which the role has anti-affinity."""
        return -sum(count for other, count in counts.items() if (role, other) in self._anti_pairs)  # exact: ints


def read_topology(job: JobInfo) -> RoleTopology | None:
    """The job's topology; None without one, or if a group has an unknown or repeated role.
    Upstream: plugins/task-topology/topology.readTopologyFromPgAnnotations.
    """
    annotations = job.pod_group.annotations
    if not any(key in annotations for key in (AFFINITY_KEY, ANTI_AFFINITY_KEY, TASK_ORDER_KEY)):
        return None
    texts = (annotations.get(key) for key in (AFFINITY_KEY, ANTI_AFFINITY_KEY))
    # Groups are separated by `;`, roles by `,`; blanks are part of the role.
    affinity, anti_affinity = ([] if text is None else [one.split(",") for one in text.split(";")] for text in texts)
    order = annotations[TASK_ORDER_KEY].split(",") if TASK_ORDER_KEY in annotations else []
    roles = dict.fromkeys(task.task_role for task in job.tasks.values())
    if not all(_is_valid(group, roles) for group in (*affinity, *anti_affinity, order)):
        return None
    return RoleTopology(affinity, anti_affinity, order)


def _is_valid(group: Iterable[Role], roles: Mapping[Role, None]) -> bool:
    """Upstream: plugins/task-topology/topology.affinityCheck."""
    group_roles = [role for role in group if role]
    return all(role in roles for role in group_roles) and len(group_roles) == len(dict.fromkeys(group_roles))
