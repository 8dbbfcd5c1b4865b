"""task-topology: tasks whose roles belong together are ordered together and drawn to one node.

Upstream: plugins/task-topology.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.plugin_answers import NodeScores
from vcdebug.framework.session import Event, Plugin, Session
from vcdebug.model.names import BoolArray, FloatArray, IntArray, JobId
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows, fits_amount
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.task_topology.buckets import Bucket, JobBuckets, read_topology, role_of
from vcdebug.snapshot.cycle_inputs import MapOrder

MAX_SCORE = 100


class BucketScores(NamedTuple):
    """How much of a task's bucket several nodes hold, or have room for."""

    bucket: Bucket
    present: IntArray
    """Tasks of the bucket on the node, less what the role avoids."""
    left_out: IntArray
    """Tasks that must be left out until the rest fits."""
    small: BoolArray
    """Where the task itself has no room."""
    weight: int
    largest: int
    """Tasks of the job's largest bucket."""
    scores: FloatArray


class TaskTopology(Plugin):
    """Buckets per job; a task prefers the node that holds, or has room for, most of its bucket."""

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
        """A job's buckets; None for one that states no topology, or in which nothing waited at the opening."""
        return self._jobs.get(job)

    def task_order(self, left: TaskInfo, right: TaskInfo) -> int:
        """Tasks in buckets first; inside a job the bucket with more tasks left, then the older bucket.
        Upstream: plugins/task-topology/topology.TaskOrderFn.
        """
        mine, other = self._jobs.get(left.job), self._jobs.get(right.job)
        if mine is None or other is None:
            return 0
        bucket, against = mine.get_bucket(left), other.get_bucket(right)
        if bucket is None or against is None:
            return (bucket is None) - (against is None)
        if left.job != right.job:
            return 0
        if len(bucket.tasks) != len(against.tasks):
            return -1 if len(bucket.tasks) > len(against.tasks) else 1
        if bucket is against:
            return mine.compare_roles(left, right)
        return -1 if bucket.index < against.index else 1

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """Upstream: plugins/task-topology/topology.NodeOrderFn."""
        together = self.bucket_scores(task, nodes)
        return NodeScores(nodes.zero_scores() if together is None else together.scores)

    def bucket_scores(self, task: TaskInfo, nodes: NodeRows) -> BucketScores | None:
        """What the scores are made of; None for a task without a bucket."""
        buckets = self._jobs.get(task.job)
        bucket = None if buckets is None else buckets.get_bucket(task)
        if buckets is None or bucket is None:
            return None
        room = IdleAndReleasing(nodes)
        small = room.too_small(task.resreq)
        left_out = self._left_out(task, bucket, room, small)
        present = self._tasks_present(task, buckets, bucket, nodes)
        score = present + len(bucket.tasks) - left_out
        weighted = (score * self._weight).astype(np.float64)
        if buckets.largest != 0:
            weighted = weighted * float(MAX_SCORE) / float(buckets.largest)
        scores: FloatArray = np.where(small, 0.0, weighted)
        return BucketScores(bucket, present, left_out, small, self._weight, buckets.largest, scores)

    def _tasks_present(self, task: TaskInfo, buckets: JobBuckets, bucket: Bucket, nodes: NodeRows) -> IntArray:
        """Tasks of the bucket on each node, less what the role avoids among those bound in this session."""
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

    def _left_out(self, task: TaskInfo, bucket: Bucket, room: IdleAndReleasing, ignored: BoolArray) -> IntArray:
        """How many other tasks of the bucket must be left out, one by one, until the rest fits the node."""
        fits = room.request_fits(bucket.request) | ignored
        left_out: IntArray = np.zeros(len(fits), dtype=np.int64)
        remains = bucket.request.clone()
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
    """What each node has idle or is about to release."""

    def __init__(self, nodes: NodeRows) -> None:
        self._nodes = nodes
        amounts = (nodes.table.field_matrix("idle") + nodes.table.field_matrix("releasing"))[:, nodes.rows]
        self._columns: dict[str, FloatArray] = {name: amounts[index] for name, index in nodes.table.dims.items()}

    def _amount_column(self, name: str) -> FloatArray:
        column = self._columns.get(name)
        return self._nodes.zero_scores() if column is None else column

    def too_small(self, request: Resource) -> BoolArray:
        """Where some dimension is below the request, an overcommitted one that is not requested included."""
        small: BoolArray = np.zeros(len(self._nodes), dtype=np.bool_)
        for name in dict.fromkeys((*self._columns, *(request.scalars or {}))):
            small |= self._amount_column(name) < request.get(name)
        unstated = [name for name, amount in (request.scalars or {}).items() if amount <= 0]
        if unstated:
            lacking = [not all(_states_scalar(node, name) for name in unstated) for node in self._nodes.node_infos]
            small |= np.array(lacking, dtype=np.bool_)
        return small

    def request_fits(self, request: Resource) -> BoolArray:
        """Where the request fits, with upstream's tolerance."""
        fits: BoolArray = np.ones(len(self._nodes), dtype=np.bool_)
        for name, amount in request.items():
            fits &= fits_amount(amount, self._amount_column(name))
        return fits


def _states_scalar(node: NodeInfo, name: str) -> bool:
    return name in (node.idle.scalars or {}) or name in (node.releasing.scalars or {})
