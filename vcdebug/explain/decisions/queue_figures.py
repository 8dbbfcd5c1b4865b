"""How a queue's limit, deserved amount, share and reservations are computed, and what a call changes in them.

Upstream: plugins/proportion, plugins/capacity, plugins/overcommit (JobEnqueuedFn, SimulateRemoveTaskFn and its like).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from vcdebug.amount_text import format_number
from vcdebug.explain.equation import (
    MINIMUM_INFINITY,
    NO_MINIMUM,
    SIMULATED_EXCHANGES,
    Equation,
    Ratio,
    Term,
    all_dimensions,
    dry_run_start,
    simulated_allocation,
)
from vcdebug.explain.plugins import explainer_for
from vcdebug.explain.queue_index import queues_below
from vcdebug.framework import hooks
from vcdebug.framework.hooks import JOB_ENQUEUEABLE, JOB_ENQUEUED
from vcdebug.framework.plugin_answers import PERMIT
from vcdebug.framework.record import HookEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.job_amounts import ReservationForm, minimum_without_gated, reserved_resource
from vcdebug.model.names import JobId, QueueName, Seq
from vcdebug.model.pod_group import INQUEUE, RUNNING
from vcdebug.model.queue import ROOT_QUEUE, QueueLimit
from vcdebug.model.resource import CPU, MAX_INT64, MEMORY, MIN_RESOURCE, PODS, Resource
from vcdebug.plugins import CAPACITY, OVERCOMMIT, PROPORTION
from vcdebug.plugins.overcommit import reserved_at_open
from vcdebug.plugins.predicates import Predicates
from vcdebug.plugins.proportion import Proportion
from vcdebug.plugins.proportion import ProportionQueueAttr as ProportionAttr
from vcdebug.plugins.proportion import from_figures as proportion_attr
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import job_before, state_before, sum_resources, task_of
from vcdebug.recording.timeline import ClusterState
from vcdebug.releases.queues import ENQUEUE_INQUEUE_AT_VOTE

if TYPE_CHECKING:
    from vcdebug.framework.figures import Figures

    # Imported here, so that a cluster with proportion does not load capacity.
    from vcdebug.plugins.capacity import Capacity
    from vcdebug.plugins.capacity.queue_attr import CapacityQueueAttr as CapacityAttr


SHARING_PLUGINS: Final = (PROPORTION, CAPACITY)
"""Plugins that compute deserved amounts and shares of queues."""
ENDLESS_AMOUNT: Final = float(MAX_INT64)
SHARE_FORMULA = "share = the largest of allocated / deserved"
STALE_SHARE = "as it was when the session opened: events of its children do not bring it up to date"
LIMIT_FORMULA = "limit = the smaller of capability and what the guarantees of all leave, with its own"
ENDLESS_FORMULA = "limit = capability; endless where none is stated"


class QueuePlace(NamedTuple):
    """A queue and its depth in the queue tree, 0 for the root or without a tree."""

    name: QueueName
    depth: int


def sharing_plugin(recording: Recording) -> str:
    """The name of the plugin that divides the cluster among queues; empty if none is configured."""
    return next((name for name in SHARING_PLUGINS if name in recording.timeline.figures), "")


def capacity_tree(recording: Recording) -> Capacity | None:
    """The capacity plugin if its queue tree is valid and in use; None otherwise."""
    plugin = _capacity_plugin(recording)
    # A circle of parents has no root, and every walk over the tree would be endless.
    return plugin if plugin is not None and plugin.tree and plugin.ready and not plugin.circular_queues else None


def tree_is_broken(recording: Recording) -> bool:
    """Whether capacity found its queue tree invalid, so that figures are incomplete and every request is refused."""
    plugin = _capacity_plugin(recording)
    return plugin is not None and plugin.tree and not plugin.ready


def _capacity_plugin(recording: Recording) -> Capacity | None:
    plugin = recording.session.plugins.get(CAPACITY)
    if plugin is None:
        return None
    from vcdebug.plugins.capacity import Capacity

    return plugin if isinstance(plugin, Capacity) else None


def queue_places(recording: Recording) -> tuple[QueuePlace, ...]:
    """All queues with their depth; children follow their parent if capacity uses a queue tree."""
    plugin = capacity_tree(recording)
    if plugin is None or ROOT_QUEUE not in plugin.queues:
        return tuple(QueuePlace(name, 0) for name in recording.session.queues)
    return tuple(_places_below(plugin, ROOT_QUEUE, 0))


def _places_below(plugin: Capacity, name: QueueName, depth: int) -> Iterator[QueuePlace]:
    yield QueuePlace(name, depth)
    for child in sorted(plugin.queues[name].children):
        yield from _places_below(plugin, child, depth + 1)


def finite_dimensions(*resources: Resource) -> list[str]:
    """cpu, memory, and scalars with a finite non-zero amount somewhere, except counts of pods and volumes."""
    scalars = dict.fromkeys(name for resource in resources for name in resource.scalars or ())
    # Counts of pods and volumes are on every node and would fill the table without explaining a share.
    dimensions = sorted(name for name in scalars if name != PODS and not name.startswith("attachable-volumes"))
    return [
        CPU,
        MEMORY,
        *(name for name in dimensions if any(0 < abs(amounts.get(name)) < ENDLESS_AMOUNT for amounts in resources)),
    ]


def opening_attr_of(recording: Recording, queue: QueueName) -> ProportionAttr | CapacityAttr | None:
    """The sharing plugin's figures of a queue when the session opened; None for a broken queue tree."""
    plugin = recording.session.plugins.get(sharing_plugin(recording))
    if not isinstance(plugin, Proportion):
        return _capacity_queue_attr(recording, queue)
    return None if tree_is_broken(recording) else plugin.queues.get(queue)


def _capacity_queue_attr(recording: Recording, queue: QueueName) -> CapacityAttr | None:
    """The figures of a queue if capacity shares the cluster; None otherwise."""
    if sharing_plugin(recording) != CAPACITY or tree_is_broken(recording):
        return None
    plugin = _capacity_plugin(recording)
    return None if plugin is None else plugin.queues.get(queue)


def queue_share(recording: Recording, seq: Seq, queue: QueueName) -> Equation:
    """The equation of a queue's share after an event, and the dimension that decides it."""
    plugin = sharing_plugin(recording)
    attr = _attr_with(plugin, recording.timeline.state_at(seq).books[plugin][queue])
    title, recorded = f"share of queue {queue}", attr.share
    if plugin == CAPACITY and attr.deserved.is_empty():
        formula = f"share = {format_number(recorded)}, as it deserves nothing"
        return Equation(title, formula, (), "dimension", (), recorded)
    parts = attr.share_by_dimension()
    terms = tuple(
        Term(name, (attr.allocated.get(name), attr.deserved.get(name), Ratio(part)), None) for name, part in parts
    )
    # The recorded share can be stale: upstream updates a parent's share only on some events.
    attr.update_share()
    deciding = next((name for name, part in parts if part == attr.share and part), None)
    note, columns = "" if recorded == attr.share else STALE_SHARE, ("allocated", "deserved", "share")
    return Equation(title, SHARE_FORMULA, columns, "dimension", terms, recorded, deciding, note)


def _attr_with(plugin: str, figures: Figures) -> ProportionAttr | CapacityAttr:
    if plugin == PROPORTION:
        return proportion_attr(figures)
    from vcdebug.plugins.capacity.queue_attr import CapacityQueueAttr, with_figures

    return with_figures(CapacityQueueAttr("", Resource(), Resource(), Resource()), figures)


def real_capability(recording: Recording, queue: QueueName) -> Equation | None:
    """A queue's real capability: the cluster or parent minus guarantees, at most the queue's capability; else None."""
    attr = opening_attr_of(recording, queue)
    bound = attr.limit_derivation if attr is not None else None
    title = f"limit of queue {queue} (real capability)"
    if attr is not None and bound is None and queue == ROOT_QUEUE and capacity_tree(recording) is not None:
        limit = attr.real_capability
        terms = tuple(Term(name, (limit.get(name),), None) for name in finite_dimensions(limit))
        return Equation(title, ENDLESS_FORMULA, ("limit",), "dimension", terms, limit)
    if bound is None:
        return None
    source = f"{bound.parent}'s" if bound.parent else "total"
    terms = tuple(_limit_term(name, bound) for name in finite_dimensions(bound.total, bound.limit))
    columns = (source, "− guaranteed", "+ own", "= left", "capability", "limit")
    return Equation(title, LIMIT_FORMULA, columns, "dimension", terms, bound.limit, None, "", MINIMUM_INFINITY)


def _limit_term(name: str, bound: QueueLimit) -> Term:
    figures = tuple(part.get(name) for part in bound[:4] if part is not None)
    capability = bound.capability
    amount = capability.get(name) if capability is not None and capability.has_dimension(name) else None
    if not bound.limit.has_dimension(name):
        return Term(name, (*figures, amount, None), None, "nothing is left of it")
    reason = "capability decides" if amount is not None and amount < figures[-1] else "what is left decides"
    return Term(name, (*figures, amount, bound.limit.get(name)), None, reason)


def stated_deserved(recording: Recording, queue: QueueName) -> Equation | None:
    """capacity's deserved amount: the stated one, at most the limit, at least the guarantee; else None."""
    attr, tree = _capacity_queue_attr(recording, queue), capacity_tree(recording)
    title = f"what queue {queue} deserves"
    if attr is None:
        return None
    if tree is not None and queue == ROOT_QUEUE and attr.entitlement is None:
        return _sum_of_children(attr, title)
    if attr.entitlement is None:
        return None
    spec_deserved, limit, guarantee, deserved = attr.entitlement
    parts = (spec_deserved, guarantee, deserved) if limit is None else (spec_deserved, limit, guarantee, deserved)
    names = finite_dimensions(spec_deserved, guarantee, deserved)
    terms = tuple(
        Term(name, tuple(part.get(name) for part in parts), None, _deserved_note(name, parts)) for name in names
    )
    capped, column = ("stated", ()) if limit is None else ("min(stated, limit)", ("limit",))
    columns = ("stated", *column, "guarantee", "deserved")
    return Equation(title, f"deserved = max({capped}, guarantee)", columns, "dimension", terms, deserved)


def _deserved_note(name: str, parts: tuple[Resource, ...]) -> str:
    spec_deserved, guarantee, deserved = (part.get(name) for part in (parts[0], *parts[-2:]))
    decider = "the guarantee decides" if deserved == guarantee else "the limit decides"
    return "as stated" if deserved == spec_deserved else decider


def _sum_of_children(root: CapacityAttr, title: str) -> Equation:
    children = [root.children[name] for name in sorted(root.children)]
    amounts = [*(child.deserved for child in children), root.deserved]
    terms = tuple(
        Term(name, tuple(each.get(name) for each in amounts), None) for name in finite_dimensions(root.deserved)
    )
    columns = (*(child.name for child in children), "deserved")
    return Equation(title, "deserved = the sum of its children's", columns, "dimension", terms, root.deserved)


class StarvedPair(NamedTuple):
    """A queue below its deserved amount in a dimension, and a queue that holds more than it deserves there."""

    starved: QueueName
    richer: QueueName
    """Empty if no queue exceeds what it deserves."""
    dimension: str
    shortage: float
    """How much the starved queue requests and lacks, up to its deserved amount."""
    surplus: float
    """How much the queue `richer` holds beyond its deserved amount."""
    reclaimable: bool


def starved_pairs(recording: Recording, seq: Seq) -> tuple[StarvedPair, ...]:
    """All pairs after an event; within a dimension of a starved queue, the largest surplus first."""
    plugin, state = sharing_plugin(recording), recording.timeline.state_at(seq)
    tree = capacity_tree(recording)
    inner = [name for name, queue in tree.queues.items() if queue.children] if tree is not None else []
    names = [name for name in recording.timeline.figures.get(plugin, {}) if name and name not in inner]
    return tuple(pair for name in names for pair in _pairs_of_queue(recording, state, plugin, name, names))


def _pairs_of_queue(
    recording: Recording, state: ClusterState, plugin: str, queue: QueueName, names: list[QueueName]
) -> Iterator[StarvedPair]:
    deserved, allocated, request = (
        state.plugin_amount(plugin, queue, figure) for figure in ("deserved", "allocated", "request")
    )
    for dimension in finite_dimensions(deserved, request):
        lacks = min(deserved.get(dimension), request.get(dimension)) - allocated.get(dimension)
        # Below the tolerance upstream treats the amounts as equal.
        if lacks < MIN_RESOURCE:
            continue
        richer = []
        for name in (one for one in names if one != queue):
            due, held = (state.plugin_amount(plugin, name, figure) for figure in ("deserved", "allocated"))
            if (extra := surplus_of(plugin, due, held, dimension)) >= MIN_RESOURCE:
                richer.append(
                    StarvedPair(queue, name, dimension, lacks, extra, recording.session.queues[name].reclaimable)
                )
        alone = [StarvedPair(queue, "", dimension, lacks, 0.0, reclaimable=False)]
        yield from sorted(richer, key=lambda pair: -pair.surplus) or alone


def surplus_of(plugin: str, deserved: Resource, allocated: Resource, dimension: str) -> float:
    """The amount allocated beyond deserved in a dimension; 0 if the plugin does not compare it."""
    quota = explainer_for(plugin).quota
    return 0.0 if quota is None else quota.surplus_of(deserved, allocated, dimension)


REST, WHOLE = "minResources less what it has allocated", "its whole minResources"


class LedgerEntry(Struct, frozen=True):
    """One PodGroup in a queue's ledger of reservations."""

    job: JobId
    phase: str
    minimum: Resource | None
    created_text: str
    reserved: Resource | None
    """The amount that the PodGroup adds to the reservations; None if it is not counted."""
    reason: str
    seq: Seq
    """The event that admitted the PodGroup; 0 if it was admitted before this cycle."""


def counted_queues(recording: Recording, queue: QueueName) -> Sequence[QueueName]:
    """The queues whose jobs count for a queue: with a tree those below it, too."""
    # Without a tree the parents that queues state mean nothing to the plugin.
    return queues_below(recording, queue) if capacity_tree(recording) is not None else (queue,)


def reservation_ledger(recording: Recording, seq: Seq, queue: QueueName = "") -> Sequence[LedgerEntry]:
    """The PodGroups of a queue and its descendants after an event; without a queue all, as overcommit counts them."""
    plugin = sharing_plugin(recording) if queue else OVERCOMMIT
    admitted = admission_seqs(recording, plugin, seq)
    family = counted_queues(recording, queue) if queue else recording.session.queues
    jobs = [job for job in recording.session.jobs.values() if not queue or job.queue in family]
    entries = (_build_entry(recording, seq, job, plugin, admitted.get(job.uid, 0)) for job in jobs)
    # In the order of admission, in which the plugin added the amounts, since float sums depend on the order.
    return sorted(entries, key=lambda entry: entry.seq)


def total_reserved(entries: Sequence[LedgerEntry]) -> Resource:
    """The sum of all reservations, added in the plugin's order."""
    return sum_resources(entry.reserved for entry in entries if entry.reserved is not None)


def admission_seqs(recording: Recording, plugin: str, seq: Seq) -> dict[JobId, Seq]:
    """Job → the event at which the plugin reserved the job's minimum."""
    # Older releases reserve with a plugin's permit, even if another plugin rejects the job.
    at_vote = plugin != OVERCOMMIT and recording.snapshot.release.has_older_form(ENQUEUE_INQUEUE_AT_VOTE)
    calls = recording.hook_calls((JOB_ENQUEUEABLE if at_vote else JOB_ENQUEUED).upstream)
    own = ((at_seq, event) for at_seq, event in calls if event.plugin == plugin and at_seq <= seq)
    return {event.job: at_seq for at_seq, event in own if not at_vote or event.result == PERMIT}


def _build_entry(recording: Recording, seq: Seq, job: JobInfo, plugin: str, admission_seq: Seq) -> LedgerEntry:
    minimum, phase = job.pod_group.min_resources, recording.timeline.state_at(seq).phases[job.uid]
    if minimum is None:
        reserved, reason = None, "states no minResources"
    elif admission_seq:
        origin = "admitted in this cycle" if phase == INQUEUE else "permitted in this cycle, and not admitted"
        reserved, reason = minimum_without_gated(job), f"{origin}: {WHOLE}"
    else:
        reserved, reason = _reserved_at_open(recording, job, plugin)
    return LedgerEntry(job.uid, phase, minimum, job.creation_timestamp, reserved, reason, admission_seq)


def _reserved_at_open(recording: Recording, job: JobInfo, plugin: str) -> tuple[Resource | None, str]:
    """(amount that the PodGroup reserved when the session opened or None, reason)."""
    phase = recording.timeline.opening_phases[job.uid]
    if phase not in (INQUEUE, RUNNING):
        return None, f"{phase or 'no phase'}: only Inqueue and Running ones count"
    before = job_before(recording, job.uid, 1)
    form = ReservationForm.for_release(recording.snapshot.release)
    reserved = reserved_at_open(before, form) if plugin == OVERCOMMIT else reserved_resource(before, form)
    if reserved is None:
        return None, f"Running with {before.allocated_task_num()} of minMember {before.pod_group.min_member} allocated"
    counts_whole = phase == INQUEUE and (plugin == OVERCOMMIT or form.whole_minimum)
    return reserved, f"{phase}: {WHOLE if counts_whole else REST}"


# What a call changes inside a plugin: JobEnqueued reserves, PrePredicate prepares, dry runs remove and add pods.

RESERVED: Final = "inqueue"
CHANGE_COLUMNS: Final = ("before", "change", "after")


def state_change_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation | None:
    """The equation of the figures that the call changes or prepares; None if the plugin stores nothing."""
    if event.point == hooks.JOB_ENQUEUED.upstream:
        return _reservation_equation(recording, seq, event)
    if event.plugin == Predicates.name:
        return _filters_equation(recording, seq, event)
    if event.point == hooks.PRE_PREDICATE.upstream:
        return _copied_equation(recording, seq, event)
    return _exchange_equation(recording, seq, event) if event.point in SIMULATED_EXCHANGES else None


def _reservation_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation | None:
    """The change of the plugin's reservations by the admitted job, per queue or for the cluster."""
    job, before = recording.session.jobs[event.job], state_before(recording, seq)
    owner = next((name for name in (job.queue, "") if before.plugin_figure(event.plugin, name, RESERVED)), None)
    if owner is None:
        return None
    after = recording.timeline.state_at(seq).plugin_amount(event.plugin, owner, RESERVED)
    added = Resource() if job.pod_group.min_resources is None else minimum_without_gated(job)
    terms = tuple(_change_terms(before.plugin_amount(event.plugin, owner, RESERVED), added, after, 1))
    scope = f"in queue {owner}" if owner else "in the cluster"
    title = f"{event.plugin}: what {event.job} reserves {scope}"
    note = NO_MINIMUM if job.pod_group.min_resources is None else ""
    formula = "inqueue + minResources, less what gated pods ask for"
    return Equation(title, formula, CHANGE_COLUMNS, "dimension", terms, None, None, note)


def _change_terms(before: Resource, change: Resource, after: Resource, sign: int) -> Iterator[Term]:
    for name in all_dimensions(before, change, after):
        yield Term(name, (before.get(name), sign * change.get(name), after.get(name)), None)


def _copied_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation | None:
    """The allocated amount of the task's queue when the plugin copies its figures for dry runs."""
    queue = recording.owners.queues.get(task_of(recording, event.task).job, "")
    allocated = state_before(recording, seq).plugin_figure(event.plugin, queue, "allocated")
    if not isinstance(allocated, Resource):
        return None
    request = task_of(recording, event.task).resreq
    terms = (Term(name, (allocated.get(name), request.get(name)), None) for name in all_dimensions(allocated, request))
    title = f"{event.plugin}: queue {queue} before a dry run for {event.task}"
    formula = "the figures of all queues are copied; dry runs change the copy"
    return Equation(title, formula, ("allocated", "request"), "dimension", tuple(terms), None)


def _exchange_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation | None:
    """A queue's allocated amount in the dry run's copy, before and after a pod is removed or added; else None."""
    queue = recording.owners.queues.get(task_of(recording, event.other).job, "")
    start = dry_run_start(recording, seq, event.plugin, event.task)
    if not queue or start is None:
        return None
    before = simulated_allocation(recording, start, seq, event.plugin, queue, (queue,))
    request, adds = task_of(recording, event.other).resreq, SIMULATED_EXCHANGES[event.point]
    after = before.clone().add(request) if adds else before.clone().sub(request)
    terms = tuple(_change_terms(before, request, after, 1 if adds else -1))
    title = f"{event.plugin}: queue {queue} {'with' if adds else 'without'} {event.other}"
    formula = f"allocated {'+' if adds else '−'} request, in the copy for the dry run on {event.node}"
    return Equation(title, formula, CHANGE_COLUMNS, "dimension", terms, None)


# predicates


def _filters_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation | None:
    """Which filters check nodes for the task."""
    plugin = recording.session.plugins.get(Predicates.name)
    if event.point != hooks.PRE_PREDICATE.upstream or not isinstance(plugin, Predicates):
        return None
    skipped = _skipped_filters(recording).get(seq, ())
    terms = (
        Term(check.name, ("no" if check.name in skipped else "yes",), None, "asks nothing" * (check.name in skipped))
        for check in plugin.filters
    )
    title = f"predicates: which filters check nodes for {event.task}"
    formula = "PreFilter lets a filter skip the task where its pod asks nothing of it"
    note = "" if event.result is None else str(event.result)
    return Equation(title, formula, ("checks nodes",), "check", tuple(terms), None, None, note)


@per_recording()
def _skipped_filters(recording: Recording) -> Mapping[Seq, tuple[str, ...]]:
    """Event of a PrePredicate → the filters that skip its task, from the log line before the event."""
    return {
        line.seq + 1: tuple(map(str, names))
        for line in recording.record.lines
        if line.key == "filter.skips" and isinstance(names := line.values[1], tuple)
    }
