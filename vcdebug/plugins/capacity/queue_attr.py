"""A queue in the capacity plugin: limits, sums, share, and its place in the tree.

Upstream: plugins/capacity (queueAttr).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from vcdebug.framework.accounts import account_figures
from vcdebug.framework.figures import Figures
from vcdebug.model.job import JobInfo
from vcdebug.model.job_amounts import NEWEST_FORM as RESERVING
from vcdebug.model.job_amounts import ReservationForm, add_allocated, add_requested, elastic_resource, reserved_resource
from vcdebug.model.names import QueueName
from vcdebug.model.pod_claims import TaskDemand
from vcdebug.model.queue import LimitCheck, QueueInfo, QueueLimit, check_request, share_of
from vcdebug.model.resource import INFINITY, PODS, DefaultValue, Resource, resource_max
from vcdebug.model.task import TaskInfo, is_allocated_status
from vcdebug.plugins.capacity.devices import ClaimDemands, DeviceQuota
from vcdebug.releases import queues
from vcdebug.releases.queues import PR_5502
from vcdebug.releases.release import Release


class CapacityForm(NamedTuple):
    """The differences between releases in how queues are built."""

    reserving: ReservationForm = RESERVING
    nothing_first: bool = False
    """A queue that deserves nothing has the share 0, and no disadvantage among equals."""
    bounded: bool = False
    """The root has what the cluster has."""
    raw_deserved: bool = False
    """A guarantee does not raise what a queue in a tree deserves."""
    fatal: bool = False
    """A child with more than its parent spoils the whole tree."""
    root_states_nothing: bool = False
    """The root has what the cluster has whatever it states, where it is bounded at all."""
    clamped: bool = False
    """What a queue in a tree deserves is within its limit, and at least its guarantee."""
    scalars_inherited: bool = True
    """A queue without a limit of an accelerator has its parent's."""
    keeps_zeros: bool = True
    """A queue that states 0 of an accelerator as deserved deserves 0, not nothing stated."""
    copies_ancestors: bool = False
    """Lists of ancestors share no memory."""
    within_request: bool = False
    """A queue deserves no more than its tasks request."""
    asserts_rest: bool = False
    """Guarantees beyond what their parent may use end the process."""
    asserts_total: bool = False
    """Without a tree, guarantees beyond what the cluster has end the process."""

    @classmethod
    def for_release(cls, release: Release) -> CapacityForm:
        """The form of a release."""
        has_older_form = release.has_older_form
        return cls(
            ReservationForm.for_release(release),
            has_older_form(queues.CAPACITY_BEST_EFFORT_FIRST),
            has_older_form(queues.ROOT_INFINITE),
            has_older_form(queues.CAPACITY_TREE_DESERVED_RAW),
            has_older_form(queues.CAPACITY_TREE_VIOLATION_FATAL),
            has_older_form(queues.CAPACITY_ROOT_ALWAYS_CLUSTER),
            has_older_form(queues.CAPACITY_TREE_DESERVED_CLAMPED),
            not has_older_form(queues.CAPACITY_SCALARS_NOT_INHERITED),
            not has_older_form(queues.ZERO_DESERVED_DROPPED),
            has_older_form(PR_5502),
            has_older_form(queues.CAPACITY_DESERVED_WITHIN_REQUEST),
            has_older_form(queues.GUARANTEES_BEYOND_REST),
            has_older_form(queues.GUARANTEES_BEYOND_TOTAL),
        )


NEWEST_FORM = CapacityForm()


class AncestorSlice:
    """A queue's ancestors, root first, as a Go slice: slices appended to one slice may share its memory."""

    # From depth 7 on cousins overwrite each other's last name, and so may a question about a queue.

    __slots__ = ("_copies", "_memory", "_size")

    def __init__(self, *, copies: bool = False) -> None:
        self._copies = copies
        self._memory: list[QueueName] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> QueueName:
        return self._memory[index if index >= 0 else self._size + index]

    def __iter__(self) -> Iterator[QueueName]:
        return iter(self._memory[: self._size])

    def would_overwrite(self, name: QueueName) -> bool:
        """Whether appending the name replaces another one that a longer list has."""
        return not self._copies and self._size < len(self._memory) and self._memory[self._size] not in ("", name)

    def append_name(self, name: QueueName) -> AncestorSlice:
        """Go's append: writes behind the own names where memory is left, else copies into twice the memory."""
        grown = AncestorSlice(copies=self._copies)
        grown._size = self._size + 1
        if self._copies:
            grown._memory = [*self, name]
        elif self._size == len(self._memory):
            spare = max(1, 2 * self._size) - grown._size
            grown._memory = [*self._memory, name, *[""] * spare]
        else:
            grown._memory = self._memory
            grown._memory[self._size] = name
        return grown


class Entitlement(NamedTuple):
    """What a queue deserves, part by part."""

    stated: Resource
    limit: Resource | None
    """None where no limit applies."""
    guarantee: Resource
    deserved: Resource


@dataclass(slots=True, eq=False)
class CapacityQueueAttr:
    """A queue's figures. `allocated` is replaced, never changed, so that simulations may keep an earlier one.
    Upstream: plugins/capacity.newQueueAttr.
    """

    name: QueueName
    deserved: Resource
    capability: Resource
    guarantee: Resource
    real_capability: Resource = field(default_factory=Resource)
    """The limit in force: the capability, at most the parent's less the guarantees of other queues."""
    bound: QueueLimit | None = None
    """How the limit was computed; None for the root and for queues outside its tree."""
    entitlement: Entitlement | None = None
    """How the deserved amount was computed."""
    devices: DeviceQuota | None = None
    share: float = 0.0
    nothing_first: bool = False
    keeps_zeros: bool = True
    """Both as in CapacityForm."""
    ancestors: AncestorSlice = field(default_factory=AncestorSlice)
    children: dict[QueueName, CapacityQueueAttr] = field(default_factory=dict)
    allocated: Resource = field(default_factory=Resource)
    request: Resource = field(default_factory=Resource)
    elastic: Resource = field(default_factory=Resource)
    inqueue: Resource = field(default_factory=Resource)

    @classmethod
    def from_queue(cls, queue: QueueInfo, form: CapacityForm = NEWEST_FORM) -> CapacityQueueAttr:
        """A queue with the limits that its manifest states."""
        return cls(
            queue.name,
            Resource.from_list(queue.deserved),
            Resource.from_list(queue.capability),
            Resource.from_list(queue.guarantee),
            devices=DeviceQuota.from_queue(queue),
            ancestors=AncestorSlice(copies=form.copies_ancestors),
            nothing_first=form.nothing_first,
            keeps_zeros=form.keeps_zeros,
        )

    def update_share(self) -> None:
        """The largest fraction of a deserved dimension that is allocated; for a queue that deserves nothing 1, or 0.
        Upstream: plugins/capacity.updateShare.
        """
        if self.deserved.is_empty():
            self.share = 0.0 if self.nothing_first else 1.0
            return
        self.share = 0.0
        for _, fraction in self.share_by_dimension():
            self.share = max(self.share, fraction)

    def share_by_dimension(self) -> list[tuple[str, float]]:
        """(dimension, allocated fraction) of each deserved dimension."""
        allocated, deserved = self.allocated, self.deserved
        return [(name, share_of(allocated.get(name), deserved.get(name))) for name in deserved.resource_names()]

    def set_limit(self, bound: QueueLimit) -> None:
        """Take over a limit."""
        self.bound, self.real_capability = bound, bound.limit
        if bound.capability is not None:
            self.capability = bound.capability

    def set_deserved(
        self, within: Resource | None = None, *, raised: bool = True, unasked: DefaultValue | None = None
    ) -> None:
        """What the queue deserves: what it states, within a limit, and at least its guarantee, where that raises it.

        Where `unasked` says what dimensions count that nobody requests, what is requested is a limit too.
        """
        deserved, guarantee = self.deserved, self.guarantee if raised else Resource()
        bounded = deserved.clone()
        if within is not None:
            bounded.min_dimension_resource(within, INFINITY)
        if unasked is not None:
            bounded.min_dimension_resource(self.request, unasked)
        self.deserved = resource_max(bounded, guarantee, keeps_zeros=self.keeps_zeros or not raised)
        self.entitlement = Entitlement(deserved, within, guarantee, self.deserved)

    def ancestor_at_depth(self, distance: int) -> QueueName | None:
        """The ancestor at a distance, 1 for the parent. Upstream: plugins/capacity.queueAncestorAtDepth."""
        return self.ancestors[-distance] if 0 < distance <= len(self.ancestors) else None

    def add_allocated_task(self, task: TaskInfo, demand: TaskDemand | None) -> None:
        """Add an allocated task; the share is not updated."""
        self.allocated = self.allocated.clone().add(task.resreq)
        if demand is not None and self.devices is not None:
            self.devices.add_demand(demand)

    def remove_allocated(self, request: Resource, demand: TaskDemand | None) -> None:
        """Subtract the request of a removed task; the share is not updated."""
        self.allocated = self.allocated.clone().sub(request)
        if demand is not None and self.devices is not None:
            self.devices.remove_demand(demand)

    @property
    def ancestor_names(self) -> list[QueueName]:
        """The current ancestors, root first."""
        return list(self.ancestors)


FIGURES = {
    "ancestors": "ancestor_names",
    **account_figures("share", "deserved", "allocated", "request", "elastic", "inqueue", "capability"),
    "realCapability": "real_capability",
    "guarantee": "guarantee",
}
"""Upstream's names → attributes."""
Attrs = dict[QueueName, CapacityQueueAttr]


def with_figures(attr: CapacityQueueAttr, figures: Figures) -> CapacityQueueAttr:
    """A copy of the queue with these figures, without devices."""
    names = ("share", "deserved", "allocated", "request", "elastic", "inqueue", "capability", "guarantee")
    limit = figures["realCapability"]
    return replace(attr, devices=None, real_capability=limit, **{name: figures[name] for name in names})


def count_job_in(attr: CapacityQueueAttr, job: JobInfo, demands: ClaimDemands | None, form: ReservationForm) -> None:
    """Add one job to its queue's sums."""
    add_allocated(attr.allocated, (job,))
    if attr.devices is not None and demands is not None:
        for uid in sorted(job.tasks):
            demand = demands.demand_of(job.tasks[uid]) if is_allocated_status(job.tasks[uid].status) else None
            if demand is not None:
                attr.devices.add_demand(demand)
    add_requested(attr.request, (job,))
    reserved = reserved_resource(job, form)
    if reserved is not None:
        attr.inqueue.add(reserved)
    attr.elastic.add(elastic_resource(job, form))


def compare_leaves_first(left: CapacityQueueAttr, right: CapacityQueueAttr) -> int:
    """Leaves go first."""
    return int(bool(left.children)) - int(bool(right.children))


def compare_share(left: CapacityQueueAttr, right: CapacityQueueAttr) -> int:
    """The smaller share first; of equal ones a queue that deserves something, unless such ones go first.
    Upstream: plugins/capacity.compareShareWithDeserved.
    """
    if left.share != right.share or left.nothing_first:
        return (left.share > right.share) - (left.share < right.share)
    return int(left.deserved.is_empty()) - int(right.deserved.is_empty())


def common_level(left: CapacityQueueAttr, right: CapacityQueueAttr) -> int:
    """Index of the last common ancestor, 0 also for none. Upstream: plugins/capacity.getQueueLevel."""
    level = 0
    for index, (left_ancestor, right_ancestor) in enumerate(zip(left.ancestors, right.ancestors, strict=False)):
        if left_ancestor != right_ancestor:
            return level
        level = index
    return level


def shared_dimensions(left: Resource, right: Resource) -> list[str]:
    """Dimensions in which both hold something."""
    return [name for name in right.resource_names() if name in left.resource_names()]


def has_shared_dimension(task: TaskInfo, other: TaskInfo) -> bool:
    """Whether evicting the task frees anything that the other asks for, `pods` aside."""
    return any(name != PODS for name in shared_dimensions(task.resreq, other.init_resreq))


def has_relevant_deserved(task: TaskInfo, deserved: Resource) -> bool:
    """Whether the task uses a deserved dimension. Upstream: plugins/capacity.hasRelevantDeserved."""
    return bool(shared_dimensions(task.resreq, deserved))


def short_of_guarantee(attr: CapacityQueueAttr, allocated: Resource, task: TaskInfo) -> str:
    """The first dimension below the guarantee without the task. Upstream: plugins/capacity.checkGuaranteeConstraint."""
    remaining = allocated.clone().sub(task.resreq)
    return next(iter(attr.guarantee.less_equal_with_resources_name(remaining)[1]), "")


def surplus_in(deserved: Resource, allocated: Resource, name: str) -> float:
    """What is held beyond what is deserved in one dimension; one in which nothing is deserved does not count."""
    return allocated.get(name) - deserved.get(name) if deserved.states_dimension(name) else 0.0


def exceeds_deserved(attr: CapacityQueueAttr, allocated: Resource, task: TaskInfo) -> bool:
    """Whether the queue holds more than it deserves in a dimension of the task, or deserves nothing in any of them.
    Upstream: plugins/capacity.checkDeservedExceedance.
    """
    if not has_relevant_deserved(task, attr.deserved):
        return True
    return allocated.greater_partly_with_relevant_dimensions(attr.deserved, task.resreq)[0]


def check_claim(attr: CapacityQueueAttr, request: Resource, counted: Resource | None = None) -> LimitCheck:
    """The request against what the queue deserves; `counted` is what of it counts."""
    return check_request(attr.allocated, request, attr.deserved, counted)


def deserves_more(claimed: LimitCheck) -> list[str]:
    """The dimensions of a claim in which the queue would hold no more than it deserves."""
    return claimed.total.less_equal_partly_with_dimension_zero_filtered(claimed.limit, claimed.request)[1]
