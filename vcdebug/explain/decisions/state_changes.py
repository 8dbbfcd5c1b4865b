"""What a call changes inside a plugin: JobEnqueued reserves, PrePredicate prepares, dry runs remove and add pods.

Upstream: plugins/overcommit, plugins/proportion, plugins/capacity (JobEnqueuedFn, SimulateRemoveTaskFn and its like).
"""

from collections.abc import Iterator, Mapping
from typing import Final

from vcdebug.explain.equation import (
    NO_MINIMUM,
    SIMULATED_EXCHANGES,
    Equation,
    Term,
    all_dimensions,
    dry_run_start,
    simulated_allocation,
)
from vcdebug.framework import hooks
from vcdebug.framework.record import HookEvent
from vcdebug.model.job_amounts import minimum_without_gated
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.plugins.predicates import Predicates
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import state_before, task_of

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
    queue = _queue_of(recording, event.task)
    allocated = state_before(recording, seq).plugin_figure(event.plugin, queue, "allocated")
    if not isinstance(allocated, Resource):
        return None
    request = task_of(recording, event.task).resreq
    terms = (Term(name, (allocated.get(name), request.get(name)), None) for name in all_dimensions(allocated, request))
    title = f"{event.plugin}: queue {queue} before a dry run for {event.task}"
    formula = "the figures of all queues are copied; dry runs change the copy"
    return Equation(title, formula, ("allocated", "request"), "dimension", tuple(terms), None)


def _queue_of(recording: Recording, task: TaskKey) -> QueueName:
    return recording.owners.queues.get(task_of(recording, task).job, "")


def _exchange_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation | None:
    """A queue's allocated amount in the dry run's copy, before and after a pod is removed or added; else None."""
    queue, start = _queue_of(recording, event.other), dry_run_start(recording, seq, event.plugin, event.task)
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
