"""May the queue allocate more? Overused drops a queue, Allocatable drops a task."""

from __future__ import annotations

from vcdebug.explain import amounts
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.case import Case
from vcdebug.explain.gates.derivation import dealt_lines
from vcdebug.explain.gates.limits import Limit, allocate_limit
from vcdebug.explain.gates.share import all_taken, larger_entitlement, more_share, whole_cluster
from vcdebug.explain.gates.spoilt_tree import spoilt_tree
from vcdebug.explain.room import Room
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.model.queue import OPEN
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import TaskInfo

NOT_ALLOCATABLE = "queue-not-allocatable"
OVERUSED = "overused"
PROPORTION = "proportion"


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
    names = [name for name in deserved.resource_names() if name != PODS]
    weight = f" (its weight is {case.queue.weight})" if deserved.is_empty() and event.plugin == PROPORTION else ""
    sentence = (
        f"{action} leaves {case.job.uid} out: its queue {case.queue.name} is overused, it holds "
        f"{amounts.resource(allocated, names or None)} and deserves "
        f"{amounts.resource(deserved)}{weight}."
    )
    numbers = {
        **amounts.numbers("queue.allocated", allocated),
        **amounts.numbers("queue.deserved", deserved),
    }
    evidence = (Evidence(seq, f"{event.plugin} calls queue {case.queue.name} overused"),)
    return Finding(OVERUSED, sentence, numbers, evidence, _overused_advice(case, event.plugin, deserved), lines)


def _overused_advice(case: Case, plugin: str, deserved: Resource) -> tuple[str, ...]:
    whole = [name for name, value in deserved.items() if value > 0 and whole_cluster(case, deserved, name)]
    return (all_taken(case, case.queue.name, whole[0]) if whole else larger_entitlement(case, plugin),)


def refusals(case: Case) -> list[tuple[Seq, HookEvent]]:
    """Allocatable's refusals when allocate tried the job's tasks."""
    hooks = (hook for attempt in case.placing_tries for hook in attempt.hooks("Allocatable"))
    return [(seq, event) for seq, event in hooks if not event.result]


def not_allocatable(case: Case, task: TaskInfo, room: Room, seq: Seq, event: HookEvent, *, after: str = "") -> Finding:
    """The queue may not take the task; `after` says whose evictions would have made room."""
    spoilt = spoilt_tree(case, seq, event.plugin)
    if spoilt is not None:
        return spoilt
    limit = allocate_limit(case, event.plugin, seq, task.resreq)
    have = "has" if len(room.free) == 1 else "have"
    free = f"{amounts.plural(len(room.free), 'node')} {have} room for {task.name}, but " if room.free else after
    numbers = {
        **amounts.numbers("request", task.resreq),
        **amounts.numbers("queue.allocated", limit.taken, limit.exceeded),
        **amounts.numbers(f"queue.{limit.figure}", limit.limit, limit.exceeded),
        **{f"short.{name}": amounts.number(name, limit.over(name)) for name in limit.exceeded},
        "nodes.free": amounts.count(len(room.free), "nodes"),
    }
    evidence = (Evidence(seq, f"{event.plugin}: queue {case.queue.name} may not allocate {task.key}"),)
    holds = "then holds" if after and not room.free else "holds"
    sentence = _sentence(case, task, free, event.plugin, limit, holds)
    rounds = () if limit.hard else dealt_lines(case, event.plugin, limit.queue, limit.first)
    lines = (*limit.lines(), *rounds)
    return Finding(NOT_ALLOCATABLE, sentence, numbers, evidence, more_share(case, event.plugin, limit), lines)


def _sentence(case: Case, task: TaskInfo, but: str, plugin: str, limit: Limit, holds: str) -> str:
    where = f"{but}q" if but else "Q"
    if not limit.exceeded:
        state = case.queue.state or "without a state"
        reason = "says no" if state == OPEN else "lets only Open queues allocate"
        return f"{where}ueue {case.queue.name} ({state}) may not allocate {task.name}: {plugin} {reason}."
    name = limit.first
    kind = (
        "capability"
        if limit.hard
        else _deserved(case, plugin, name)
        if limit.figure == "deserved"
        else "real capability"
    )
    above = "" if limit.queue == case.queue.name else f": its ancestor {limit.queue}"
    return (
        f"{where}ueue {case.queue.name} may not allocate {task.name}{above or ': it'} {holds} "
        f"{amounts.amount(name, limit.taken.get(name))} of {amounts.named(name, limit.limit.get(name))} ({kind}), and "
        f"{amounts.amount(name, task.resreq.get(name))} more is {amounts.amount(name, limit.over(name))} over"
        f"{limit.beside()}."
    )


def _deserved(case: Case, plugin: str, name: str) -> str:
    """`deserved amount`, and what the queue's own spec says where the plugin does not read it."""
    stated = Resource.from_list(case.queue.deserved or {})
    if plugin != PROPORTION or stated.get(name) <= 0:
        return "deserved amount"
    return f"deserved by weight; {plugin} does not read spec.deserved, {amounts.amount(name, stated.get(name))}"
