"""Buckets: the tasks of a job that should share a node.

Upstream: plugins/task-topology (JobManager, Bucket).
Upstream: plugins/task-topology (readTopologyFromPgAnnotations, ApplyTaskTopology).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import permutations

from vcdebug.model.job import JobInfo
from vcdebug.model.names import NodeName, TaskId
from vcdebug.model.pod import TASK_SPEC_KEY
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo

KIBIS_PER_MEBI = 1024


class Bucket:
    """Tasks that wait for a node, and how many already have which. Upstream: plugins/task-topology/bucket.NewBucket."""

    __slots__ = ("bound", "index", "nodes", "request", "request_score", "roles", "tasks")

    def __init__(self, index: int) -> None:
        self.index = index
        self.tasks: dict[TaskId, TaskInfo] = {}
        """Those without a node."""
        self.roles: dict[Role, int] = {}
        self.request = Resource()
        self.request_score = 0.0
        self.bound = 0
        self.nodes: dict[NodeName, int] = {}

    def add_task(self, role: Role, task: TaskInfo) -> None:
        """At session open: a task that has a node counts there, any other waits.
        Upstream: plugins/task-topology/bucket.AddTask.
        """
        self.roles[role] = self.roles.get(role, 0) + 1
        if task.node_name:
            self._count_bound(task.node_name)
            return
        self.tasks[task.uid] = task
        self.request_score += request_score(task.resreq)
        self.request.add(task.resreq)

    def task_bound(self, task: TaskInfo) -> None:
        """A task came to a node. Told twice of one task, the request shrinks twice, and upstream may panic.
        Upstream: plugins/task-topology/bucket.TaskBound.
        """
        self._count_bound(task.node_name)
        self.tasks.pop(task.uid, None)
        self.request_score -= request_score(task.resreq)
        self.request.sub(task.resreq)

    def _count_bound(self, node: NodeName) -> None:
        self.nodes[node] = self.nodes.get(node, 0) + 1
        self.bound += 1


class JobBuckets:
    """A job's buckets, filled once when the session opens. Upstream: plugins/task-topology/manager.ConstructBucket."""

    def __init__(self, topology: RoleTopology, tasks: Iterable[TaskInfo]) -> None:
        self.topology = topology
        self.buckets: list[Bucket] = []
        self.largest = 0
        self.bound_roles: dict[NodeName, dict[Role, int]] = {}
        """Roles bound in this session, per node."""
        self._bucket_of: dict[TaskId, Bucket] = {}
        self._of_node: dict[NodeName, Bucket] = {}
        for task in sorted((t for t in tasks if role_of(t) in topology.priority and role_of(t)), key=self._task_rank):
            self._build_bucket(task)

    def _task_rank(self, task: TaskInfo) -> tuple[bool, str, int, int, str]:
        """Tasks with a node first, by node; then by rank of the role, and by name.
        Upstream: plugins/task-topology/manager.buildTaskInfo.
        """
        if task.node_name:
            return False, task.node_name, 0, 0, task.name
        order, priority = self.topology.rank_role(role_of(task))
        return True, "", -order, -priority, task.name

    def _build_bucket(self, task: TaskInfo) -> None:
        """Upstream: plugins/task-topology/manager.buildBucket."""
        role = role_of(task)
        bucket = self._of_node.get(task.node_name) if task.node_name else self._most_liked(role)
        if bucket is None:
            bucket = self._new_bucket(task.node_name)
        self._bucket_of[task.uid] = bucket
        bucket.add_task(role, task)
        self.largest = max(self.largest, len(bucket.tasks) + bucket.bound)

    def _new_bucket(self, node: NodeName) -> Bucket:
        """Upstream: plugins/task-topology/manager.NewBucket."""
        bucket = Bucket(len(self.buckets))
        self.buckets.append(bucket)
        if node:
            self._of_node[node] = bucket
        return bucket

    def _most_liked(self, role: Role) -> Bucket | None:
        """The bucket of most affinity, among equals one of smaller request; None when all repel the role."""
        chosen: Bucket | None = None
        best = 0
        for bucket in self.buckets:
            affinity = self.topology.role_affinity(role, bucket.roles)
            better = chosen is None or affinity > best
            if better or (chosen and affinity == best and bucket.request_score < chosen.request_score):
                chosen, best = bucket, affinity
        return chosen if best >= 0 else None

    def get_bucket(self, task: TaskInfo) -> Bucket | None:
        """The task's bucket, None when its role has no topology. Upstream: plugins/task-topology/manager.GetBucket."""
        return self._bucket_of.get(task.uid)

    def task_bound(self, task: TaskInfo) -> None:
        """A task came to a node. Upstream: plugins/task-topology/manager.TaskBound."""
        role = role_of(task)
        if role:
            roles = self.bound_roles.setdefault(task.node_name, {})
            roles[role] = roles.get(role, 0) + 1
        bucket = self.get_bucket(task)
        if bucket is not None:
            bucket.task_bound(task)

    def compare_roles(self, left: TaskInfo, right: TaskInfo) -> int:
        """By the rank of their roles, the higher one first."""
        if role_of(left) == role_of(right):
            return 0
        mine, other = self.topology.rank_role(role_of(left)), self.topology.rank_role(role_of(right))
        return (mine < other) - (mine > other)


def role_of(task: TaskInfo) -> Role:
    """The annotation alone counts here; a label names no role."""
    return task.pod.annotations.get(TASK_SPEC_KEY, "")


def request_score(request: Resource) -> float:
    """A milli-core, a mebibyte and a milli-unit of a scalar weigh the same."""
    score = request.milli_cpu + request.memory / KIBIS_PER_MEBI / KIBIS_PER_MEBI
    for _, amount in sorted((request.scalars or {}).items()):
        score = score + amount
    return score


# Which roles of a job belong together, as the PodGroup's annotations say.

AFFINITY_KEY = "volcano.sh/task-topology-affinity"
ANTI_AFFINITY_KEY = "volcano.sh/task-topology-anti-affinity"
TASK_ORDER_KEY = "volcano.sh/task-topology-task-order"

INTER_ANTI_PRIORITY = 1
SELF_PRIORITY = 2
INTER_PRIORITY = 3
SELF_ANTI_PRIORITY = 4

Role = str
RoleGroups = list[list[Role]]
RolePairs = dict[tuple[Role, Role], None]


class RoleTopology:
    """Pairs of roles with affinity and anti-affinity, and each role's rank."""

    def __init__(self, affinity: RoleGroups, anti_affinity: RoleGroups, order: list[Role]) -> None:
        self._near: RolePairs = {}
        self._apart: RolePairs = {}
        self.priority: dict[Role, int] = {}
        self._add_groups(affinity, self._near, SELF_PRIORITY, INTER_PRIORITY)
        self._add_groups(anti_affinity, self._apart, SELF_ANTI_PRIORITY, INTER_ANTI_PRIORITY)
        self._order = {role: len(order) - index for index, role in enumerate(order)}

    def _add_groups(self, groups: RoleGroups, pairs: RolePairs, alone: int, together: int) -> None:
        for group in groups:
            if len(group) == 1:
                pairs[group[0], group[0]] = None
            pairs.update(dict.fromkeys(pair for pair in permutations(group, 2) if pair[0] != pair[1]))
            for role in group:
                self.priority[role] = max(self.priority.get(role, 0), alone if len(group) == 1 else together)

    def rank_role(self, role: Role) -> tuple[int, int]:
        """(place in the task order, priority): the higher one comes first."""
        return self._order.get(role, 0), self.priority.get(role, 0)

    def role_affinity(self, role: Role, counts: Mapping[Role, int]) -> int:
        """How many of these tasks the role likes, less those that it avoids."""
        liked = sum(count for other, count in counts.items() if (role, other) in self._near)  # exact: ints
        return liked + self.role_repulsion(role, counts)

    def role_repulsion(self, role: Role, counts: Mapping[Role, int]) -> int:
        """Minus the number of these tasks that the role avoids."""
        return -sum(count for other, count in counts.items() if (role, other) in self._apart)  # exact: ints


def read_topology(job: JobInfo) -> RoleTopology | None:
    """None when the job states none, or names a role that it does not have or twice in one group.
    Upstream: plugins/task-topology/topology.readTopologyFromPgAnnotations.
    """
    annotations = job.pod_group.annotations
    if not any(key in annotations for key in (AFFINITY_KEY, ANTI_AFFINITY_KEY, TASK_ORDER_KEY)):
        return None
    affinity, apart = (_parse_groups(annotations.get(key)) for key in (AFFINITY_KEY, ANTI_AFFINITY_KEY))
    order = annotations[TASK_ORDER_KEY].split(",") if TASK_ORDER_KEY in annotations else []
    known = dict.fromkeys(task.task_role for task in job.tasks.values())
    if not all(_is_valid(group, known) for group in (*affinity, *apart, order)):
        return None
    return RoleTopology(affinity, apart, order)


def _parse_groups(text: str | None) -> RoleGroups:
    """Groups end at `;`, roles at `,`; blanks belong to the role."""
    return [] if text is None else [group.split(",") for group in text.split(";")]


def _is_valid(group: Iterable[Role], known: Mapping[Role, None]) -> bool:
    """Upstream: plugins/task-topology/topology.affinityCheck."""
    named = [role for role in group if role]
    return all(role in known for role in named) and len(named) == len(dict.fromkeys(named))
