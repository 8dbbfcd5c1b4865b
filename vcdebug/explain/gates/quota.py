"""May the queue allocate more? Overused drops a queue, Allocatable drops a task."""

from __future__ import annotations

from vcdebug.explain import amounts
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.case import Case
from vcdebug.explain.room import Room
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo

NOT_ALLOCATABLE = "queue-not-allocatable"
OVERUSED = "overused"


def overused(case: Case, action: str) -> Finding | None:
    """None unless the action passed the job by because its queue is overused."""
    start, end = case.action_starts(action), case.action_ends(action)
    if start is None or any(visit.tries for visit in case.visits_of(action)):
        return None
    answers = case.hooks("Overused", "queue", case.queue.name)
    within = [(s, e) for s, e in answers if s > start and (end is None or s < end) and e.result]
    return _overused(case, action, *within[-1]) if within else None


def _overused(case: Case, action: str, seq: Seq, event: HookEvent) -> Finding:
    state = case.recording.timeline.state_at(seq - 1)
    allocated = state.amount(event.plugin, case.queue.name, "allocated")
    deserved = state.amount(event.plugin, case.queue.name, "deserved")
    lines = tuple(
        f"{name}: allocated {amounts.amount(name, allocated.get(name))} of deserved "
        f"{amounts.amount(name, deserved.get(name))}"
        for name in deserved.resource_names()
    )
    sentence = (
        f"{action} leaves {case.job.uid} out: its queue {case.queue.name} is overused, it holds "
        f"{amounts.resource(allocated, deserved.resource_names())} and deserves {amounts.resource(deserved)}."
    )
    numbers = {
        **amounts.numbers("queue.allocated", allocated),
        **amounts.numbers("queue.deserved", deserved),
    }
    evidence = (Evidence(seq, f"{event.plugin} calls queue {case.queue.name} overused"),)
    return Finding(OVERUSED, sentence, numbers, evidence, _more_share(case), lines)


def refusals(case: Case) -> list[tuple[Seq, HookEvent]]:
    """Allocatable's refusals when allocate tried the job's tasks."""
    hooks = (hook for attempt in case.placing_tries for hook in attempt.hooks("Allocatable"))
    return [(seq, event) for seq, event in hooks if not event.result]


def not_allocatable(case: Case, task: TaskInfo, room: Room, seq: Seq, event: HookEvent, *, after: str = "") -> Finding:
    """The queue may not take the task; `after` says whose evictions would have made room."""
    state = case.recording.timeline.state_at(seq - 1)
    queue = case.queue
    allocated = state.amount(event.plugin, queue.name, "allocated")
    deserved = state.amount(event.plugin, queue.name, "deserved")
    request = task.resreq
    names = allocated.clone().add(request).less_equal_with_dimension_and_resources_name(deserved, request)[1]
    lines = tuple(
        f"{name}: allocated {amounts.amount(name, allocated.get(name))} + request "
        f"{amounts.amount(name, request.get(name))} > deserved {amounts.amount(name, deserved.get(name))}"
        for name in names
    )
    have = "has" if len(room.free) == 1 else "have"
    free = f"{amounts.plural(len(room.free), 'node')} {have} room for {task.name}, but " if room.free else after
    sentence = _sentence(case, task, free, event.plugin, names, allocated, deserved)
    numbers = {
        **amounts.numbers("request", request),
        **amounts.numbers("queue.allocated", allocated, names),
        **amounts.numbers("queue.deserved", deserved, names),
        **{f"short.{n}": amounts.number(n, allocated.get(n) + request.get(n) - deserved.get(n)) for n in names},
        "nodes.free": amounts.count(len(room.free), "nodes"),
    }
    evidence = (Evidence(seq, f"{event.plugin}: queue {queue.name} may not allocate {task.key}"),)
    return Finding(NOT_ALLOCATABLE, sentence, numbers, evidence, _more_share(case), lines)


def _sentence(
    case: Case, task: TaskInfo, but: str, plugin: str, names: list[str], allocated: Resource, deserved: Resource
) -> str:
    where = f"{but}q" if but else "Q"
    if not names:
        state = case.queue.state or "without a state"
        return f"{where}ueue {case.queue.name} ({state}) may not allocate {task.name}: {plugin} says no."
    name = names[0]
    over = allocated.get(name) + task.resreq.get(name) - deserved.get(name)
    kind = "capability" if case.queue.capability and _at_capability(case, deserved, name) else "deserved amount"
    return (
        f"{where}ueue {case.queue.name} may not allocate {task.name}: it holds "
        f"{amounts.amount(name, allocated.get(name))} of {amounts.named(name, deserved.get(name))} ({kind}), and "
        f"{amounts.amount(name, task.resreq.get(name))} more is {amounts.amount(name, over)} over."
    )


def _at_capability(case: Case, deserved: Resource, name: str) -> bool:
    return Resource.from_list(case.queue.capability or {}).get(name) == deserved.get(name)


def _more_share(case: Case) -> tuple[str, ...]:
    queue = case.queue
    if queue.capability:
        return (f"raise spec.capability of queue {queue.name}, or wait until its own jobs end",)
    return (f"raise spec.weight ({queue.weight}) or spec.capability of queue {queue.name}, or use another queue",)
