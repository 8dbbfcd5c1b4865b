"""drf: jobs by dominant share, the smaller first; with `enableHierarchy` queues by theirs. Upstream: plugins/drf."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from vcdebug.errors import SchedulerPanic
from vcdebug.framework.accounts import JOB, WHOLE, Accounts, account_figures
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import QUEUE_ORDER
from vcdebug.framework.persistence import clamp_request
from vcdebug.framework.plugin_answers import PERMIT, VictimAnswer
from vcdebug.framework.record import fast_tuple
from vcdebug.framework.session import Event, Plugin, Session
from vcdebug.model.job import JobInfo
from vcdebug.model.job_amounts import get_allocated_resource
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.queue import QueueInfo, ShareTotals
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo

SHARE_DELTA = 0.000001
SHARE_FIGURES = {"share": "value", **account_figures("dominant", "allocated")}


class Drf(Plugin):
    """Tracks each job's dominant share while the session allocates and evicts."""

    name = "drf"
    accounts = (
        Accounts(WHOLE, "", account_figures(total="totals.resource")),
        Accounts(JOB, "shares", SHARE_FIGURES, operation=("share", "dominant", "allocated")),
    )

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.jobs: dict[JobId, JobInfo] = {}
        self.queues: dict[QueueName, QueueInfo] = {}
        self.totals = ShareTotals(Resource())
        self.shares: dict[JobId, DominantShare] = {}
        self.hierarchy: Hierarchy | None = None

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/drf.OnSessionOpen."""
        self.ssn = ssn
        self.jobs, self.queues = ssn.jobs, ssn.queues
        self.log = ssn.log_comparison
        self.totals = ShareTotals(ssn.total_resource.clone())
        ssn.log("drf.total", self.totals.resource)
        self.shares = {uid: DominantShare(self.totals, get_allocated_resource(job)) for uid, job in ssn.jobs.items()}
        if ssn.hierarchy_enabled(self.name):
            self.hierarchy = Hierarchy(self.totals, ssn.jobs, ssn.queues, self.shares)
        else:
            ssn.withdraw_hook(self, QUEUE_ORDER.method)
            ssn.withdraw_hook(self, "reclaimable")

    def job_order(self, left: JobInfo, right: JobInfo) -> int:
        """Upstream: plugins/drf.jobOrderFn."""
        left_share, right_share = self.shares[left.uid].value, self.shares[right.uid].value
        self.log("drf.job-order", left.uid, left_share, right.uid, right_share)
        return (left_share > right_share) - (left_share < right_share)

    def queue_order(self, left: QueueInfo, right: QueueInfo) -> int:
        """Upstream: plugins/drf.queueOrderFn."""
        assert self.hierarchy is not None
        difference = self.hierarchy.compare_queues(left, right)
        return (difference > 0) - (difference < 0)

    def preemptable(self, preemptor: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        """Candidates whose job keeps at least the preemptor's new share. Upstream: plugins/drf.preemptableFn."""
        if not candidates or preemptor.job not in self.shares:
            return [], PERMIT
        return [
            exchange.task
            for exchange in iter_exchanges(self.totals, self.shares, preemptor, candidates)
            if exchange.is_fair
        ], PERMIT

    def reclaimable(self, reclaimer: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        """Candidates whose queue would still order after the reclaimer's. Upstream: plugins/drf.reclaimFn."""
        assert self.hierarchy is not None
        job = self.jobs.get(reclaimer.job)
        if job is None or job.queue not in self.queues or job.uid not in self.shares:
            return [], PERMIT
        victims = [task for task, difference in self.hierarchy.iter_exchanges(reclaimer, candidates) if difference < 0]
        return victims, PERMIT

    def allocate_func(self, event: Event) -> None:
        share = self.shares[event.task.job]
        share.add_request(event.task.resreq)
        if self.hierarchy is not None:
            self.hierarchy.add_request(event.task.resreq)

    def deallocate_func(self, event: Event) -> None:
        share = self.shares[event.task.job]
        given_back = clamp_request(self.ssn, self.name, event.task.job, share.allocated, event.task.resreq)
        share.sub_request(given_back)
        if self.hierarchy is not None:
            self.hierarchy.sub_request(given_back)


class ShareExchange(NamedTuple):
    """The share that the preemptor's job would reach, and the share that the candidate's job would keep."""

    task: TaskInfo
    preemptor_share: float
    dominant: str = ""
    own_share: float | None = None
    """The share that the candidate's job would keep; None for a candidate without a job."""

    @property
    def is_fair(self) -> bool:
        """Whether the candidate's job would keep at least the share that the preemptor's job would reach."""
        return self.own_share is not None and (
            self.preemptor_share < self.own_share or abs(self.preemptor_share - self.own_share) <= SHARE_DELTA
        )


def iter_exchanges(
    totals: ShareTotals, shares: Mapping[JobId, DominantShare], preemptor: TaskInfo, candidates: Iterable[TaskInfo]
) -> Iterator[ShareExchange]:
    """Yield the exchange for each candidate, in order."""
    share = totals.share_with(shares[preemptor.job].allocated, preemptor.resreq)
    left_over: dict[JobId, Resource] = {}
    # Each candidate is subtracted from its job's share, victim or not, as upstream does: the order matters.
    for task in candidates:
        if task.job not in shares:
            yield ShareExchange(task, share)
            continue
        if task.job not in left_over:
            left_over[task.job] = shares[task.job].allocated.clone()
        yield fast_tuple(ShareExchange, (task, share, *totals.calculate_share(left_over[task.job].sub(task.resreq))))


# Hierarchical shares: a tree of queue paths with jobs as leaves, compared level by level.

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
Demanding = Mapping[str, bool]


class HierarchyNode(Struct):
    """An element of a queue path, or a job below its queue."""

    weight: float
    share: DominantShare
    request: Resource | None = None
    """The request of all tasks of the job; None for a path element."""
    children: dict[str, HierarchyNode] = {}
    saturated: bool = False

    def clone(self) -> HierarchyNode:
        """An independent copy of the whole subtree. Upstream: plugins/drf.Clone."""
        share = DominantShare(self.share.totals, self.share.allocated.clone())
        children = {name: child.clone() for name, child in self.children.items()}
        return HierarchyNode(self.weight, share, self.request, children, self.saturated)

    def weighted_share(self) -> float:
        """The share divided by the weight, by which siblings are compared."""
        return self.share.value / self.weight


class Hierarchy:
    """The tree of shares and the sum of all allocations; inner shares are updated when queues are compared."""

    def __init__(
        self,
        totals: ShareTotals,
        jobs: Mapping[JobId, JobInfo],
        queues: Mapping[QueueName, QueueInfo],
        shares: Mapping[JobId, DominantShare],
    ) -> None:
        self.totals = totals
        self.jobs = jobs
        self.queues = queues
        self.shares = shares
        self.root = HierarchyNode(1.0, DominantShare(totals, Resource()))
        self.allocated = Resource()
        self.stale = True
        for uid, job in jobs.items():
            self.allocated.add(shares[uid].allocated)
            self.place_job(self.root, job, shares[uid])

    def place_job(self, root: HierarchyNode, job: JobInfo, share: DominantShare) -> None:
        """Add the job below its queue's path. Upstream: plugins/drf.buildHierarchy."""
        queue = self.queues[job.queue]
        elements, weights = queue_path(queue), queue.weights.split("/")
        node = root
        for position, element in enumerate(elements[1:], start=1):
            # An element keeps the weight from the first job that names it, whatever later queues say.
            if element not in node.children:
                # Go's index error: a path that is longer than its weights ends the process.
                if position >= len(weights):
                    raise SchedulerPanic(f"runtime error: index out of range [{position}] with length {len(weights)}")
                node.children[element] = HierarchyNode(
                    parse_weight(weights[position]), DominantShare(self.totals, Resource())
                )
            node = node.children[element]
        node.children[job.uid] = HierarchyNode(1.0, share, job.total_request)

    def add_request(self, request: Resource) -> None:
        """Add a request to the sum of allocations; the job's own share is updated elsewhere."""
        self.allocated.add(request)
        self.stale = True

    def sub_request(self, request: Resource) -> None:
        """Subtract a request from the sum of allocations."""
        self.allocated.sub(request)
        self.stale = True

    def compare_queues(self, left: QueueInfo, right: QueueInfo) -> float:
        """Compare two queues by hierarchical share: negative if the left one goes first."""
        if self.stale:
            self.update_hierarchical_share(self.root, self.allocated)
            self.stale = False
        return compare_in_tree(self.root, left, right)

    def update_hierarchical_share(self, root: HierarchyNode, allocated: Resource) -> None:
        """Recompute all shares bottom-up. Upstream: plugins/drf.UpdateHierarchicalShare."""
        demanding = {name: allocated.get(name) < total for name, total in self.totals.dimensions}
        self.update_node(root, demanding)

    def update_node(self, node: HierarchyNode, demanding: Demanding) -> None:
        """Update a job's saturation or an element's share. Upstream: plugins/drf.updateHierarchicalShare."""
        if node.request is not None:
            node.saturated = is_saturated(node.share.allocated, node.request, demanding)
            return
        # Sorted: summing floats in another order could change the last bit.
        children = [node.children[name] for name in sorted(node.children)]
        smallest = 1.0
        for child in children:
            self.update_node(child, demanding)
            if child.share.value != 0 and not child.saturated:
                smallest = min(smallest, self.totals.largest_share(child.share.allocated))
        total = Resource().add_all(scaled_allocation(child, smallest) for child in children if child.share.value != 0)
        node.share = DominantShare(self.totals, total)
        node.saturated = all(child.saturated for child in children)

    def iter_exchanges(self, reclaimer: TaskInfo, candidates: Iterable[TaskInfo]) -> Iterator[tuple[TaskInfo, float]]:
        """Yield (candidate, comparison) with each candidate exchanged alone; below 0 the reclaimer's queue is first."""
        # A copy of the whole tree, as upstream makes: the exchanges must not change the session's shares.
        root, allocated = self.root.clone(), self.allocated.clone()
        job = self.jobs[reclaimer.job]
        allocated.add(reclaimer.resreq)
        self.place_job(
            root, job, DominantShare(self.totals, self.shares[job.uid].allocated.clone().add(reclaimer.resreq))
        )
        for task in candidates:
            if task.job in self.shares:
                yield task, self.compare_without(root, allocated, self.queues[job.queue], task)

    def compare_without(self, root: HierarchyNode, allocated: Resource, queue: QueueInfo, task: TaskInfo) -> float:
        """Compare `queue` with the candidate's queue as if the candidate were evicted."""
        victim_job = self.jobs[task.job]
        job_allocated = self.shares[victim_job.uid].allocated
        self.place_job(root, victim_job, DominantShare(self.totals, job_allocated.clone().sub(task.resreq)))
        self.update_hierarchical_share(root, allocated.sub(task.resreq))
        difference = compare_in_tree(root, queue, self.queues[victim_job.queue])
        allocated.add(task.resreq)
        self.place_job(root, victim_job, DominantShare(self.totals, job_allocated.clone()))
        return difference


def queue_path(queue: QueueInfo) -> list[str]:
    """The elements of the queue's path; the first one is the root, whatever its name."""
    return queue.hierarchy.split("/")


def parse_weight(text: str) -> float:
    """The weight in a text: at least 1, and 1 for anything that is not a number."""
    return max(float(text), 1.0) if _NUMBER.fullmatch(text) and math.isfinite(float(text)) else 1.0


def is_saturated(allocated: Resource, request: Resource, demanding: Demanding) -> bool:
    """Whether a dimension's whole request or total is held. Upstream: plugins/drf.resourceSaturated."""
    for name in allocated.resource_names():
        requested = request.get(name)
        if requested != 0 and (allocated.get(name) >= requested or not demanding.get(name, False)):
            return True
    return False


def scaled_allocation(child: HierarchyNode, smallest: float) -> Resource:
    """The allocation that counts for the parent: a saturated child's in full, others scaled."""
    if child.saturated:
        return child.share.allocated
    return child.share.allocated.clone().multi(smallest / child.share.value)


def iter_levels(
    root: HierarchyNode, left: QueueInfo, right: QueueInfo
) -> Iterator[tuple[str, str, HierarchyNode, HierarchyNode]]:
    """Yield (left name, right name, left node, right node) for each level of both paths."""
    left_node = right_node = root
    for level, (left_name, right_name) in enumerate(zip(queue_path(left), queue_path(right), strict=False)):
        if level:
            left_node, right_node = left_node.children[left_name], right_node.children[right_name]
        yield left_name, right_name, left_node, right_node


def compare_in_tree(root: HierarchyNode, left: QueueInfo, right: QueueInfo) -> float:
    """Compare at the first level that differs: saturation, then share. Upstream: plugins/drf.compareQueues."""
    for _, _, left_node, right_node in iter_levels(root, left, right):
        if left_node.saturated != right_node.saturated:
            return 1.0 if left_node.saturated else -1.0
        if left_node.weighted_share() != right_node.weighted_share():
            return left_node.weighted_share() - right_node.weighted_share()
    return 0.0


# Dominant shares: the largest fraction of the cluster that an amount uses in any dimension.


class DominantShare:
    """An allocated amount with its dominant share. Upstream: plugins/drf.updateShare."""

    __slots__ = ("allocated", "dominant", "totals", "value")

    def __init__(self, totals: ShareTotals, allocated: Resource) -> None:
        self.totals = totals
        self.allocated = allocated
        self.dominant, self.value = totals.calculate_share(allocated)

    def add_request(self, request: Resource) -> None:
        """Add a request and update the share."""
        self.allocated.add(request)
        self.dominant, self.value = self.totals.calculate_share(self.allocated)

    def sub_request(self, request: Resource) -> None:
        """Subtract a request and update the share; a request above the allocated amount panics, as upstream."""
        self.allocated.sub(request)
        self.dominant, self.value = self.totals.calculate_share(self.allocated)
