"""Hierarchical shares: a tree of queue paths with the jobs as leaves, compared level by level.

Upstream: plugins/drf.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from vcdebug.errors import SchedulerPanic
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.queue import QueueInfo, ShareTotals
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
Demanding = Mapping[str, bool]


@dataclass(slots=True)
class HierarchyNode:
    """A path element, or a job at the end of its queue's path."""

    weight: float
    share: DominantShare
    request: Resource | None = None
    """What all tasks of the job ask for; None for a path element."""
    children: dict[str, HierarchyNode] = field(default_factory=dict)
    saturated: bool = False

    def clone(self) -> HierarchyNode:
        """An independent copy of the whole branch. Upstream: plugins/drf.Clone."""
        share = DominantShare(self.share.totals, self.share.allocated.clone())
        children = {name: child.clone() for name, child in self.children.items()}
        return HierarchyNode(self.weight, share, self.request, children, self.saturated)

    def weighted_share(self) -> float:
        """What two siblings are compared by."""
        return self.share.value / self.weight


class Hierarchy:
    """The tree and the sum of what all jobs hold; interior shares are brought up to date when they are asked for."""

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
        """Hang the job below its queue's path; path elements keep the weight of the first job that came by.
        Upstream: plugins/drf.buildHierarchy.
        """
        queue = self.queues[job.queue]
        elements, weights = queue_path(queue), queue.weights.split("/")
        node = root
        for position, element in enumerate(elements[1:], start=1):
            if element not in node.children:
                if position >= len(weights):
                    raise SchedulerPanic(f"runtime error: index out of range [{position}] with length {len(weights)}")
                node.children[element] = HierarchyNode(
                    parse_weight(weights[position]), DominantShare(self.totals, Resource())
                )
            node = node.children[element]
        node.children[job.uid] = HierarchyNode(1.0, share, job.total_request)

    def add_request(self, request: Resource) -> None:
        """A job, whose share has changed already, took on a request."""
        self.allocated.add(request)
        self.stale = True

    def sub_request(self, request: Resource) -> None:
        """A job gave a request back."""
        self.allocated.sub(request)
        self.stale = True

    def compare_queues(self, left: QueueInfo, right: QueueInfo) -> float:
        """Negative when the left queue goes first."""
        if self.stale:
            self.update_hierarchical_share(self.root, self.allocated)
            self.stale = False
        return compare_in_tree(self.root, left, right)

    def update_hierarchical_share(self, root: HierarchyNode, allocated: Resource) -> None:
        """Recompute all shares from the jobs up. Upstream: plugins/drf.UpdateHierarchicalShare."""
        demanding = {name: allocated.get(name) < total for name, total in self.totals.dimensions}
        self.update_node(root, demanding)

    def update_node(self, node: HierarchyNode, demanding: Demanding) -> None:
        """A job's saturation, or a path element's sum of its children scaled to their smallest share.
        Upstream: plugins/drf.updateHierarchicalShare.
        """
        if node.request is not None:
            node.saturated = is_saturated(node.share.allocated, node.request, demanding)
            return
        children = [node.children[name] for name in sorted(node.children)]
        smallest = 1.0
        for child in children:
            self.update_node(child, demanding)
            if child.share.value != 0 and not child.saturated:
                smallest = min(smallest, self.totals.largest_share(child.share.allocated))
        total = Resource()
        for child in children:
            if child.share.value != 0:
                total.add(scaled_allocation(child, smallest))
        node.share = DominantShare(self.totals, total)
        node.saturated = all(child.saturated for child in children)

    def iter_exchanges(self, reclaimer: TaskInfo, candidates: Iterable[TaskInfo]) -> Iterator[tuple[TaskInfo, float]]:
        """Candidates with jobs, each exchanged alone on a copy of the tree; below 0 its queue stays behind."""
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
        """`queue` compared with the candidate's queue while the candidate is taken out."""
        victim_job = self.jobs[task.job]
        held = self.shares[victim_job.uid].allocated
        self.place_job(root, victim_job, DominantShare(self.totals, held.clone().sub(task.resreq)))
        self.update_hierarchical_share(root, allocated.sub(task.resreq))
        difference = compare_in_tree(root, queue, self.queues[victim_job.queue])
        allocated.add(task.resreq)
        self.place_job(root, victim_job, DominantShare(self.totals, held.clone()))
        return difference


def queue_path(queue: QueueInfo) -> list[str]:
    """The queue's path; the first element stands for the root and is not looked at."""
    return queue.hierarchy.split("/")


def parse_weight(text: str) -> float:
    """At least 1, also for what is no number."""
    return max(float(text), 1.0) if _NUMBER.fullmatch(text) and math.isfinite(float(text)) else 1.0


def is_saturated(allocated: Resource, request: Resource, demanding: Demanding) -> bool:
    """Whether some dimension that the job holds is all that it asks for, or is used up in the cluster.
    Upstream: plugins/drf.resourceSaturated.
    """
    for name in allocated.resource_names():
        wanted = request.get(name)
        if wanted != 0 and (allocated.get(name) >= wanted or not demanding.get(name, False)):
            return True
    return False


def scaled_allocation(child: HierarchyNode, smallest: float) -> Resource:
    """What the child counts for in its parent: a saturated child in full."""
    if child.saturated:
        return child.share.allocated
    return child.share.allocated.clone().multi(smallest / child.share.value)


def iter_levels(
    root: HierarchyNode, left: QueueInfo, right: QueueInfo
) -> Iterator[tuple[str, str, HierarchyNode, HierarchyNode]]:
    """The elements of both paths and their places in the tree, level by level."""
    mine = other = root
    for level, (one, two) in enumerate(zip(queue_path(left), queue_path(right), strict=False)):
        if level:
            mine, other = mine.children[one], other.children[two]
        yield one, two, mine, other


def compare_in_tree(root: HierarchyNode, left: QueueInfo, right: QueueInfo) -> float:
    """The first level at which the paths differ decides: the unsaturated one, else the smaller weighted share.
    Upstream: plugins/drf.compareQueues.
    """
    for _, _, mine, other in iter_levels(root, left, right):
        if mine.saturated != other.saturated:
            return 1.0 if mine.saturated else -1.0
        if mine.weighted_share() != other.weighted_share():
            return mine.weighted_share() - other.weighted_share()
    return 0.0


# Dominant shares: the largest fraction of the cluster that an amount takes in any dimension.


class DominantShare:
    """An amount with its dominant share, kept together. Upstream: plugins/drf.updateShare."""

    __slots__ = ("allocated", "dominant", "totals", "value")

    def __init__(self, totals: ShareTotals, allocated: Resource) -> None:
        self.totals = totals
        self.allocated = allocated
        self.dominant, self.value = totals.calculate_share(allocated)

    def add_request(self, request: Resource) -> None:
        """Take on a request."""
        self.allocated.add(request)
        self.dominant, self.value = self.totals.calculate_share(self.allocated)

    def sub_request(self, request: Resource) -> None:
        """Give a request back; more than is held fails upstream's assertion."""
        self.allocated.sub(request)
        self.dominant, self.value = self.totals.calculate_share(self.allocated)
