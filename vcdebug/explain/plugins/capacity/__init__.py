"""capacity: limits of queues and their ancestors, their deserved and gated amounts. Upstream: plugins/capacity."""

from collections.abc import Callable, Iterator
from copy import copy
from functools import partial

from msgspec.structs import replace

from vcdebug.explain import equation, plugins
from vcdebug.explain.answer import Advice
from vcdebug.explain.job_view import JobView
from vcdebug.explain.plugins.capacity import victims
from vcdebug.explain.queue_findings import explain_queue_rejection
from vcdebug.framework import hooks
from vcdebug.framework.persistence import counted_request
from vcdebug.framework.plugin_answers import PERMIT, REJECT
from vcdebug.framework.record import CHARGING_OPS, RELEASING_OPS, HookEvent, OpEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.queue import LimitCheck, QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskStatus
from vcdebug.plugins.capacity import Capacity
from vcdebug.plugins.capacity.limits import Reservations
from vcdebug.plugins.capacity.queue_attr import CapacityQueueAttr, check_claim, common_level, deserves_more, surplus_in
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import requested_together, state_before, task_of

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
    ancestors = recording.timeline.state_at(0).plugin_figure(victims.NAME, queue, "ancestors")
    return [queue, *reversed(ancestors if isinstance(ancestors, list) else [])]


def bar_reason(recording: Recording, queue: QueueName) -> str:
    """Why capacity refuses before it compares amounts (broken tree, state, not a leaf); empty if it does not."""
    plugin = recording.session.plugin_of_class(Capacity)
    if not plugin.ready:
        return victims.BROKEN_TREE
    return equation.not_open_reason(recording.session, queue) or (NO_LEAF if plugin.queues[queue].children else "")


def room_checks(recording: Recording, seq: Seq, queue: QueueName, request: Resource) -> list[equation.QueueCheck]:
    """Allocatable's checks, without the reservations for gated pods."""
    limits = recording.session.plugin_of_class(Capacity).limits
    return _checks_upward(recording, seq, queue, lambda attr: limits.check_room(attr, attr.allocated, request))


def admission_checks(recording: Recording, seq: Seq, job: JobInfo) -> list[equation.QueueCheck]:
    """JobEnqueueable's checks of the job's minimum, for its queue and all ancestors."""
    limits = recording.session.plugin_of_class(Capacity).limits
    return _checks_upward(recording, seq, job.queue, lambda attr: limits.check_admission(attr, job))


def _checks_upward(
    recording: Recording, seq: Seq, queue: QueueName, check: Callable[[CapacityQueueAttr], LimitCheck]
) -> list[equation.QueueCheck]:
    """One check per queue, from the queue up to its ancestors."""
    attrs = (
        victims.attr_of(recording, state_before(recording, seq), name) for name in queue_and_ancestors(recording, queue)
    )
    return [equation.QueueCheck.for_queue(recording.session, attr.name, LIMIT_FIGURE, check(attr)) for attr in attrs]


def claim_check(recording: Recording, seq: Seq, queue: QueueName, request: Resource) -> equation.QueueCheck:
    """Preemptive's check of the request against the queue's deserved amount."""
    attr = victims.attr_of(recording, state_before(recording, seq), queue)
    counted = counted_request(recording.session, queue, request)
    return equation.QueueCheck.for_queue(recording.session, queue, "deserved", check_claim(attr, request, counted))


def allocatable_equation(recording: Recording, seq: Seq, event: HookEvent) -> equation.Equation:
    """Allocatable: whether the limits of the queue and all its ancestors allow one more task."""
    title, reason = f"capacity: may queue {event.queue} take {event.task}?", bar_reason(recording, event.queue)
    if reason:
        return equation.barred_equation(title, WITHIN_FORMULA, reason)
    amount, name = state_before(recording, seq).plugin_amount, victims.NAME
    return _room_equation(recording, seq, event, title, lambda queue: amount(name, queue, "allocated"), "")


def simulate_allocatable(recording: Recording, seq: Seq, event: HookEvent) -> equation.Equation:
    """As Allocatable, minus the dry run's victims in the queue and its ancestors; the queue's state is not checked."""
    title = f"capacity: might queue {event.queue} take {event.task}?"
    start, reason = equation.dry_run_start(recording, seq, victims.NAME, event.task), bar_reason(recording, event.queue)
    if start is None or reason in (victims.BROKEN_TREE, NO_LEAF):
        return equation.barred_equation(title, WITHIN_FORMULA, NO_DRY_RUN if start is None else reason)
    since = start

    def allocation_in_dry_run(queue: QueueName) -> Resource:
        # The tasks of all queues below count: a parent's allocation is the sum of its children's.
        family = [name for name in recording.session.queues if queue in queue_and_ancestors(recording, name)]
        return equation.simulated_allocation(recording, since, seq, victims.NAME, queue, family)

    note = f"as the queues stood at event {start}, changed by the dry run on this node"
    return _room_equation(recording, seq, event, title, allocation_in_dry_run, note)


@per_recording(most=16)
def _reservations_before(recording: Recording, seq: Seq) -> Reservations:
    timeline, owners = recording.timeline, recording.owners
    tasks = ((job.queue, task) for job in recording.session.jobs.values() for task in job.tasks.values())
    opening = (entry for entry in tasks if timeline.opening_tasks[entry[1].key].status is TaskStatus.PENDING)
    # Replayed from the opening: the plugin keeps only the final state, and the reservations change with every event.
    reservations = Reservations(opening)
    for number in range(1, seq):
        event = recording.event_at(number)
        if isinstance(event, HookEvent) and (event.plugin, event.point) == (victims.NAME, hooks.ALLOCATABLE.upstream):
            if event.result:
                reservations.add_task(event.queue, timeline.tasks[event.task])
        elif isinstance(event, OpEvent) and event.op in CHARGING_OPS:
            reservations.remove_task(timeline.tasks[event.task].uid)
        elif isinstance(event, OpEvent) and event.op in RELEASING_OPS and event.task in owners.jobs:
            reservations.add_task(owners.queues[owners.jobs[event.task]], timeline.tasks[event.task])
    return reservations


def _room_equation(
    recording: Recording, seq: Seq, event: HookEvent, title: str, allocation: Callable[[QueueName], Resource], note: str
) -> equation.Equation:
    """The equation of a limit check: one term per queue and requested dimension."""
    limits, task = recording.session.plugin_of_class(Capacity).limits, task_of(recording, event.task)
    reservations = None if limits.reservations is None else _reservations_before(recording, seq)
    level_terms: list[equation.Term] = []
    columns: tuple[str, ...] = ()
    for name in queue_and_ancestors(recording, event.queue):
        attr = victims.attr_of(recording, state_before(recording, seq), name)
        # What is reserved in the queue for other gated tasks.
        reserved = None if reservations is None else reservations.reserved_for_others(name, task)
        check = limits.check_room(attr, allocation(name), task.resreq, reserved)
        columns = equation.limit_columns(check, "limit")
        level_terms += _requested_terms(name, check)
    refused = event.result is False and limits.device_demand(task) is not None
    terms = _add_devices_term(tuple(level_terms), columns, refused=refused)
    return equation.judged_equation(title, WITHIN_FORMULA, columns, terms, note)


def _requested_terms(queue: QueueName, check: LimitCheck, prefix: str = "") -> Iterator[equation.Term]:
    """The terms of one queue, for the requested dimensions only."""
    names = [name for name, amount in check.requested.items() if amount > 0]
    return equation.limit_terms(check, names, f"{prefix}{queue} ")


def job_enqueueable(recording: Recording, seq: Seq, event: HookEvent) -> equation.Equation:
    """JobEnqueueable: whether the queue and its ancestors have room for the job's minimum besides inelastic usage."""
    job = recording.session.jobs[event.job]
    title = f"capacity: does queue {job.queue} admit {job.uid}?"
    formula = "min resources + allocated + inqueue − elastic ≤ limit, for the queue and each ancestor"
    reason = bar_reason(recording, job.queue)
    minimum_note = equation.NO_MINIMUM if job.pod_group.min_resources is None and event.result == PERMIT else ""
    if reason or minimum_note:
        return equation.admission_equation(title, formula, (), (), reason, minimum_note)
    levels = admission_checks(recording, seq, job)
    columns = equation.limit_columns(levels[0].check, "limit")
    terms = tuple(term for level in levels for term in _requested_terms(level.queue, level.check))
    return equation.admission_equation(
        title, formula, columns, _add_devices_term(terms, columns, refused=event.result == REJECT)
    )


def _add_devices_term(
    terms: tuple[equation.Term, ...], columns: tuple[str, ...], *, refused: bool
) -> tuple[equation.Term, ...]:
    """Terms for devices: a recording keeps no sums of them, so they fail if no other term explains the refusal."""
    if not refused or not equation.all_hold(terms):
        return terms
    return (*terms, equation.Term("devices", (None,) * len(columns), False, DEVICES_NOTE))


def preemptive_equation(recording: Recording, seq: Seq, event: HookEvent) -> equation.Equation:
    """Preemptive: whether the queue's limit allows the tasks and it deserves more in a requested dimension."""
    queue, request = event.queue, requested_together(recording, event.candidates)
    title = f"capacity: may queue {queue} reclaim for {', '.join(event.candidates)}?"
    plugin = recording.session.plugin_of_class(Capacity)
    claims_whole = plugin.claims_whole
    formula, compared = {
        (True, True): (WHOLE_CLAIM, equation.WHOLLY_CLAIMED),
        (True, False): (UNLIMITED_WHOLE_CLAIM, equation.WHOLLY_CLAIMED),
        (False, True): (PARTIAL_CLAIM, equation.PARTLY_CLAIMED),
        (False, False): (UNLIMITED_CLAIM, equation.UNLIMITED_CLAIMED),
    }[claims_whole, plugin.heeds_limit]
    columns = ("allocated", "request", "sum", "limit or deserved" if plugin.heeds_limit else "deserved")
    reason = bar_reason(recording, queue)
    if reason and reason != NO_LEAF:
        return equation.barred_equation(title, formula, reason)
    attrs = victims.attrs_of(recording, state_before(recording, seq))
    limit_check = plugin.limits.check_room(attrs[queue], attrs[queue].allocated, request)
    limits = tuple(_requested_terms(queue, limit_check, "limit ")) if plugin.heeds_limit else ()
    counted = counted_request(recording.session, queue, request)
    claimants = [attrs[ancestor.name] for ancestor in plugin.iter_queue_and_ancestors(plugin.queues[queue])]
    checks = [(attr.name, check_claim(attr, request, counted)) for attr in claimants]
    build_terms = partial(_requested_terms, prefix="deserved ") if claims_whole else _claim_terms
    claim_terms = tuple(term for name, check in checks for term in build_terms(name, check))
    entitled = any(plugin.claim_counts(check) for _, check in checks)
    winner = next((term.name for term in claim_terms if term.is_met), None)
    loser = None if entitled else equation.first_failing(claim_terms)
    deciding = equation.first_failing(limits) or (loser if claims_whole else winner)
    note = "" if deciding or claims_whole else f"queue {queue} deserves no more in any dimension requested"
    verdict = equation.all_hold(limits) and entitled
    return equation.Equation(
        title, formula, columns, "dimension", (*limits, *claim_terms), verdict, deciding, note, compared
    )


def reclaims_within_limit(recording: Recording) -> bool:
    """Whether Preemptive also requires that the queue stays within its limit."""
    return recording.session.plugin_of_class(Capacity).heeds_limit


def _claim_terms(queue: QueueName, check: LimitCheck) -> Iterator[equation.Term]:
    """Yields one term per requested dimension: whether the queue deserves more of it."""
    deserved = deserves_more(check)
    for term in _requested_terms(queue, check, "deserved "):
        name = term.name.rpartition(" ")[2]
        if term.is_met is None:
            yield term
        elif name not in deserved and check.is_empty_dimension(name):
            yield replace(term, is_met=None, note="nothing on either side")
        else:
            yield replace(term, is_met=name in deserved)


def larger_share_advice(view: JobView) -> tuple[Advice, ...]:
    """Advice after which the job's queue deserves more."""
    more = Advice.queue_admin(f"Queue {view.queue.name}: raise spec.deserved, or lower the guarantees of other queues.")
    return Advice.for_owner("Use another queue."), more


def queue_order(moment: plugins.OrderMoment, left: QueueInfo, right: QueueInfo) -> Iterator[plugins.OrderDifference]:
    """Yields comparisons by priority, leaf before parent, share where the branches divide, and non-zero deserved."""
    plugin = copy(moment.recording.session.plugin_of_class(Capacity))
    plugin.queues = victims.attrs_of(moment.recording, moment.state)
    left_attr, right_attr = plugin.queues[left.name], plugin.queues[right.name]
    first, second = plugin.queues_to_compare(left_attr, right_attr)
    suffix = "" if (first, second) == (left_attr, right_attr) else f" of {first.name} and {second.name}"
    comparisons = (
        (plugins.QUEUE_PRIORITY, left.priority, right.priority),
        ("has children", bool(left_attr.children), bool(right_attr.children)),
        (f"capacity share{suffix}", first.share, second.share),
        (f"deserves nothing{suffix}", first.deserved.is_empty(), second.deserved.is_empty()),
    )
    return plugins.iter_differences(plugin.queue_order(left, right), comparisons)


def victim_queue_order(
    moment: plugins.OrderMoment, left: QueueInfo, right: QueueInfo, asking: QueueInfo
) -> Iterator[plugins.OrderDifference]:
    """The victim queue with more ancestors in common with the preemptor's queue comes first."""
    plugin = moment.recording.session.plugin_of_class(Capacity)
    level, other_level = (common_level(plugin.queues[each.name], plugin.queues[asking.name]) for each in (left, right))
    return plugins.iter_differences(
        plugin.victim_queue_order(left, right, asking), [("levels in common", level, other_level)]
    )


EXPLAINER = plugins.PluginExplainer(
    equations={
        hooks.ALLOCATABLE.upstream: plugins.compared_by(equation.WITHIN_LIMIT, allocatable_equation),
        hooks.SIMULATE_ALLOCATABLE.upstream: plugins.compared_by(equation.WITHIN_LIMIT, simulate_allocatable),
        hooks.JOB_ENQUEUEABLE.upstream: plugins.compared_by(equation.WITHIN_LIMIT, job_enqueueable),
        hooks.PREEMPTIVE.upstream: preemptive_equation,
        hooks.RECLAIMABLE.upstream: plugins.compared_by(equation.GREATER_PARTLY, victims.reclaimable_equation),
        hooks.UNIFIED_EVICTABLE.upstream: plugins.compared_by(equation.GREATER_PARTLY, victims.unified_evictable),
    },
    comparators={hooks.QUEUE_ORDER.method: queue_order},
    victim_queues=victim_queue_order,
    explain_veto=victims.explain_veto,
    rejected=explain_queue_rejection,
    quota=plugins.QuotaExplainer(
        admission_checks, room_checks, claim_check, reclaims_within_limit, surplus_in, larger_share_advice
    ),
)
