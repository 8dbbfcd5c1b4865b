"""proportion: what each queue deserves by weight, and what follows from it. Upstream: plugins/proportion."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import NamedTuple

from msgspec import Struct, structs
from msgspec.structs import replace

from vcdebug import amount_text
from vcdebug.amount_text import format_amount
from vcdebug.explain import equation, plugins
from vcdebug.explain.answer import Advice
from vcdebug.explain.job_view import JobView
from vcdebug.explain.queue_findings import explain_queue_rejection, too_small_words
from vcdebug.explain.queue_index import not_above_share
from vcdebug.framework import hooks
from vcdebug.framework.record import HookEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.job_amounts import ReservationForm
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.queue import LimitCheck, QueueInfo, check_request
from vcdebug.model.resource import CPU, Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import proportion
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import job_before, requested_together, state_before, task_of, tasks_of
from vcdebug.recording.timeline import ClusterState, LazyMap
from vcdebug.releases.queues import GUARANTEES_BEYOND_REST, ZERO_DESERVED_DROPPED

NAME = "proportion"
WITHIN_FORMULA = "allocated + request ≤ deserved, in the dimensions requested"
BY_WEIGHT = "its part by weight"
NO_DRY_RUN = "PrePredicate has not run for the task, so that there is nothing to simulate on"


def attr_of(state: ClusterState, queue: QueueName) -> proportion.ProportionQueueAttr:
    """The plugin's figures of a queue in a state."""
    return proportion.from_figures(state.books[NAME][queue])


def attrs_of(state: ClusterState) -> Mapping[QueueName, proportion.ProportionQueueAttr]:
    """The plugin's figures of all its queues in a state, each read when it is looked at."""
    return LazyMap(dict.fromkeys(queue for queue in state.books[NAME] if queue), partial(attr_of, state))


def queue_overused(recording: Recording, seq: Seq, queue: QueueName) -> equation.Equation:
    """Overused: whether the queue has allocated all that it deserves, as proportion would answer before an event."""
    attr = attr_of(state_before(recording, seq), queue)
    unused = attr.unused_dimensions()
    terms = tuple(
        equation.Term(name, (deserved, attr.allocated.get(name)), name not in unused)
        for name, deserved in attr.deserved.items()
    )
    dimension = equation.first_failing(terms)
    note = f"{dimension} is not used up, which keeps the queue from being overused" if dimension else ""
    title, formula = f"proportion: is queue {queue} overused?", "deserved ≤ allocated, in every dimension"
    return equation.Equation(title, formula, ("deserved", "allocated"), "dimension", terms, not unused, dimension, note)


def allocatable_equation(recording: Recording, seq: Seq, event: HookEvent) -> equation.Equation:
    """Allocatable: whether the queue's deserved amount allows one more task."""
    title = f"proportion: may queue {event.queue} take {event.task}?"
    return _within_deserved(recording, seq, title, event.queue, task_of(recording, event.task).resreq)


def preemptive_equation(recording: Recording, seq: Seq, event: HookEvent) -> equation.Equation:
    """Preemptive: whether the queue may reclaim for these tasks."""
    title = f"proportion: may queue {event.queue} reclaim for {', '.join(event.candidates)}?"
    return _within_deserved(recording, seq, title, event.queue, requested_together(recording, event.candidates))


def simulate_allocatable(recording: Recording, seq: Seq, event: HookEvent) -> equation.Equation:
    """May the queue allocate the task after the removals of a dry run?"""
    queue, task = event.queue, task_of(recording, event.task)
    title = f"proportion: might queue {queue} take {task.key}?"
    start = equation.dry_run_start(recording, seq, NAME, task.key)
    if start is None:
        columns = ("allocated", "request", "sum", "deserved")
        return equation.Equation(title, WITHIN_FORMULA, columns, "dimension", (), False, None, NO_DRY_RUN)
    allocated = equation.simulated_allocation(recording, start, seq, NAME, queue, (queue,))
    check = check_request(allocated, task.resreq, attr_of(state_before(recording, start), queue).deserved)
    return _within_equation(title, check, f"as the queue stood at event {start}, changed by the dry run on this node")


def _within_deserved(
    recording: Recording, seq: Seq, title: str, queue: QueueName, request: Resource
) -> equation.Equation:
    closed_reason = equation.not_open_reason(recording.session, queue)
    result = _within_equation(title, claim_check(recording, seq, queue, request).check, "")
    return structs.replace(result, verdict=False, note=closed_reason) if closed_reason else result


def _within_equation(title: str, check: LimitCheck, note: str) -> equation.Equation:
    terms = tuple(equation.limit_terms(check, equation.all_dimensions(check.request, check.limit)))
    columns = equation.limit_columns(check, "deserved")
    return equation.Equation(
        title, WITHIN_FORMULA, columns, "dimension", terms, check.is_within_limit, equation.first_failing(terms), note
    )


def job_enqueueable(recording: Recording, seq: Seq, event: HookEvent) -> equation.Equation:
    """JobEnqueueable: whether the queue's limit has room for the job's minimum."""
    job = recording.session.jobs[event.job]
    check = _admission_check(recording, state_before(recording, seq), job)
    formula = "min resources + allocated + inqueue − elastic ≤ real capability, in the dimensions of the minimum"
    title = f"proportion: does queue {job.queue} admit {job.uid}?"
    columns = equation.limit_columns(check, "real capability")
    terms = equation.limit_terms(check, equation.all_dimensions(check.requested, check.limit))
    minimum_note = equation.NO_MINIMUM if job.pod_group.min_resources is None else ""
    return equation.admission_equation(
        title, formula, columns, terms, equation.not_open_reason(recording.session, job.queue), minimum_note
    )


def _admission_check(recording: Recording, state: ClusterState, job: JobInfo) -> LimitCheck:
    return recording.session.plugin_of_class(proportion.Proportion).check_admission(attr_of(state, job.queue), job)


def admission_checks(recording: Recording, seq: Seq, job: JobInfo) -> list[equation.QueueCheck]:
    """JobEnqueueable's check of the job's minimum against the queue's limit."""
    check = _admission_check(recording, state_before(recording, seq), job)
    return [equation.QueueCheck.for_queue(recording.session, job.queue, "realCapability", check)]


def claim_check(recording: Recording, seq: Seq, queue: QueueName, request: Resource) -> equation.QueueCheck:
    """Preemptive's check, which is the same as Allocatable's."""
    state = state_before(recording, seq)
    allocated, deserved = (state.plugin_amount(NAME, queue, figure) for figure in ("allocated", "deserved"))
    check = check_request(allocated, request, deserved)
    return equation.QueueCheck.for_queue(recording.session, queue, "deserved", check)


def room_checks(recording: Recording, seq: Seq, queue: QueueName, request: Resource) -> list[equation.QueueCheck]:
    """Allocatable's check of the request against the queue's deserved amount."""
    return [claim_check(recording, seq, queue, request)]


def reclaimable_equation(recording: Recording, seq: Seq, event: HookEvent) -> equation.Equation:
    """Reclaimable: allows tasks of queues that still exceed their deserved amount after the earlier victims."""
    attrs = attrs_of(state_before(recording, seq))
    minimum = proportion.least_holding(recording.session.release, task_of(recording, event.task))
    holdings = proportion.iter_holdings(recording.session.jobs, attrs, tasks_of(recording, event.candidates), minimum)
    columns = ("queue", "dimension", "allocated", "deserved")
    formula = "allocated > deserved in some dimension, without victims already chosen"
    title = f"proportion: which candidates can {event.task} reclaim?"
    return equation.victim_equation(title, formula, columns, [_holding_term(holding) for holding in holdings])


def _holding_term(holding: proportion.QueueHolding) -> equation.Term:
    """The term of one candidate, in the first dimension in which its queue exceeds its deserved amount; else cpu."""
    key, queue = holding.task.key, holding.queue
    if not queue:
        return equation.Term(key, (None, None, None, None), False, equation.JOB_NOT_IN_SESSION)
    name = next(iter(holding.exceeded_dimensions), CPU)
    amounts = (holding.allocated, holding.deserved)
    allocated, deserved = (equation.DimensionAmount.from_resource(one, name) for one in amounts)
    lacks = "less than the reclaimer asks" if holding.exceeded_dimensions else "no more than it deserves"
    note = "" if holding.has_surplus else f"queue {queue} holds {lacks}"
    return equation.Term(key, (queue, name, allocated, deserved), holding.has_surplus, note)


def explain_veto(view: JobView, task: TaskInfo, protected: Sequence[TaskKey], seq: Seq) -> plugins.VetoReason:
    """The reason: the candidates' queues hold no more than they deserve, or less than an older release requires."""
    reason = not_above_share(view, NAME, protected, seq, smaller_share_advice)
    minimum = proportion.least_holding(view.session.release, task)
    if minimum.is_empty():
        return reason
    attrs = attrs_of(state_before(view.recording, seq))
    victims = (task_of(view.recording, key) for key in protected)
    small = {
        holding.queue: too_small_words(view.recording, holding.allocated, task)
        for holding in proportion.iter_holdings(view.session.jobs, attrs, victims, minimum)
        if holding.queue and holding.exceeded_dimensions and not holding.has_surplus
    }
    text = "; ".join(f"Queue {queue} {words}" for queue, words in small.items())
    return reason._replace(text=text, lines=(), advice=()) if text else reason


def queue_order(moment: plugins.OrderMoment, left: QueueInfo, right: QueueInfo) -> Iterator[plugins.OrderDifference]:
    """The higher queue priority, then the smaller share."""
    # A copy: the order is asked with past figures, while the session's plugin keeps the final ones.
    plugin = copy(moment.recording.session.plugin_of_class(proportion.Proportion))
    plugin.queues = {queue.name: attr_of(moment.state, queue.name) for queue in (left, right)}
    left_share, right_share = (plugin.queues[queue.name].share for queue in (left, right))
    comparisons = (plugins.QUEUE_PRIORITY, left.priority, right.priority), ("proportion share", left_share, right_share)
    return plugins.iter_differences(plugin.queue_order(left, right), comparisons)


class QueuePortion(Struct, frozen=True):
    """One queue's share in one round of dividing the cluster by weight."""

    number: int
    """The number of the round, from 1."""
    round: proportion.DealRound
    queue: proportion.DealtShare

    def offered_amount(self, name: str) -> float:
        """The deserved amount before this round plus the share by weight, before any limit."""
        before, weight = self.queue.before, self.queue.attr.weight
        return proportion.offered_share(before, self.round.remaining, weight, self.round.weight).get(name)

    def deciding_limit(self, name: str) -> str:
        """What decided a dimension's amount in this round: the weight, or the queue's request, limit or guarantee."""
        amount, attr = self.queue.deserved.get(name), self.queue.attr
        limits = {"its request": attr.request, "its limit": attr.real_capability, "its guarantee": attr.guarantee}
        # Exact equality on purpose: the limit copies its amount, so a bound that decided is equal to the last bit.
        if amount == self.offered_amount(name):
            return BY_WEIGHT
        return next((words for words, limit in limits.items() if limit.get(name) == amount), BY_WEIGHT)


def iter_counted_jobs(recording: Recording) -> Iterator[tuple[JobInfo, proportion.ProportionQueueAttr]]:
    """Yields each job at the opening with its queue's running sums, which later iterations modify."""
    attrs: dict[QueueName, proportion.ProportionQueueAttr] = {}
    form = ReservationForm.for_release(recording.snapshot.release)
    for uid in recording.session.jobs:
        job = job_before(recording, uid, 1)
        # The plugin's own counting, job by job: the log shows the sums after every job.
        attr = attrs.setdefault(job.queue, proportion.ProportionQueueAttr(0, Resource(), Resource(), Resource()))
        proportion.count_jobs_in(attr, (job,), form)
        yield job, attr


class OpeningRounds(NamedTuple):
    """The rounds in which proportion divided the cluster, counted from 1, and the figures of all queues."""

    attrs: Mapping[QueueName, proportion.ProportionQueueAttr]
    rounds: Sequence[tuple[int, proportion.DealRound]]


@per_recording()
def opening_rounds(recording: Recording) -> OpeningRounds:
    """The rounds of the division, recomputed from the figures at the opening; empty without proportion."""
    state = recording.timeline.state_at(0)
    if NAME not in state.books:
        return OpeningRounds({}, ())
    # Older releases drop a dimension of 0, which changes what the next round deals out.
    keeps_zeros = not recording.snapshot.release.has_older_form(ZERO_DESERVED_DROPPED)
    opening_attrs = attrs_of(state).items()
    # Dealing starts from nothing deserved; the known figures are already the result of the rounds.
    attrs = {queue: replace(attr, deserved=Resource(), keeps_zeros=keeps_zeros) for queue, attr in opening_attrs}
    asserts_rest = recording.snapshot.release.has_older_form(GUARANTEES_BEYOND_REST)
    total = state.plugin_amount(NAME, "", "total")
    rounds = proportion.deal_rounds(total, list(attrs.values()), asserts_rest=asserts_rest)
    return OpeningRounds(attrs, list(enumerate(rounds, start=1)))


def shares_by_queue(
    deal: proportion.DealRound, attrs: Mapping[QueueName, proportion.ProportionQueueAttr]
) -> dict[QueueName, proportion.DealtShare]:
    """The shares of one round, by queue."""
    # Looked up by identity: a share has the attributes of its queue, but not the name.
    shares = {id(share.attr): share for share in deal.shares}
    return {queue: shares[id(attr)] for queue, attr in attrs.items() if id(attr) in shares}


@per_recording()
def portions_by_queue(recording: Recording) -> dict[QueueName, list[QueuePortion]]:
    """Queue → its portion of each round."""
    attrs, rounds = opening_rounds(recording)
    return group_by_key(
        (queue, QueuePortion(number, deal, share))
        for number, deal in rounds
        for queue, share in shares_by_queue(deal, attrs).items()
    )


@per_recording()
def portion_lines(recording: Recording, queue: QueueName, name: str) -> tuple[str, ...]:
    """A line per round that derives a queue's deserved amount in one dimension."""
    lines = []
    for portion in portions_by_queue(recording).get(queue, ()):
        before, deserved, deal = portion.queue.before.get(name), portion.queue.deserved.get(name), portion.round
        if portion.number > 1 and deserved == before:
            continue
        offer, remaining = portion.offered_amount(name), format_amount(name, deal.remaining.get(name))
        prefix = f"{format_amount(name, before)} + " if before else ""
        part = f"{remaining} x weight {portion.queue.attr.weight} / {deal.weight} = {format_amount(name, offer)}"
        cut = f", held to {format_amount(name, deserved)} by {portion.deciding_limit(name)}" if deserved < offer else ""
        lines.append(f"deserved {name}, round {portion.number}: {prefix}{part}{cut}")
    return tuple(lines)


def larger_share_advice(view: JobView) -> tuple[Advice, ...]:
    """Advice after which the job's queue deserves more."""
    weight = f"raise spec.weight ({view.queue.weight}), or lower the weight of other queues"
    return Advice.for_owner("Use another queue."), Advice.queue_admin(f"Queue {view.queue.name}: {weight}.")


def smaller_share_advice(view: JobView, queues: Sequence[QueueName]) -> Advice:
    """Advice after which the victims' queues deserve less."""
    lower = f"raise spec.weight, or lower that of {amount_text.join_names(queues)}"
    return Advice.queue_admin(f"Queue {view.queue.name}: {lower}.")


EXPLAINER = plugins.PluginExplainer(
    equations={
        hooks.OVERUSED.upstream: plugins.compared_by(
            equation.LESS_EQUAL_NAMES, lambda recording, seq, event: queue_overused(recording, seq, event.queue)
        ),
        hooks.ALLOCATABLE.upstream: plugins.compared_by(equation.WITHIN_LIMIT, allocatable_equation),
        hooks.SIMULATE_ALLOCATABLE.upstream: plugins.compared_by(equation.WITHIN_LIMIT, simulate_allocatable),
        hooks.PREEMPTIVE.upstream: plugins.compared_by(equation.WITH_DIMENSION, preemptive_equation),
        hooks.JOB_ENQUEUEABLE.upstream: plugins.compared_by(equation.WITHIN_LIMIT, job_enqueueable),
        hooks.RECLAIMABLE.upstream: plugins.compared_by(equation.LESS_EQUAL, reclaimable_equation),
    },
    comparators={hooks.QUEUE_ORDER.method: queue_order},
    explain_veto=explain_veto,
    rejected=explain_queue_rejection,
    quota=plugins.QuotaExplainer(
        admission_checks,
        room_checks,
        claim_check,
        lambda _: False,
        proportion.surplus_in,
        larger_share_advice,
        portion_lines,
    ),
)
