"""proportion: divides the cluster among queues by weight, which limits allocation. Upstream: plugins/proportion."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct, field

from vcdebug.framework.accounts import QUEUE, WHOLE, Accounts, account_figures
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.figures import Figures
from vcdebug.framework.hooks import JOB_ENQUEUED, PRE_PREDICATE, PREEMPTIVE
from vcdebug.framework.persistence import clamp_request, counted_request
from vcdebug.framework.plugin_answers import PERMIT, REJECT, PluginError, VictimAnswer
from vcdebug.framework.quirks import OVERUSED_KEPT_FALSE
from vcdebug.framework.session import Event, Plugin, Session
from vcdebug.kube.node_view import CycleState
from vcdebug.model import job_amounts
from vcdebug.model import queue as queue_limits
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.node import NodeInfo
from vcdebug.model.queue import OPEN, QueueInfo
from vcdebug.model.resource import CPU, INFINITY, MEMORY, ZERO, Resource, deep_equal, resource_max
from vcdebug.model.task import TaskInfo
from vcdebug.releases import queues as queue_changes
from vcdebug.releases.release import Release
from vcdebug.releases.scheduling import RECLAIM_ASKS_ALLOCATABLE, TOPOLOGY_PREEMPT_ABSENT

STATE_KEY = "proportionState"
QUOTA_MESSAGE = "queue resource quota insufficient"
NO_STATE = f'failed to get capacity state: error reading "{STATE_KEY}" from cycleState: not found'
NO_JOB = "[proportion] job {job} not found in session (orphaned task from deleted PodGroup)"
NO_RESOURCE = Resource()
NO_QUEUE = "[proportion] queue {queue} not found"


class ProportionQueueAttr(Struct):
    """The figures of a queue; `share`, `allocated` and `inqueue` change during the session, the others do not."""

    weight: int
    capability: Resource
    real_capability: Resource
    guarantee: Resource
    share: float = 0.0
    deserved: Resource = field(default_factory=Resource)
    allocated: Resource = field(default_factory=Resource)
    """Replaced, never modified, so that simulations can keep an earlier value."""
    request: Resource = field(default_factory=Resource)
    elastic: Resource = field(default_factory=Resource)
    inqueue: Resource = field(default_factory=Resource)
    limit_derivation: queue_limits.QueueLimit | None = None
    """How the real capability was computed."""
    keeps_zeros: bool = True
    """Whether a deserved scalar of 0 is kept as 0 instead of being dropped."""
    _totals: queue_limits.ShareTotals | None = None
    """Cached dimensions of `deserved`, which is replaced and never modified."""

    def update_share(self) -> None:
        """Set share to the largest fraction of a deserved dimension. Upstream: plugins/proportion.updateShare."""
        self.share = self.deserved_totals.calculate_share(self.allocated)[1]

    def share_by_dimension(self) -> list[tuple[str, float]]:
        """(dimension, allocated fraction) for each deserved dimension."""
        return self.deserved_totals.share_by_dimension(self.allocated)

    @property
    def deserved_totals(self) -> queue_limits.ShareTotals:
        """The dimensions with a deserved amount, for computing shares."""
        if self._totals is None or self._totals.resource is not self.deserved:
            self._totals = queue_limits.ShareTotals(self.deserved)
        return self._totals

    def job_sums(self) -> tuple[Resource, ...]:
        """(allocated, request, inqueue, elastic) of the queue's jobs."""
        return self.allocated, self.request, self.inqueue, self.elastic

    def set_allocated(self, allocated: Resource) -> None:
        """Set the allocated amount and update the share."""
        self.allocated = allocated
        self.update_share()

    def unused_dimensions(self) -> list[str]:
        """The deserved dimensions that are not fully allocated."""
        return self.deserved.less_equal_with_resources_name(self.allocated)[1]


Attrs = dict[QueueName, ProportionQueueAttr]


class AllocatedState(Struct, dict=True):
    """The allocated amounts of queues in a simulation, starting from those at PrePredicate."""

    queues: Attrs
    replaced: list[tuple[QueueName, Resource]]
    position: int

    @cached_property
    def by_queue(self) -> dict[QueueName, Resource]:
        """The amounts at PrePredicate, restored on first use: most tasks are never simulated."""
        allocated = {name: attr.allocated for name, attr in self.queues.items()}
        allocated.update(reversed(self.replaced[self.position :]))
        return allocated

    def clone(self) -> AllocatedState:
        """An independent copy. Upstream: plugins/proportion.Clone."""
        copy = AllocatedState(self.queues, self.replaced, self.position)
        copy.by_queue = dict(self.by_queue)
        return copy


FIGURES = {
    **account_figures("weight", "share", "deserved", "allocated", "request", "elastic", "inqueue", "capability"),
    "realCapability": "real_capability",
    "guarantee": "guarantee",
}
"""Upstream's name of each figure → attribute."""


class Proportion(Plugin):
    """Computes each queue's deserved amount, and decides admission, allocation and reclaim by it."""

    name = "proportion"
    accounts = (
        Accounts(WHOLE, "", account_figures("total")),
        Accounts(QUEUE, "queues", FIGURES, operation=("allocated", "share"), admission=("inqueue",)),
    )
    later_methods = {
        JOB_ENQUEUED.method: queue_changes.ENQUEUE_INQUEUE_AT_VOTE,
        PRE_PREDICATE.method: TOPOLOGY_PREEMPT_ABSENT,
        PREEMPTIVE.method: RECLAIM_ASKS_ALLOCATABLE,
    }
    ssn: Session

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.jobs: dict[JobId, JobInfo] = {}
        self.total = Resource()
        self.guaranteed = Resource()
        self.queues: Attrs = {}
        self.replaced: list[tuple[QueueName, Resource]] = []
        """(queue, previous allocated amount) of every change, in order."""

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/proportion.OnSessionOpen."""
        self.reserves_at_vote = ssn.release.has_older_form(queue_changes.ENQUEUE_INQUEUE_AT_VOTE)
        self.ssn = ssn
        self.jobs = ssn.jobs
        self.total.add(ssn.total_resource)
        self.guaranteed.add_all(Resource.from_list(queue.guarantee) for queue in ssn.queues.values())
        ssn.log("proportion.total", self.total)
        ssn.log("proportion.guarantee", self.guaranteed)
        jobs = job_amounts.jobs_by_queue(ssn.jobs.values())
        if jobs and ssn.release.has_older_form(queue_changes.GUARANTEES_BEYOND_TOTAL):
            self.total.clone().sub(self.guaranteed)
        attrs: Attrs = {name: self.new_attr(ssn.queues[name]) for name in jobs}
        for name, attr in attrs.items():
            count_jobs_in(attr, jobs[name], job_amounts.ReservationForm.for_release(ssn.release))
        ssn.log("proportion.jobs")
        self.queues = {name: attrs[name] for name in ssn.queues if name in attrs}
        asserts_rest = ssn.release.has_older_form(queue_changes.GUARANTEES_BEYOND_REST)
        for _ in deal_rounds(self.total, list(self.queues.values()), asserts_rest=asserts_rest):
            pass
        ssn.log("proportion.rounds")

    def new_attr(self, queue: QueueInfo) -> ProportionQueueAttr:
        """A queue with its limits: the cluster less the guarantees of other queues, and its own capability."""
        bound = queue_limits.flat_limit(queue, self.total, self.guaranteed)
        capability = Resource() if bound.capability is None else bound.capability
        keeps_zeros = not self.ssn.release.has_older_form(queue_changes.ZERO_DESERVED_DROPPED)
        return ProportionQueueAttr(
            queue.weight, capability, bound.limit, bound.own_guarantee, limit_derivation=bound, keeps_zeros=keeps_zeros
        )

    def queue_order(self, left: QueueInfo, right: QueueInfo) -> int:
        if left.priority != right.priority:
            return right.priority - left.priority
        left_share, right_share = self.queues[left.name].share, self.queues[right.name].share
        return (left_share > right_share) - (left_share < right_share)

    def overused(self, queue: QueueInfo) -> bool:
        """Whether every deserved dimension is fully allocated; one that is not, such as pods, makes this False."""
        attr = self.queues[queue.name]
        unused = attr.unused_dimensions()
        if unused and CPU not in unused and MEMORY not in unused and attr.deserved.milli_cpu > 0:
            text = f"{queue.name} is not overused although cpu and memory are used up: {', '.join(unused)} are not"
            self.ssn.note_quirk(OVERUSED_KEPT_FALSE, text)
        return not unused

    def allocatable(self, queue: QueueInfo, task: TaskInfo) -> bool:
        """Upstream: plugins/proportion.queueAllocatable."""
        return self.fits_deserved(queue, task.resreq)

    def preemptive(self, queue: QueueInfo, tasks: list[TaskInfo]) -> bool:
        return self.fits_deserved(queue, Resource().add_all(task.resreq for task in tasks))

    def fits_deserved(self, queue: QueueInfo, request: Resource) -> bool:
        """Whether the queue is open and stays within its deserved amount in the requested dimensions."""
        attr = self.queues[queue.name]
        return self.is_served(queue) and queue_limits.request_fits(attr.allocated, request, attr.deserved)

    def is_served(self, queue: QueueInfo) -> bool:
        """Whether the queue is open; True in releases that ignore the queue's state."""
        return queue.state == OPEN or self.ssn.release.has_older_form(queue_changes.QUEUE_STATE_UNREAD)

    def reclaimable(self, reclaimer: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        """Candidates of queues that exceed their deserved amount in some dimension, in order, less earlier victims."""
        minimum = least_holding(self.ssn.release, reclaimer)
        holdings = iter_holdings(self.jobs, self.queues, candidates, minimum)
        return [holding.task for holding in holdings if holding.has_surplus], PERMIT

    def job_enqueueable(self, job: JobInfo) -> int:
        """Whether the job's minimum fits the queue's limit beside its inelastic allocations."""
        attr, queue = self.queues[job.queue], self.ssn.queues[job.queue]
        if not self.is_served(queue):
            self.ssn.log("proportion.not-admitted", queue.name, queue.state, job.uid)
            return REJECT
        if job.pod_group.min_resources is None:
            self.ssn.log("proportion.no-minimum", job.name)
            return PERMIT
        check = self.check_admission(attr, job)
        self._log_check(attr, job, fits=check.is_within_limit)
        if check.is_within_limit:
            if self.reserves_at_vote:
                self.job_enqueued(job)
                self.ssn.record_reserved_at_vote(self, job)
            return PERMIT
        self.ssn.record_refusal(job, QUOTA_MESSAGE, "insufficient", check.exceeded_dimensions)
        return REJECT

    def _log_check(self, attr: ProportionQueueAttr, job: JobInfo, *, fits: bool) -> None:
        log, name, minimum = self.ssn.log, job.name, job.get_min_resources()
        limit, allocated, inqueue, elastic = attr.real_capability, attr.allocated, attr.inqueue.clone(), attr.elastic
        log("proportion.minimum", name, minimum, job.queue, limit, allocated, inqueue, elastic)
        log("proportion.inqueue", name, fits)

    def check_admission(self, attr: ProportionQueueAttr, job: JobInfo) -> queue_limits.LimitCheck:
        """Check the job's minimum against the queue's limit."""
        minimum = job.get_min_resources()
        counted = counted_request(self.ssn, job.queue, minimum)
        return queue_limits.check_admission(
            minimum, attr.allocated, attr.inqueue, attr.elastic, attr.real_capability, counted
        )

    def job_enqueued(self, job: JobInfo) -> None:
        attr = self.queues.get(job.queue)
        if attr is not None and job.pod_group.min_resources is not None:
            attr.inqueue.add(job_amounts.minimum_without_gated(job))

    def allocate_func(self, event: Event) -> None:
        queue = self.jobs[event.task.job].queue
        attr = self.queues[queue]
        self.replaced.append((queue, attr.allocated))
        attr.set_allocated(attr.allocated.clone().add(event.task.resreq))

    def deallocate_func(self, event: Event) -> None:
        queue = self.jobs[event.task.job].queue
        attr = self.queues[queue]
        self.replaced.append((queue, attr.allocated))
        attr.set_allocated(
            attr.allocated.clone().sub(clamp_request(self.ssn, self.name, queue, attr.allocated, event.task.resreq))
        )

    def pre_predicate(self, task: TaskInfo) -> PluginError | None:
        """Save the allocated amounts of all queues, for simulations of this task."""
        state = AllocatedState(self.queues, self.replaced, len(self.replaced))
        self.ssn.cycle_state(task).data[STATE_KEY] = state
        return None

    def simulate_allocatable(self, state: CycleState, queue: QueueInfo, task: TaskInfo) -> bool:
        allocated = state.data.get(STATE_KEY)
        if not isinstance(allocated, AllocatedState) or queue.name not in allocated.by_queue:
            return False
        used, deserved = allocated.by_queue[queue.name], self.queues[queue.name].deserved
        fits = queue_limits.request_fits(used, task.resreq, deserved)
        if not fits:
            self.ssn.log("proportion.simulated", queue.name, deserved, used, task.name, task.resreq)
        return fits

    def simulate_add_task(self, state: CycleState, task: TaskInfo, other: TaskInfo, node: NodeInfo) -> str | None:
        allocated, queue, error = self.simulated_state(state, other)
        if error is None:
            allocated[queue] = allocated[queue].clone().add(other.resreq)
        return error

    def simulate_remove_task(self, state: CycleState, task: TaskInfo, other: TaskInfo, node: NodeInfo) -> str | None:
        allocated, queue, error = self.simulated_state(state, other)
        if error is None:
            allocated[queue] = allocated[queue].clone().sub(other.resreq)
        return error

    def simulated_state(
        self, state: CycleState, task: TaskInfo
    ) -> tuple[dict[QueueName, Resource], QueueName, str | None]:
        """(simulated amounts by queue, the task's queue, error or None)."""
        allocated = state.data.get(STATE_KEY)
        if not isinstance(allocated, AllocatedState):
            return {}, "", NO_STATE
        job, by_queue = self.jobs.get(task.job), allocated.by_queue
        if job is None:
            return by_queue, "", NO_JOB.format(job=task.job)
        return by_queue, job.queue, None if job.queue in by_queue else NO_QUEUE.format(queue=job.queue)


def from_figures(figures: Figures) -> ProportionQueueAttr:
    """A queue with the given recorded figures."""
    return ProportionQueueAttr(
        figures["weight"],
        figures["capability"],
        figures["realCapability"],
        figures["guarantee"],
        *(figures[name] for name in ("share", "deserved", "allocated", "request", "elastic", "inqueue")),
    )


def count_jobs_in(attr: ProportionQueueAttr, jobs: Collection[JobInfo], form: job_amounts.ReservationForm) -> None:
    """Add jobs to their queue's sums."""
    job_amounts.add_allocated(attr.allocated, jobs)
    job_amounts.add_requested(attr.request, jobs)
    attr.inqueue.add_all(job_amounts.reserved_resources(jobs, form))
    attr.elastic.add_all([job_amounts.elastic_resource(job, form) for job in jobs])


class QueueHolding(NamedTuple):
    """A candidate, with its queue's allocated amount (earlier victims subtracted) and deserved amount."""

    task: TaskInfo
    queue: QueueName = ""
    allocated: Resource = NO_RESOURCE
    """Valid only until the next candidate, for which the same object is modified."""
    deserved: Resource = NO_RESOURCE
    has_surplus: bool = False
    """Whether the queue exceeds its deserved amount in some dimension."""

    @property
    def exceeded_dimensions(self) -> list[str]:
        """The dimensions in which the queue exceeds its deserved amount."""
        return self.allocated.less_equal_with_resources_name(self.deserved)[1]


def surplus_in(deserved: Resource, allocated: Resource, name: str) -> float:
    """Allocated minus deserved amount of a dimension."""
    return allocated.get(name) - deserved.get(name)


def least_holding(release: Release, reclaimer: TaskInfo) -> Resource:
    """The amount that a queue must have allocated before its tasks may be reclaimed."""
    return reclaimer.resreq if release.has_older_form(queue_changes.RECLAIM_WHOLE_REQUEST) else NO_RESOURCE


def iter_holdings(
    jobs: Mapping[JobId, JobInfo],
    queues: Mapping[QueueName, ProportionQueueAttr],
    candidates: Iterable[TaskInfo],
    least: Resource = NO_RESOURCE,
) -> Iterator[QueueHolding]:
    """Yield each candidate in order; a victim is subtracted from its queue, which must hold at least `least`."""
    left_over: dict[QueueName, Resource] = {}
    for task in candidates:
        job = jobs.get(task.job)
        attr = None if job is None else queues.get(job.queue)
        if job is None or attr is None:
            yield QueueHolding(task)
            continue
        allocated = left_over.setdefault(job.queue, attr.allocated.clone())
        surplus = not allocated.less_equal(attr.deserved) and not allocated.less_partly(least)
        yield QueueHolding(task, job.queue, allocated, attr.deserved, surplus)
        if surplus:
            allocated.sub(task.resreq)


class DealtShare(NamedTuple):
    """A queue's share in one round."""

    attr: ProportionQueueAttr
    before: Resource
    """The deserved amount before the round."""
    deserved: Resource
    satisfied: bool
    """Whether the queue is satisfied and takes part in no further round."""


class DealRound(NamedTuple):
    """One round of dividing the cluster."""

    weight: int
    """The sum of the weights of the queues in this round."""
    remaining: Resource
    """The amount divided in this round."""
    shares: tuple[DealtShare, ...]
    remaining_amount: Resource
    """The amount left after the round."""
    is_last: bool
    """Whether this is the last round: nothing is left, or no queue can use it."""


def deal_rounds(
    total: Resource, attrs: list[ProportionQueueAttr], *, asserts_rest: bool = False
) -> Iterator[DealRound]:
    """Divide the cluster by weight in rounds; what a queue cannot use goes to the other queues in the next round.

    Each round is applied to `attrs` before it is yielded. With `asserts_rest`, guarantees beyond the rest are fatal.
    """
    remaining = total.clone()
    hungry = attrs
    while True:
        weight = sum(attr.weight for attr in hungry)  # exact: ints
        if weight == 0:
            return
        # A queue that takes less than before returns the difference. Given and returned amounts are kept apart, because
        # upstream subtracts one from the remaining amount and adds the other.
        before = remaining.clone()
        increase, decrease = Resource(), Resource()
        old = [attr.deserved for attr in hungry]
        satisfied = [deal_to_queue(attr, remaining, weight, increase, decrease) for attr in hungry]
        new = [attr.deserved for attr in hungry]
        if asserts_rest:
            remaining = remaining.sub(increase).add(decrease)
        else:
            remaining = queue_limits.exceeded_part(remaining.add(decrease), increase)
        last = remaining.is_empty() or deep_equal(remaining, before)
        yield DealRound(weight, before, tuple(map(DealtShare, hungry, old, new, satisfied)), remaining.clone(), last)
        if last:
            return
        hungry = [attr for attr, is_satisfied in zip(hungry, satisfied, strict=True) if not is_satisfied]


def offered_share(before: Resource, remaining: Resource, weight: int, total_weight: int) -> Resource:
    """The queue's deserved amount plus its part by weight, before limits."""
    return before.clone().add(remaining.clone().multi(float(weight) / float(total_weight)))


def deal_to_queue(
    attr: ProportionQueueAttr, remaining: Resource, weight: int, increase: Resource, decrease: Resource
) -> bool:
    """Give a queue its part of the remaining amount; returns whether the queue is satisfied."""
    before = attr.deserved
    deserved = offered_share(before, remaining, attr.weight, weight)
    # In upstream's order: for the limit a missing dimension is unlimited, for the request it is 0.
    deserved.min_dimension_resource(attr.real_capability, INFINITY)
    deserved.min_dimension_resource(attr.request, ZERO)
    attr.deserved = resource_max(deserved, attr.guarantee, keeps_zeros=attr.keeps_zeros)
    attr.update_share()
    increased, decreased = attr.deserved.diff(before)
    increase.add(increased)
    decrease.add(decreased)
    return attr.request.less_equal(attr.deserved) or deep_equal(attr.deserved, before)
