"""A queue of capacity: limits, sums, share and place in the tree. Upstream: plugins/capacity (queueAttr)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

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
from vcdebug.releases.release import ReleaseRules, rule_of


@dataclass(frozen=True, slots=True)
class CapacityForm(ReleaseRules):
    """The differences between releases in how queue attributes are built."""

    reserving: ReservationForm = RESERVING
    empty_deserved_goes_first: bool = rule_of(queues.CAPACITY_BEST_EFFORT_FIRST)
    """A queue with an empty deserved amount has share 0, and no tie-break puts it last."""
    root_limit_is_total: bool = rule_of(queues.ROOT_INFINITE)
    """The root's limit is the cluster's total."""
    raw_deserved: bool = rule_of(queues.CAPACITY_TREE_DESERVED_RAW)
    """In a tree, a guarantee does not raise the deserved amount."""
    fatal: bool = rule_of(queues.CAPACITY_TREE_VIOLATION_FATAL)
    """A child that exceeds its parent breaks the whole tree."""
    ignores_root_fields: bool = rule_of(queues.CAPACITY_ROOT_ALWAYS_CLUSTER)
    """If `root_limit_is_total`, the root's own capability, deserved and guarantee are ignored."""
    clamps_deserved: bool = rule_of(queues.CAPACITY_TREE_DESERVED_CLAMPED)
    """In a tree, the deserved amount is at most the limit and at least the guarantee."""
    scalars_inherited: bool = rule_of(queues.CAPACITY_SCALARS_NOT_INHERITED, newest=True)
    """A queue without a limit for a scalar resource inherits its parent's."""
    keeps_zeros: bool = rule_of(queues.ZERO_DESERVED_DROPPED, newest=True)
    """A deserved scalar of 0 counts as deserving 0; otherwise it counts as unset."""
    copies_ancestors: bool = rule_of(PR_5502)
    """Each queue has its own copy of the list of ancestors."""
    within_request: bool = rule_of(queues.CAPACITY_DESERVED_WITHIN_REQUEST)
    """The deserved amount is at most the request of the queue's tasks."""
    asserts_remaining_guarantee: bool = rule_of(queues.GUARANTEES_BEYOND_REST)
    """Guarantees that exceed the parent's limit end the process."""
    asserts_total: bool = rule_of(queues.GUARANTEES_BEYOND_TOTAL)
    """Without a tree, guarantees that exceed the cluster's total end the process."""


NEWEST_FORM = CapacityForm()


class AncestorSlice:
    """A queue's ancestors, root first, with Go slice semantics: slices appended to one slice may share memory."""

    # From depth 7 on, a queue may overwrite the last ancestor of a cousin, as may a check of a queue.

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
        """Whether appending the name would overwrite a different name in a longer slice."""
        return not self._copies and self._size < len(self._memory) and self._memory[self._size] not in ("", name)

    def append_name(self, name: QueueName) -> AncestorSlice:
        """Append as Go does: write into spare capacity if there is some, else copy into twice the memory."""
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
    """How the deserved amount of a queue was computed."""

    stated_deserved: Resource
    limit: Resource | None
    """The upper limit; None if there is none."""
    guarantee: Resource
    deserved: Resource


class CapacityQueueAttr(Struct, eq=False):
    """A queue's figures. `allocated` is replaced, never modified, so that simulations can keep an earlier value.
    Upstream: plugins/capacity.newQueueAttr.
    """

    name: QueueName
    deserved: Resource
    capability: Resource
    guarantee: Resource
    real_capability: Resource = field(default_factory=Resource)
    """The effective limit: the capability, at most the parent's limit less the guarantees of other queues."""
    limit_derivation: QueueLimit | None = None
    """How the effective limit was computed; None for the root and for queues outside the tree."""
    entitlement: Entitlement | None = None
    """How the deserved amount was computed."""
    devices: DeviceQuota | None = None
    share: float = 0.0
    empty_deserved_goes_first: bool = False
    keeps_zeros: bool = True
    """Both as in CapacityForm."""
    ancestors: AncestorSlice = field(default_factory=AncestorSlice)
    children: dict[QueueName, CapacityQueueAttr] = {}
    allocated: Resource = field(default_factory=Resource)
    request: Resource = field(default_factory=Resource)
    elastic: Resource = field(default_factory=Resource)
    inqueue: Resource = field(default_factory=Resource)

    @classmethod
    def from_queue(cls, queue: QueueInfo, form: CapacityForm = NEWEST_FORM) -> CapacityQueueAttr:
        """A queue with the amounts in its manifest."""
        return cls(
            queue.name,
            Resource.from_list(queue.deserved),
            Resource.from_list(queue.capability),
            Resource.from_list(queue.guarantee),
            devices=DeviceQuota.from_queue(queue),
            ancestors=AncestorSlice(copies=form.copies_ancestors),
            empty_deserved_goes_first=form.empty_deserved_goes_first,
            keeps_zeros=form.keeps_zeros,
        )

    def update_share(self) -> None:
        """Set the share to the largest allocated fraction of a deserved dimension; 1 (or 0) if nothing is deserved.
        Upstream: plugins/capacity.updateShare.
        """
        if self.deserved.is_empty():
            self.share = 0.0 if self.empty_deserved_goes_first else 1.0
            return
        self.share = 0.0
        for _, fraction in self.share_by_dimension():
            self.share = max(self.share, fraction)

    def share_by_dimension(self) -> list[tuple[str, float]]:
        """(dimension, allocated fraction) for each deserved dimension."""
        allocated, deserved = self.allocated, self.deserved
        return [(name, share_of(allocated.get(name), deserved.get(name))) for name in deserved.resource_names()]

    def set_limit(self, bound: QueueLimit) -> None:
        """Set the effective limit."""
        self.limit_derivation, self.real_capability = bound, bound.limit
        if bound.capability is not None:
            self.capability = bound.capability

    def set_deserved(
        self, within: Resource | None = None, *, raised: bool = True, unasked: DefaultValue | None = None
    ) -> None:
        """Set the deserved amount: the manifest's, at most `within`, and at least the guarantee if `raised`.

        With `unasked`, the value of dimensions that no pod requests, the request is a limit too.
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
        """The ancestor at a distance, 1 is the parent. Upstream: plugins/capacity.queueAncestorAtDepth."""
        return self.ancestors[-distance] if 0 < distance <= len(self.ancestors) else None

    def add_allocated_task(self, task: TaskInfo, demand: TaskDemand | None) -> None:
        """Add an allocated task to the sums, without updating the share."""
        self.allocated = self.allocated.clone().add(task.resreq)
        if demand is not None and self.devices is not None:
            self.devices.add_demand(demand)

    def remove_allocated(self, request: Resource, demand: TaskDemand | None) -> None:
        """Subtract a removed task's request from the sums, without updating the share."""
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
"""Upstream's name of each figure → attribute."""
Attrs = dict[QueueName, CapacityQueueAttr]


def with_figures(attr: CapacityQueueAttr, figures: Figures) -> CapacityQueueAttr:
    """A copy of the queue with the given figures and without devices."""
    names = ("share", "deserved", "allocated", "request", "elastic", "inqueue", "capability", "guarantee")
    limit = figures["realCapability"]
    return replace(attr, devices=None, real_capability=limit, **{name: figures[name] for name in names})


def count_job_in(attr: CapacityQueueAttr, job: JobInfo, demands: ClaimDemands | None, form: ReservationForm) -> None:
    """Add a job to its queue's sums."""
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
    """-1 if only the left queue is a leaf, 1 if only the right one is."""
    return int(bool(left.children)) - int(bool(right.children))


def compare_share(left: CapacityQueueAttr, right: CapacityQueueAttr) -> int:
    """The smaller share first; ties go to the queue with a deserved amount, unless `empty_deserved_goes_first`.
    Upstream: plugins/capacity.compareShareWithDeserved.
    """
    if left.share != right.share or left.empty_deserved_goes_first:
        return (left.share > right.share) - (left.share < right.share)
    return int(left.deserved.is_empty()) - int(right.deserved.is_empty())


def common_level(left: CapacityQueueAttr, right: CapacityQueueAttr) -> int:
    """Index of the last common ancestor, also 0 if there is none. Upstream: plugins/capacity.getQueueLevel."""
    level = 0
    for index, (left_ancestor, right_ancestor) in enumerate(zip(left.ancestors, right.ancestors, strict=False)):
        if left_ancestor != right_ancestor:
            return level
        level = index
    return level


def shared_dimensions(left: Resource, right: Resource) -> list[str]:
    """The dimensions that both amounts have."""
    return [name for name in right.resource_names() if name in left.resource_names()]


def has_shared_dimension(task: TaskInfo, other: TaskInfo) -> bool:
    """Whether evicting the task frees a dimension that the other task requests, except `pods`."""
    return any(name != PODS for name in shared_dimensions(task.resreq, other.init_resreq))


def has_relevant_deserved(task: TaskInfo, deserved: Resource) -> bool:
    """Whether the task uses a deserved dimension. Upstream: plugins/capacity.hasRelevantDeserved."""
    return bool(shared_dimensions(task.resreq, deserved))


def short_of_guarantee(attr: CapacityQueueAttr, allocated: Resource, task: TaskInfo) -> str:
    """The first dimension below the guarantee without the task. Upstream: plugins/capacity.checkGuaranteeConstraint."""
    remaining = allocated.clone().sub(task.resreq)
    return next(iter(attr.guarantee.less_equal_with_resources_name(remaining)[1]), "")


def surplus_in(deserved: Resource, allocated: Resource, name: str) -> float:
    """Allocated minus deserved amount of a dimension; 0 if nothing is deserved in it."""
    return allocated.get(name) - deserved.get(name) if deserved.states_dimension(name) else 0.0


def exceeds_deserved(attr: CapacityQueueAttr, allocated: Resource, task: TaskInfo) -> bool:
    """Whether the queue exceeds its deserved amount in a dimension of the task, or deserves none of them.
    Upstream: plugins/capacity.checkDeservedExceedance.
    """
    if not has_relevant_deserved(task, attr.deserved):
        return True
    return allocated.greater_partly_with_relevant_dimensions(attr.deserved, task.resreq)[0]


def check_claim(attr: CapacityQueueAttr, request: Resource, counted: Resource | None = None) -> LimitCheck:
    """Check a request against the deserved amount; `counted` is the part of the request that counts."""
    return check_request(attr.allocated, request, attr.deserved, counted)


def deserves_more(claimed: LimitCheck) -> list[str]:
    """The dimensions of the claim in which the queue stays within its deserved amount."""
    return claimed.total.less_equal_partly_with_dimension_zero_filtered(claimed.limit, claimed.request)[1]
