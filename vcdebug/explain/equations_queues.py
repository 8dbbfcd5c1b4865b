"""The arithmetic of quotas: proportion's deserved amounts and limits, overcommit's enlarged cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from vcdebug.explain.equation import Equation, Term, all_hold, first_failing
from vcdebug.explain.past import before, task_of
from vcdebug.framework.persistence import counted
from vcdebug.framework.plugin import PERMIT, REJECT
from vcdebug.framework.record import HookEvent, Level
from vcdebug.model.names import JobId, QueueName, Seq, TaskKey
from vcdebug.model.queue import OPEN
from vcdebug.model.resource import CPU, MEMORY, MIN_RESOURCE, PODS, Resource
from vcdebug.model.task import TaskInfo
from vcdebug.trace.index import TASK
from vcdebug.trace.index import before as before_seq
from vcdebug.trace.recording import Recording

PROPORTION, OVERCOMMIT = "proportion", "overcommit"
WITHIN = "allocated + request ≤ deserved, in the dimensions requested"
WITHIN_COLUMNS = ("allocated", "request", "sum", "deserved")
NOT_ASKED = "not asked for"
PODS_IGNORED = "pods are not compared here"


def overused(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Is everything that the queue deserves used up?"""
    return queue_overused(recording, seq, event.subject[0][1])


def queue_overused(recording: Recording, seq: Seq, queue: QueueName) -> Equation:
    """As proportion would answer Overused before an event."""
    deserved, allocated = _amounts(recording, seq, queue, "deserved", "allocated")
    terms = tuple(
        Term(name, (amount, allocated.get(name)), at_most(amount, allocated.get(name)))
        for name, amount in deserved.items()
    )
    verdict = all_hold(terms)
    left = first_failing(terms)
    note = "" if verdict else f"{left} is not used up, which keeps the queue from being overused"
    title = f"proportion: is queue {queue} overused?"
    columns = ("deserved", "allocated")
    return Equation(title, "deserved ≤ allocated, in every dimension", columns, "dimension", terms, verdict, left, note)


def allocatable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """May the queue take one task?"""
    queue, task = event.subject[0][1], event.subject[1][1]
    title = f"proportion: may queue {queue} take {task}?"
    return _within_deserved(recording, seq, title, queue, task_of(recording, task).resreq)


def simulate_allocatable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """May the queue take the task, with victims taken off in a dry run?"""
    queue, task = event.subject[0][1], event.subject[1][1]
    request = task_of(recording, task).resreq
    title = f"proportion: might queue {queue} take {task}?"
    start = last_pre_predicate(recording, seq, PROPORTION, task)
    if start is None:
        note = "PrePredicate has not run for the task, so that there is nothing to simulate on"
        return Equation(title, WITHIN, WITHIN_COLUMNS, "dimension", (), False, None, note)
    deserved, allocated = _amounts(recording, start, queue, "deserved", "allocated")
    held = _simulated(recording, seq, queue, allocated)
    note = f"as the queue stood at event {start}, changed by the dry run on this node"
    return _within(title, held, request, deserved, note)


def last_pre_predicate(recording: Recording, seq: Seq, plugin: str, task: TaskKey) -> Seq | None:
    """The event after which a plugin's simulations for the task start."""
    about = recording.index.about(TASK, task)
    earlier = before_seq(about, seq)
    while earlier is not None:
        event = recording.event(earlier)
        if isinstance(event, HookEvent) and (event.plugin, event.point) == (plugin, "PrePredicate"):
            return earlier
        earlier = before_seq(about, earlier)
    return None


def _simulated(recording: Recording, seq: Seq, queue: QueueName, allocated: Resource) -> Resource:
    """What the queue holds after the dry run's additions and removals on the node."""
    held = allocated.clone()
    for other, added in exchanged(recording, seq, PROPORTION):
        if recording.owners.queues.get(other.job) == queue:
            held = held.add(other.resreq) if added else held.sub(other.resreq)
    return held


def exchanged(recording: Recording, seq: Seq, plugin: str) -> Iterator[tuple[TaskInfo, bool]]:
    """(task, whether it came) of the dry run on the node so far, as a plugin was told."""
    span = recording.tree.around(seq, Level.NODE)
    for number in range(seq if span is None else span.first, seq):
        event = recording.event(number)
        if not isinstance(event, HookEvent) or event.plugin != plugin or event.result is not None:
            continue
        if event.point in ("SimulateAddTask", "SimulateRemoveTask"):
            yield task_of(recording, dict(event.subject)["other"]), event.point == "SimulateAddTask"


def preemptive(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """May the queue reclaim for these tasks?"""
    queue, tasks = event.subject[0][1], event.subject[1][1]
    request = requested(recording, tasks)
    title = f"proportion: may queue {queue} reclaim for {', '.join(tasks)}?"
    return _within_deserved(recording, seq, title, queue, request)


def requested(recording: Recording, tasks: Iterable[TaskKey]) -> Resource:
    """What several tasks ask for together."""
    request = Resource()
    for task in tasks:
        request.add(task_of(recording, task).resreq)
    return request


def _within_deserved(recording: Recording, seq: Seq, title: str, queue: QueueName, request: Resource) -> Equation:
    deserved, allocated = _amounts(recording, seq, queue, "deserved", "allocated")
    found = _within(title, allocated, request, deserved, "")
    closed = _closed(recording, queue)
    return replace(found, verdict=False, note=closed) if closed else found


def _within(title: str, allocated: Resource, request: Resource, deserved: Resource, note: str) -> Equation:
    total = allocated.clone().add(request)
    terms = tuple(
        _limited(name, (allocated.get(name), amount, total.get(name), deserved.get(name)), amount, total)
        for name, amount in _dimensions(request, deserved)
    )
    return Equation(title, WITHIN, WITHIN_COLUMNS, "dimension", terms, all_hold(terms), first_failing(terms), note)


def job_enqueueable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Does the queue's limit hold the job's minimum?"""
    uid = event.subject[0][1]
    job = recording.session.jobs[uid]
    queue = job.queue
    allocated, inqueue, elastic, limit = _amounts(
        recording, seq, queue, "allocated", "inqueue", "elastic", "realCapability"
    )
    minimum = job.get_min_resources()
    total = minimum.clone().add(allocated).add(inqueue).sub_without_assert(elastic)
    parts = (minimum, allocated, inqueue, elastic, total, limit)
    terms = tuple(
        _limited(name, tuple(part.get(name) for part in parts), amount, total)
        for name, amount in _dimensions(counted(recording.session, queue, minimum), limit)
    )
    title = f"proportion: does queue {queue} admit {uid}?"
    formula = "min resources + allocated + inqueue − elastic ≤ real capability, in the dimensions of the minimum"
    columns = ("min resources", "allocated", "inqueue", "elastic", "sum", "real capability")
    note = _closed(recording, queue) or _no_minimum(recording, uid)
    permitted = not _closed(recording, queue) and (bool(_no_minimum(recording, uid)) or all_hold(terms))
    verdict = PERMIT if permitted else REJECT
    return Equation(title, formula, columns, "dimension", terms, verdict, first_failing(terms), note)


def cluster_admits(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """overcommit: does the enlarged cluster hold the job's minimum?"""
    uid = event.subject[0][1]
    state = before(recording, seq)
    inqueue, idle = (state.amount(OVERCOMMIT, "", figure) for figure in ("inqueue", "idle"))
    factor = state.figure(OVERCOMMIT, "", "factor")
    minimum = recording.session.jobs[uid].get_min_resources()
    total = inqueue.clone().add(minimum)
    terms = tuple(
        _limited(name, (amount, inqueue.get(name), total.get(name), idle.get(name)), amount, total)
        for name, amount in _dimensions(minimum, idle)
    )
    title = f"overcommit: does the cluster, enlarged {factor:g} times, admit {uid}?"
    formula = "min resources + inqueue ≤ total × factor − used, in the dimensions of the minimum"
    columns = ("min resources", "inqueue", "sum", "overcommitted idle")
    free = _no_minimum(recording, uid)
    verdict = PERMIT if free or all_hold(terms) else REJECT
    return Equation(title, formula, columns, "dimension", terms, verdict, first_failing(terms), free)


def at_most(amount: float, limit: float) -> bool:
    """Upstream's `≤` with its tolerance."""
    return amount < limit or abs(amount - limit) < MIN_RESOURCE


def _amounts(recording: Recording, seq: Seq, queue: QueueName, *figures: str) -> tuple[Resource, ...]:
    state = before(recording, seq)
    return tuple(state.amount(PROPORTION, queue, figure) for figure in figures)


def _dimensions(asked: Resource, limit: Resource) -> list[tuple[str, float]]:
    """Every dimension of either side with the amount asked for."""
    names = [CPU, MEMORY, *sorted({**(asked.scalars or {}), **(limit.scalars or {})})]
    return [(name, asked.get(name)) for name in names]


def _limited(name: str, figures: tuple[float, ...], asked: float, total: Resource) -> Term:
    """Strictly more than the limit fails, without tolerance; only dimensions asked for are judged."""
    if asked <= 0 or (name not in (CPU, MEMORY) and total.scalars is None):
        return Term(name, figures, None, NOT_ASKED)
    if name == PODS:
        return Term(name, figures, None, PODS_IGNORED)
    return Term(name, figures, figures[-2] <= figures[-1])


def _closed(recording: Recording, queue: QueueName) -> str:
    state = recording.session.queues[queue].state
    return "" if state == OPEN else f"the queue's state is {state or 'not set'}, not {OPEN}"


def _no_minimum(recording: Recording, job: JobId) -> str:
    group = recording.session.jobs[job].pod_group
    return "the PodGroup states no minResources" if group.min_resources is None else ""


EQUATIONS: Final[Mapping[tuple[str, str], Callable[[Recording, Seq, HookEvent], Equation]]] = {
    (PROPORTION, "Overused"): overused,
    (PROPORTION, "Allocatable"): allocatable,
    (PROPORTION, "SimulateAllocatable"): simulate_allocatable,
    (PROPORTION, "Preemptive"): preemptive,
    (PROPORTION, "JobEnqueueable"): job_enqueueable,
    (OVERCOMMIT, "JobEnqueueable"): cluster_admits,
}
