"""capacity: limits of a queue and its ancestors, what they deserve, and what they keep for gated pods.

Upstream: plugins/capacity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from functools import partial

from vcdebug.explain.answer import Advice, owner_advice, queue_admin_advice
from vcdebug.explain.equation import (
    GREATER_PARTLY,
    PARTLY_CLAIMED,
    UNLIMITED_CLAIMED,
    WHOLLY_CLAIMED,
    WITHIN_LIMIT,
    Equation,
    Term,
    all_hold,
    first_failing,
)
from vcdebug.explain.job_view import JobView
from vcdebug.explain.limits import (
    NO_MINIMUM,
    QueueCheck,
    admission_equation,
    dry_run_start,
    limit_columns,
    limit_terms,
    not_open_reason,
    reserved_for_others,
    simulated_allocation,
)
from vcdebug.explain.plugin_explainer import (
    OrderDifference,
    OrderMoment,
    PluginExplainer,
    QuotaExplainer,
    iter_differences,
)
from vcdebug.explain.plugins.capacity.victims import (
    BROKEN_TREE,
    NAME,
    attr_of,
    attrs_of,
    explain_veto,
    reclaimable_equation,
    smaller_share_advice,
    unified_evictable,
)
from vcdebug.explain.queue_findings import explain_queue_rejection
from vcdebug.framework.hooks import (
    ALLOCATABLE,
    JOB_ENQUEUEABLE,
    PREEMPTIVE,
    QUEUE_ORDER,
    RECLAIMABLE,
    SIMULATE_ALLOCATABLE,
    UNIFIED_EVICTABLE,
)
from vcdebug.framework.persistence import counted_request
from vcdebug.framework.plugin_answers import PERMIT, REJECT
from vcdebug.framework.record import HookEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.limits import LimitCheck
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.plugins.capacity import Capacity
from vcdebug.plugins.capacity.queue_attr import CapacityQueueAttr, check_claim, common_level, deserves_more, surplus_in
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import plugin_of, requested_together, state_before, task_of

LIMIT_FIGURE = "realCapability"
PARTIAL_CLAIM = "allocated + request ≤ limit in every dimension requested, and ≤ deserved in at least one of them"
UNLIMITED_CLAIM = "allocated + request ≤ deserved in at least one dimension requested; this release asks for no limit"
WHOLE_CLAIM = "allocated + request ≤ limit, and ≤ deserved, in every dimension that the queue configures"
UNLIMITED_WHOLE_CLAIM = "allocated + request ≤ deserved in every dimension requested; this release asks for no limit"
WITHIN_FORMULA = "allocated + request ≤ limit, in the dimensions requested, for the queue and each ancestor"
NO_LEAF = "the queue has children: jobs may only be in leaves"
NO_DRY_RUN = "PrePredicate has not run: there is nothing to simulate on"
DEVICES_NOTE = "the queue's quota of devices does not hold the task's claims"


def queue_and_ancestors(recording: Recording, queue: QueueName) -> list[QueueName]:
    """The queue, then its ancestors up to the root."""
    ancestors = recording.timeline.state_at(0).plugin_figure(NAME, queue, "ancestors")
    return [queue, *reversed(ancestors if isinstance(ancestors, list) else [])]


def bar_reason(recording: Recording, queue: QueueName) -> str:
    """What refuses before any arithmetic."""
    plugin = plugin_of(recording, Capacity)
    if not plugin.ready:
        return BROKEN_TREE
    return not_open_reason(recording.session, queue) or (NO_LEAF if plugin.queues[queue].children else "")


# Questions about a queue


def room_checks(recording: Recording, seq: Seq, queue: QueueName, request: Resource) -> list[QueueCheck]:
    """Allocatable's question, without what is kept for gated pods."""
    limits = plugin_of(recording, Capacity).limits
    return _checks_upward(recording, seq, queue, lambda attr: limits.check_room(attr, attr.allocated, request))


def admission_checks(recording: Recording, seq: Seq, job: JobInfo) -> list[QueueCheck]:
    """JobEnqueueable's question."""
    limits = plugin_of(recording, Capacity).limits
    return _checks_upward(recording, seq, job.queue, lambda attr: limits.check_admission(attr, job))


def _checks_upward(
    recording: Recording, seq: Seq, queue: QueueName, check: Callable[[CapacityQueueAttr], LimitCheck]
) -> list[QueueCheck]:
    """The same question about the queue and its ancestors."""
    attrs = (attr_of(recording, state_before(recording, seq), name) for name in queue_and_ancestors(recording, queue))
    return [QueueCheck.for_queue(recording.session, attr.name, LIMIT_FIGURE, check(attr)) for attr in attrs]


def claim_check(recording: Recording, seq: Seq, queue: QueueName, request: Resource) -> QueueCheck:
    """Preemptive's second question."""
    attr = attr_of(recording, state_before(recording, seq), queue)
    asked = counted_request(recording.session, queue, request)
    return QueueCheck.for_queue(recording.session, queue, "deserved", check_claim(attr, request, asked))


def allocatable_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """May the queue and all its ancestors take one task?"""
    task = task_of(recording, event.task)
    title = f"capacity: may queue {event.queue} take {task.key}?"
    reason = bar_reason(recording, event.queue)
    if reason:
        return Equation(title, WITHIN_FORMULA, (), "dimension", (), False, None, reason)
    state = state_before(recording, seq)
    return _room_equation(recording, seq, event, title, lambda queue: state.plugin_amount(NAME, queue, "allocated"), "")


def simulate_allocatable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """As Allocatable, with the dry run's victims taken off the queue and its ancestors; its state does not matter."""
    title = f"capacity: might queue {event.queue} take {event.task}?"
    start, reason = dry_run_start(recording, seq, NAME, event.task), bar_reason(recording, event.queue)
    if start is None or reason in (BROKEN_TREE, NO_LEAF):
        return Equation(
            title, WITHIN_FORMULA, (), "dimension", (), False, None, NO_DRY_RUN if start is None else reason
        )
    since = start

    def allocation_in_dry_run(queue: QueueName) -> Resource:
        family = [name for name in recording.session.queues if queue in queue_and_ancestors(recording, name)]
        return simulated_allocation(recording, since, seq, NAME, queue, family)

    note = f"as the queues stood at event {start}, changed by the dry run on this node"
    return _room_equation(recording, seq, event, title, allocation_in_dry_run, note)


def _room_equation(
    recording: Recording, seq: Seq, event: HookEvent, title: str, held: Callable[[QueueName], Resource], note: str
) -> Equation:
    """One line per level and dimension requested."""
    limits, task = plugin_of(recording, Capacity).limits, task_of(recording, event.task)
    found: list[Term] = []
    columns: tuple[str, ...] = ()
    for name in queue_and_ancestors(recording, event.queue):
        attr = attr_of(recording, state_before(recording, seq), name)
        check = limits.check_room(attr, held(name), task.resreq, reserved_for_others(recording, seq, name, task))
        columns = limit_columns(check, "limit")
        found += _requested_terms(name, check)
    terms = _add_devices_term(
        tuple(found), columns, refused=event.result is False and limits.device_demand(task) is not None
    )
    return Equation(title, WITHIN_FORMULA, columns, "dimension", terms, all_hold(terms), first_failing(terms), note)


def _requested_terms(queue: QueueName, check: LimitCheck, prefix: str = "") -> Iterator[Term]:
    """The lines of one level: only what is asked for."""
    names = [name for name, amount in check.asked.items() if amount > 0]
    return limit_terms(check, names, f"{prefix}{queue} ")


def job_enqueueable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Do the queue and all its ancestors hold the job's minimum beside everything that is not elastic?"""
    job = recording.session.jobs[event.job]
    title = f"capacity: does queue {job.queue} admit {job.uid}?"
    formula = "min resources + allocated + inqueue − elastic ≤ limit, for the queue and each ancestor"
    reason = bar_reason(recording, job.queue)
    free = NO_MINIMUM if job.pod_group.min_resources is None and event.result == PERMIT else ""
    if reason or free:
        return admission_equation(title, formula, (), (), reason, free)
    levels = admission_checks(recording, seq, job)
    columns = limit_columns(levels[0].check, "limit")
    terms = tuple(term for level in levels for term in _requested_terms(level.queue, level.check))
    return admission_equation(
        title, formula, columns, _add_devices_term(terms, columns, refused=event.result == REJECT)
    )


def _add_devices_term(terms: tuple[Term, ...], columns: tuple[str, ...], *, refused: bool) -> tuple[Term, ...]:
    """Devices, of which a recording keeps no sums, by the answer: they are what refuses where nothing else does."""
    if not refused or not all_hold(terms):
        return terms
    return (*terms, Term("devices", (None,) * len(columns), False, DEVICES_NOTE))


def preemptive_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """May the queue reclaim: does its limit hold the tasks, and does it deserve more in one of their dimensions?"""
    queue, request = event.queue, requested_together(recording, event.candidates)
    title = f"capacity: may queue {queue} reclaim for {', '.join(event.candidates)}?"
    plugin = plugin_of(recording, Capacity)
    whole = plugin.claims_whole
    formula, compared = _claim_formula(plugin)
    columns = ("allocated", "request", "sum", "limit or deserved" if plugin.heeds_limit else "deserved")
    reason = bar_reason(recording, queue)
    if reason and reason != NO_LEAF:
        return Equation(title, formula, (), "dimension", (), False, None, reason)
    attrs = attrs_of(recording, state_before(recording, seq))
    room = plugin.limits.check_room(attrs[queue], attrs[queue].allocated, request)
    limits = tuple(_requested_terms(queue, room, "limit ")) if plugin.heeds_limit else ()
    asked = counted_request(recording.session, queue, request)
    claiming = [attrs[each.name] for each in plugin.iter_claimants(plugin.queues[queue])]
    checks = [(attr.name, check_claim(attr, request, asked)) for attr in claiming]
    lines = partial(_requested_terms, prefix="deserved ") if whole else _claim_terms
    claimed = tuple(term for name, check in checks for term in lines(name, check))
    entitled = any(plugin.claim_counts(check) for _, check in checks)
    winner = next((term.name for term in claimed if term.holds), None)
    loser = None if entitled else first_failing(claimed)
    deciding = first_failing(limits) or (loser if whole else winner)
    note = "" if deciding or whole else f"queue {queue} deserves no more in any dimension requested"
    verdict = all_hold(limits) and entitled
    return Equation(title, formula, columns, "dimension", (*limits, *claimed), verdict, deciding, note, compared)


def _claim_formula(plugin: Capacity) -> tuple[str, str]:
    """The formula of a claim, and the comparisons that judge it."""
    if plugin.claims_whole:
        return (WHOLE_CLAIM, WHOLLY_CLAIMED) if plugin.heeds_limit else (UNLIMITED_WHOLE_CLAIM, WHOLLY_CLAIMED)
    return (PARTIAL_CLAIM, PARTLY_CLAIMED) if plugin.heeds_limit else (UNLIMITED_CLAIM, UNLIMITED_CLAIMED)


def reclaims_within_limit(recording: Recording) -> bool:
    """Whether a queue at its limit may not reclaim at all."""
    return plugin_of(recording, Capacity).heeds_limit


def _claim_terms(queue: QueueName, check: LimitCheck) -> Iterator[Term]:
    """One line per dimension requested: whether what is deserved holds it."""
    deserved = deserves_more(check)
    for term in _requested_terms(queue, check, "deserved "):
        name = term.name.rpartition(" ")[2]
        if term.holds is None:
            yield term
        elif name not in deserved and check.is_empty_dimension(name):
            yield replace(term, holds=None, note="nothing on either side")
        else:
            yield replace(term, holds=name in deserved)


def larger_share_advice(view: JobView) -> tuple[Advice, ...]:
    """How a queue comes to deserve more."""
    more = queue_admin_advice(f"raise spec.deserved of queue {view.queue.name}, or lower the others' guarantees")
    return owner_advice("use another queue"), more


# Orders


def queue_order(then: OrderMoment, left: QueueInfo, right: QueueInfo) -> Iterator[OrderDifference]:
    """The higher queue priority, leaves, the smaller share where the branches part, who deserves something."""
    plugin = copy(plugin_of(then.recording, Capacity))
    plugin.queues = attrs_of(then.recording, then.state)
    mine, other = plugin.queues[left.name], plugin.queues[right.name]
    one, two = plugin.queues_to_compare(mine, other)
    where = "" if (one, two) == (mine, other) else f" of {one.name} and {two.name}"
    looked = (
        ("queue priority", left.priority, right.priority),
        ("has children", bool(mine.children), bool(other.children)),
        (f"capacity share{where}", one.share, two.share),
        (f"deserves nothing{where}", one.deserved.is_empty(), two.deserved.is_empty()),
    )
    return iter_differences(plugin.queue_order(left, right), looked)


def victim_queue_order(
    then: OrderMoment, left: QueueInfo, right: QueueInfo, asking: QueueInfo
) -> Iterator[OrderDifference]:
    """The queue that is nearer to the preemptor's gives first."""
    plugin = plugin_of(then.recording, Capacity)
    mine, other = (common_level(plugin.queues[each.name], plugin.queues[asking.name]) for each in (left, right))
    return iter_differences(plugin.victim_queue_order(left, right, asking), [("levels in common", mine, other)])


EXPLAINER = PluginExplainer(
    equations={
        ALLOCATABLE.upstream: allocatable_equation,
        SIMULATE_ALLOCATABLE.upstream: simulate_allocatable,
        JOB_ENQUEUEABLE.upstream: job_enqueueable,
        PREEMPTIVE.upstream: preemptive_equation,
        RECLAIMABLE.upstream: reclaimable_equation,
        UNIFIED_EVICTABLE.upstream: unified_evictable,
    },
    compared={
        ALLOCATABLE.upstream: WITHIN_LIMIT,
        SIMULATE_ALLOCATABLE.upstream: WITHIN_LIMIT,
        JOB_ENQUEUEABLE.upstream: WITHIN_LIMIT,
        RECLAIMABLE.upstream: GREATER_PARTLY,
        UNIFIED_EVICTABLE.upstream: GREATER_PARTLY,
    },
    comparators={QUEUE_ORDER.method: queue_order},
    victim_queues=victim_queue_order,
    kept=explain_veto,
    rejected=explain_queue_rejection,
    quota=QuotaExplainer(
        admission_checks,
        room_checks,
        claim_check,
        reclaims_within_limit,
        surplus_in,
        larger_share_advice,
        smaller_share_advice,
    ),
)
