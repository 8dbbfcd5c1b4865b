"""The arithmetic of capacity's limits: a queue and its ancestors, each with what it holds against what it may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from vcdebug.explain.equation import Equation, Term, all_hold, first_failing
from vcdebug.explain.equations_queues import (
    NOT_ASKED,
    PODS_IGNORED,
    at_most,
    exchanged,
    last_pre_predicate,
    requested,
)
from vcdebug.explain.past import before, task_of
from vcdebug.explain.queues import CAPACITY
from vcdebug.explain.reservations import reserved_beside
from vcdebug.framework.persistence import counted
from vcdebug.framework.plugin import PERMIT, REJECT
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.queue import OPEN, ROOT_QUEUE
from vcdebug.model.resource import CPU, MEMORY, MIN_RESOURCE, PODS, Resource
from vcdebug.plugins.capacity import Capacity
from vcdebug.trace.recording import Recording
from vcdebug.trace.timeline import ClusterState

WHOLE_CLAIM = "allocated + request ≤ limit, and ≤ deserved, in every dimension that the queue configures"
WITHIN = "allocated + request ≤ limit, in the dimensions requested, for the queue and each ancestor"
SPOILT = "the tree of queues is spoilt: capacity refuses everything"
NO_LEAF = "the queue has children: jobs may only be in leaves"
DEVICES = "devices"
DEVICES_NOTE = "the queue's quota of devices does not hold the task's claims"


def plugin_of(recording: Recording) -> Capacity:
    """The capacity plugin, for what never changes about its queues."""
    plugin = recording.session.plugins[CAPACITY]
    assert isinstance(plugin, Capacity)
    return plugin


def upward(recording: Recording, queue: QueueName) -> list[QueueName]:
    """The queue, then its ancestors up to the root."""
    ancestors = recording.timeline.state_at(0).figure(CAPACITY, queue, "ancestors")
    return [queue, *reversed(ancestors if isinstance(ancestors, list) else [])]


def barred(recording: Recording, queue: QueueName) -> str:
    """What refuses before any arithmetic."""
    plugin, state = plugin_of(recording), recording.session.queues[queue].state
    if not plugin.ready:
        return SPOILT
    if state != OPEN:
        return f"the queue's state is {state or 'not set'}, not {OPEN}"
    return NO_LEAF if plugin.queues[queue].children else ""


def allocatable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """May the queue and all its ancestors take one task?"""
    queue, task = event.subject[0][1], task_of(recording, event.subject[1][1])
    title = f"capacity: may queue {queue} take {task.key}?"
    reason = barred(recording, queue)
    if reason:
        return Equation(title, WITHIN, (), "dimension", (), False, None, reason)
    state = before(recording, seq)
    terms: list[Term] = []
    for name in upward(recording, queue):
        beside = reserved_beside(recording, seq, name, task)
        held = state.amount(CAPACITY, name, "allocated")
        judged = counted(recording.session, name, task.resreq)
        parts = (held, *((beside,) if beside is not None else ()), task.resreq)
        terms += _level(state, name, parts, judged)
    if all_hold(tuple(terms)) and event.result is False and plugin_of(recording).limits.demand(task) is not None:
        terms.append(Term(DEVICES, (None,) * len(terms[0].figures), False, DEVICES_NOTE))
    kept = ("reserved",) if plugin_of(recording).limits.reservations is not None else ()
    columns = ("allocated", *kept, "request", "sum", "limit")
    found = tuple(terms)
    return Equation(title, WITHIN, columns, "dimension", found, all_hold(found), first_failing(found))


def simulate_allocatable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """As Allocatable, with the dry run's victims taken off the queue and its ancestors; its state does not matter."""
    queue, task = event.subject[0][1], task_of(recording, event.subject[1][1])
    title = f"capacity: might queue {queue} take {task.key}?"
    start = last_pre_predicate(recording, seq, CAPACITY, task.key)
    reason = barred(recording, queue)
    if start is None or reason in (SPOILT, NO_LEAF):
        note = reason if start is not None else "PrePredicate has not run: there is nothing to simulate on"
        return Equation(title, WITHIN, (), "dimension", (), False, None, note)
    state = before(recording, start)
    terms: list[Term] = []
    for name in upward(recording, queue):
        held, beside = _held(recording, seq, state, name), reserved_beside(recording, seq, name, task)
        parts = (held, *((beside,) if beside is not None else ()), task.resreq)
        terms += _level(state, name, parts, counted(recording.session, name, task.resreq))
    if all_hold(tuple(terms)) and event.result is False and plugin_of(recording).limits.demand(task) is not None:
        terms.append(Term(DEVICES, (None,) * len(terms[0].figures), False, DEVICES_NOTE))
    kept = ("reserved",) if plugin_of(recording).limits.reservations is not None else ()
    columns, found = ("allocated", *kept, "request", "sum", "limit"), tuple(terms)
    note = f"as the queues stood at event {start}, changed by the dry run on this node"
    return Equation(title, WITHIN, columns, "dimension", found, all_hold(found), first_failing(found), note)


def _held(recording: Recording, seq: Seq, state: ClusterState, queue: QueueName) -> Resource:
    """What a queue or an ancestor holds after the dry run's additions and removals."""
    held = state.amount(CAPACITY, queue, "allocated").clone()
    for other, added in exchanged(recording, seq, CAPACITY):
        own = recording.owners.queues.get(other.job)
        if own is not None and queue in upward(recording, own):
            held = held.add(other.resreq) if added else held.sub(other.resreq)
    return held


def _level(state: ClusterState, queue: QueueName, parts: tuple[Resource, ...], judged: Resource) -> Iterator[Term]:
    """One line per dimension that is asked for."""
    limit, total = state.amount(CAPACITY, queue, "realCapability"), Resource()
    for part in parts:
        total.add(part)
    for name, amount in judged.items():
        figures = (*(part.get(name) for part in parts), total.get(name), limit.get(name))
        if amount <= 0:
            continue
        if name == PODS:
            yield Term(f"{queue} {name}", figures, None, PODS_IGNORED)
        elif name not in (CPU, MEMORY) and total.scalars is None:
            yield Term(f"{queue} {name}", figures, None, NOT_ASKED)
        else:
            yield Term(f"{queue} {name}", figures, figures[-2] <= figures[-1])


def job_enqueueable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Do the queue and all its ancestors hold the job's minimum beside everything that is not elastic?"""
    uid = event.subject[0][1]
    job, state = recording.session.jobs[uid], before(recording, seq)
    title = f"capacity: does queue {job.queue} admit {uid}?"
    formula = "min resources + allocated + inqueue − elastic ≤ limit, for the queue and each ancestor"
    columns = ("min resources", "allocated", "inqueue", "elastic", "sum", "limit")
    reason = barred(recording, job.queue)
    if reason:
        return Equation(title, formula, (), "dimension", (), REJECT, None, reason)
    if job.pod_group.min_resources is None and event.result == PERMIT:
        return Equation(title, formula, (), "dimension", (), PERMIT, None, "the PodGroup states no minResources")
    terms: list[Term] = []
    for name in upward(recording, job.queue):
        terms += _admission(recording, state, name, job.get_min_resources())
    if event.result == REJECT and all_hold(tuple(terms)):
        terms.append(Term(DEVICES, (None,) * len(columns), False, DEVICES_NOTE))
    found = tuple(terms)
    verdict = PERMIT if all_hold(found) else REJECT
    return Equation(title, formula, columns, "dimension", found, verdict, first_failing(found))


def _admission(recording: Recording, state: ClusterState, queue: QueueName, minimum: Resource) -> Iterator[Term]:
    figures = ("allocated", "inqueue", "elastic", "realCapability")
    allocated, inqueue, elastic, limit = (state.amount(CAPACITY, queue, figure) for figure in figures)
    total = minimum.clone().add(allocated).add(inqueue).sub_without_assert(elastic)
    for name, amount in counted(recording.session, queue, minimum).items():
        parts = tuple(part.get(name) for part in (minimum, allocated, inqueue, elastic, total, limit))
        if amount <= 0:
            continue
        if name == PODS:
            yield Term(f"{queue} {name}", parts, None, PODS_IGNORED)
        elif name not in (CPU, MEMORY) and total.scalars is None:
            yield Term(f"{queue} {name}", parts, None, NOT_ASKED)
        else:
            yield Term(f"{queue} {name}", parts, parts[-2] <= parts[-1])


# Reclaim


def preemptive(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """May the queue reclaim: does its limit hold the tasks, and does it deserve more in one of their dimensions?"""
    queue, state = event.subject[0][1], before(recording, seq)
    request = requested(recording, event.subject[1][1])
    title = f"capacity: may queue {queue} reclaim for {', '.join(event.subject[1][1])}?"
    formula = "allocated + request ≤ limit in every dimension requested, and ≤ deserved in at least one of them"
    columns = ("allocated", "request", "sum", "limit or deserved")
    reason = barred(recording, queue)
    if reason and reason != NO_LEAF:
        return Equation(title, formula, (), "dimension", (), False, None, reason)
    held = state.amount(CAPACITY, queue, "allocated")
    limits = tuple(_level(state, queue, (held, request), counted(recording.session, queue, request)))
    limits = tuple(replace(term, name=f"limit {term.name}") for term in limits)
    if recording.session.persistence.on:
        return _whole_claim(
            Equation(title, WHOLE_CLAIM, columns, "dimension", limits, None, None), recording, seq, event
        )
    claims = tuple(term for name in claimants(recording, queue) for term in _claims(state, name, request))
    claiming = next((term.name for term in claims if term.holds), None)
    verdict = all_hold(limits) and claiming is not None
    deciding = first_failing(limits) or claiming
    note = "" if deciding else f"queue {queue} deserves no more in any dimension requested"
    return Equation(title, formula, columns, "dimension", (*limits, *claims), verdict, deciding, note)


def _whole_claim(equation: Equation, recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """With task state persistence one of the claimants must deserve all of what counts."""
    queue, state = event.subject[0][1], before(recording, seq)
    asked = counted(recording.session, queue, requested(recording, event.subject[1][1]))
    groups = [tuple(_claims(state, name, asked)) for name in claimants(recording, queue)]
    claims = tuple(term for group in groups for term in group)
    entitled = any(all_hold(group) for group in groups)
    deciding = first_failing(equation.terms) or (None if entitled else first_failing(claims))
    verdict = all_hold(equation.terms) and entitled
    return replace(equation, terms=(*equation.terms, *claims), verdict=verdict, deciding=deciding)


def claimants(recording: Recording, queue: QueueName) -> list[QueueName]:
    """The queue and the nearest ancestors that may claim for it."""
    plugin = plugin_of(recording)
    above = upward(recording, queue)[1 : plugin.ancestor_level + 1]
    return [queue, *(name for name in above if name != ROOT_QUEUE and name in plugin.queues)]


def _claims(state: ClusterState, queue: QueueName, request: Resource) -> Iterator[Term]:
    """One line per dimension requested: whether what is deserved holds it."""
    allocated, deserved = (state.amount(CAPACITY, queue, figure) for figure in ("allocated", "deserved"))
    total = allocated.clone().add(request)
    for name, amount in request.items():
        figures = (allocated.get(name), amount, total.get(name), deserved.get(name))
        if amount <= 0:
            continue
        if name == PODS:
            yield Term(f"deserved {queue} {name}", figures, None, PODS_IGNORED)
        elif total.get(name) < MIN_RESOURCE and deserved.get(name) < MIN_RESOURCE:
            yield Term(f"deserved {queue} {name}", figures, None, "nothing on either side")
        else:
            yield Term(f"deserved {queue} {name}", figures, at_most(total.get(name), deserved.get(name)))


EQUATIONS: Final[Mapping[tuple[str, str], Callable[[Recording, Seq, HookEvent], Equation]]] = {
    (CAPACITY, "Allocatable"): allocatable,
    (CAPACITY, "SimulateAllocatable"): simulate_allocatable,
    (CAPACITY, "JobEnqueueable"): job_enqueueable,
    (CAPACITY, "Preemptive"): preemptive,
}
