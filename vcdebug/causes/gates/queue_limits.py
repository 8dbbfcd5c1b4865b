"""A queue that may not take a task, or reclaim for it: whose limit, by how much, and what would help."""

from __future__ import annotations

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import amount, amounts_apart, listed, plural
from vcdebug.explain import amounts
from vcdebug.explain.amounts import count
from vcdebug.explain.answer import MORE_NODES, Advice, Evidence, Finding, cluster, owner, sharers
from vcdebug.explain.job_view import JobView
from vcdebug.explain.limits import QueueCheck, first_exceeded
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.queue_quota import (
    TREE_PLUGIN,
    all_taken,
    broken_tree,
    by_guarantees,
    fault_of_tree,
    gang_in_all,
    guaranteed,
    open_it,
    quota_of,
    unbound,
    who_counts,
    whole_cluster,
)
from vcdebug.framework import hooks
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.model.queue import OPEN
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.status import allocated_status
from vcdebug.model.task import TaskInfo
from vcdebug.trace.state_before import total

NOT_ALLOCATABLE = "queue-not-allocatable"
OVERUSED = "overused"
PREEMPTIVE = "preemptive"


# What would help


def _more_share(view: JobView, plugin: str, limit: QueueCheck, seq: Seq) -> tuple[Advice, ...]:
    """For a queue whose limit does not hold one more task."""
    if view.queue.state != OPEN:
        return open_it(view)
    if limit.hard:
        wait = owner(f"wait until jobs of queue {limit.queue} end")
        raised = sharers(f"raise spec.capability of queue {limit.queue}")
        return (wait, raised) if _held_by_others(view, limit, seq) else (raised,)
    if not limit.exceeded:
        return owner("use another queue"), cluster(f"look at {plugin}'s arguments and at queue {limit.queue}")
    if whole_cluster(view, limit.check.limit, limit.first):
        if _held_by_others(view, limit, seq):
            return all_taken(view, limit.queue, limit.first)
        total = amount_text.named(limit.first, view.session.total_resource.get(limit.first))
        less = owner(f"ask for less: the whole cluster has {total}, and no other job holds any of it")
        return (less, MORE_NODES)
    keepers = guaranteed(view, plugin, limit, seq)
    if keepers:
        return (sharers(f"lower spec.guarantee of queue {listed(keepers)}"), MORE_NODES)
    unread = plugin != TREE_PLUGIN and view.queue.deserved
    other = (cluster(f"put {TREE_PLUGIN} in the place of {plugin}: it reads spec.deserved"),) if unread else ()
    return (*quota_of(plugin).larger(view), *other)


# Allocation


def overused(view: JobView, action: str) -> Finding | None:
    """None unless the action passed the job by because its queue is overused."""
    if view.action_starts(action) is None or any(visit.tries for visit in view.visits_of(action)):
        return None
    asked = view.during(action, hooks.OVERUSED.upstream, "queue", view.queue.name)
    answers = [(seq, event) for seq, event in asked if event.result]
    return _overused(view, action, *answers[-1]) if answers else None


def overused_in_allocate(view: JobView) -> Finding | None:
    """Whether allocate passed the job by."""
    return overused(view, ALLOCATE)


def _overused(view: JobView, action: str, seq: Seq, event: HookEvent) -> Finding:
    state, queue = view.recording.timeline.state_at(seq - 1), view.queue
    allocated, deserved = (state.amount(event.plugin, queue.name, figure) for figure in ("allocated", "deserved"))
    lines = tuple(
        f"{name}: allocated {held} of deserved {least}"
        for name in deserved.resource_names()
        for held, least in [amounts_apart(name, allocated.get(name), deserved.get(name))]
    )
    names = [name for name in deserved.resource_names() if name != PODS]
    by_weight = deserved.is_empty() and event.plugin != TREE_PLUGIN
    sentence = (
        f"{action} leaves {view.job.uid} out: its queue {queue.name} is overused, it holds "
        f"{amount_text.resource(allocated, names or None)} and deserves {amount_text.resource(deserved)}"
        f"{f' (its weight is {queue.weight})' if by_weight else ''}."
    )
    numbers = {**amounts.numbers("queue.allocated", allocated), **amounts.numbers("queue.deserved", deserved)}
    evidence = (Evidence(seq, f"{event.plugin} calls queue {queue.name} overused"),)
    whole = [name for name, value in deserved.items() if value > 0 and whole_cluster(view, deserved, name)]
    advice = all_taken(view, queue.name, whole[0]) if whole else quota_of(event.plugin).larger(view)
    return Finding(OVERUSED, sentence, numbers, evidence, advice, lines)


def refusals(view: JobView) -> list[tuple[Seq, HookEvent]]:
    """Allocatable's refusals when allocate tried the job's tasks."""
    answers = (hook for attempt in view.placing_tries for hook in attempt.hooks(hooks.ALLOCATABLE.upstream))
    return [(seq, event) for seq, event in answers if not event.result]


def room_limit(view: JobView, plugin: str, seq: Seq, request: Resource) -> QueueCheck:
    """The queue, or the ancestor, that does not hold a request; of a queue that is not Open nothing is exceeded."""
    limit = first_exceeded(quota_of(plugin).room(view.recording, seq, view.queue.name, request))
    return limit if view.queue.state == OPEN else limit.unjudged()


def not_allocatable(
    view: JobView, task: TaskInfo, fits: NodeFits, seq: Seq, event: HookEvent, *, after: str = ""
) -> Finding:
    """The queue may not take the task; `after` says whose evictions would have made room."""
    broken = broken_tree(view, seq, event.plugin)
    if broken is not None:
        return broken
    quota = quota_of(event.plugin)
    limit = room_limit(view, event.plugin, seq, task.resreq)
    alone = larger_than_limit(view, limit)
    have = "has" if len(fits.free) == 1 else "have"
    free = f"{plural(len(fits.free), 'node')} {have} room for {task.name}, but " if fits.free else after
    numbers = {
        **amounts.numbers("request", task.resreq),
        **amounts.numbers("queue.allocated", limit.check.taken, limit.exceeded),
        **amounts.numbers(f"queue.{limit.figure}", limit.check.limit, limit.exceeded),
        **limit.short(),
        "nodes.free": count(len(fits.free), "nodes"),
    }
    evidence = (Evidence(seq, f"{event.plugin}: queue {view.queue.name} may not allocate {task.key}"),)
    holds = "then holds" if after and not fits.free else "holds"
    sentence = _sentence(view, task, free, event.plugin, limit, holds)
    sentence += who_counts(view, seq, event.plugin, limit) + by_guarantees(view, event.plugin, limit, seq)
    if gang := gang_in_all(view, limit):
        never = f", where {limit.limit_of(limit.first)} is all there may be"
        sentence += gang + (never if limit.hard and not alone else "")
    if alone:
        asks, has = limit.request_of(alone), limit.limit_of(alone)
        helps = "no waiting, no eviction and no node can help"
        sentence += f"; {task.name} alone asks {asks} where {has} is all there may be: {helps}"
    rounds = () if limit.hard else quota.derivation(view.recording, limit.queue, limit.first)
    advice = _larger_limit(limit, alone) if alone else _more_share(view, event.plugin, limit, seq)
    return Finding(NOT_ALLOCATABLE, f"{sentence}.", numbers, evidence, advice, (*limit.lines(), *rounds))


def larger_than_limit(view: JobView, limit: QueueCheck) -> str:
    """The dimension in which one request alone exceeds what the queue may ever have; empty where none does."""
    request, most = limit.check.request, limit.check.limit
    for name in limit.exceeded:
        firm = limit.hard or whole_cluster(view, most, name)
        if firm and request.get(name) > most.get(name):
            return name
    return ""


def _larger_limit(limit: QueueCheck, name: str) -> tuple[Advice, ...]:
    wanted = amount_text.named(name, limit.check.request.get(name))
    if not limit.hard:
        return owner(f"ask for less than {wanted} in one pod: the whole cluster has less"), MORE_NODES
    more = sharers(f"raise spec.capability of queue {limit.queue} to {wanted} or more")
    return owner("ask for less in one pod, or use another queue"), more


def never_allocatable(view: JobView) -> tuple[Seq, HookEvent] | None:
    """The refusal of a pod that alone is more than its queue may ever have, and without which the gang is too small."""
    held, waiting = view.job.ready_task_num(), unbound(view)
    refused = refusals(view) if not fault_of_tree(view.recording) else []
    for seq, event in refused:
        task = view.tasks.get(event.task)
        if task is None or held + len(waiting) - 1 >= view.job.min_available > held:
            continue
        limit = room_limit(view, event.plugin, seq, task.resreq)
        if larger_than_limit(view, limit) or (limit.hard and gang_in_all(view, limit)):
            return seq, event
    return None


def _held_by_others(view: JobView, limit: QueueCheck, seq: Seq) -> bool:
    """Whether anybody but the job itself holds what the queue lacks: nobody else's end can give it back."""
    tasks, left = view.recording.timeline.state_at(seq - 1).tasks, limit.check.taken.get(limit.first)
    for key, task in view.tasks.items():
        left -= task.resreq.get(limit.first) if allocated_status(tasks[key].status) else 0.0
    return left > 0


def _sentence(view: JobView, task: TaskInfo, but: str, plugin: str, limit: QueueCheck, holds: str) -> str:
    where = f"{but}q" if but else "Q"
    if not limit.exceeded:
        state = view.queue.state or "without a state"
        reason = "says no" if state == OPEN else "lets only Open queues allocate"
        return f"{where}ueue {view.queue.name} ({state}) may not allocate {task.name}: {plugin} {reason}"
    name = limit.first
    above = "" if limit.queue == view.queue.name else f": its ancestor {limit.queue}"
    return (
        f"{where}ueue {view.queue.name} may not allocate {task.name}{above or ': it'} {holds} "
        f"{limit.taken_of(name)} of {limit.limit_of(name)} ({_kind(view, plugin, limit)}), and "
        f"{amount(name, task.resreq.get(name))} more is {limit.over(name)} over{limit.beside()}"
    )


def _kind(view: JobView, plugin: str, limit: QueueCheck) -> str:
    """What sort of limit it is, and what the queue's own spec says where the plugin does not read it."""
    if limit.hard:
        return "capability"
    if limit.figure != "deserved":
        return "real capability"
    name, stated = limit.first, Resource.from_list(view.queue.deserved or {})
    if plugin == TREE_PLUGIN or stated.get(name) <= 0:
        return "deserved amount"
    return f"deserved by weight; {plugin} does not read spec.deserved, {amount(name, stated.get(name))}"


# Reclaim


def not_preemptive(view: JobView, task: TaskInfo, seq: Seq, event: HookEvent) -> Finding:
    """The queue asks for more than it deserves, or may hold."""
    broken = broken_tree(view, seq, event.plugin)
    if broken is not None:
        return broken
    asked = [view.tasks[key] for key in event.candidates if key in view.tasks] or [task]
    who = asked[0].name if len(asked) == 1 else f"{plural(len(asked), 'pod')} at once"
    request = total(each.resreq for each in asked)
    evidence = (Evidence(seq, f"{event.plugin}: queue {view.queue.name} is not entitled to more (Preemptive false)"),)
    refused = f"Queue {view.queue.name} may not reclaim for {who}"
    if view.queue.state != OPEN:
        state = view.queue.state or "without a state"
        sentence = f"{refused}: it is {state}, and {event.plugin} lets only Open queues reclaim."
        return Finding(PREEMPTIVE, sentence, {}, evidence, open_it(view))
    quota = quota_of(event.plugin)
    limited = quota.reclaims_within_limit(view.recording)
    levels = quota.room(view.recording, seq, view.queue.name, request) if limited else []
    if levels and levels[0].exceeded:
        return _beyond_capability(view, refused, levels[0], event, evidence)
    return _beyond_deserved(view, refused, seq, request, event, evidence)


def _beyond_capability(
    view: JobView, refused: str, limit: QueueCheck, event: HookEvent, evidence: tuple[Evidence, ...]
) -> Finding:
    """What the queue would hold is more than it may ever hold."""
    name = limit.first
    then = limit.total_of(name)
    sentence = (
        f"{refused}: with that it would hold {then} of {limit.limit_of(name)} "
        f"({_kind(view, event.plugin, limit)}), so {event.plugin} says no{limit.beside()}."
    )
    advice = _more_share(view, event.plugin, limit, evidence[0].seq)
    return Finding(PREEMPTIVE, sentence, limit.numbers(), evidence, advice, limit.lines())


def _beyond_deserved(
    view: JobView, refused: str, seq: Seq, request: Resource, event: HookEvent, evidence: tuple[Evidence, ...]
) -> Finding:
    """What the queue would hold is more than it deserves."""
    quota, queue = quota_of(event.plugin), view.queue
    claim = quota.claim(view.recording, seq, queue.name, request)
    names, taken, deserved = claim.exceeded, claim.check.taken, claim.check.limit
    lines = tuple(
        f"{n}: allocated {held} + request {asked} > deserved {least}"
        for n in names
        for held, asked, least in [amounts_apart(n, taken.get(n), request.get(n), deserved.get(n))]
    )
    over = ", ".join(f"{claim.total_of(n)} of {claim.limit_of(n)}" for n in names)
    sentence = (
        f"{refused}: with that it would hold {over or 'too much'} that "
        f"it deserves{_weight(view, event.plugin)}, so {event.plugin} says no."
    )
    numbers = {
        **amounts.numbers("request", request),
        **amounts.numbers("queue.allocated", taken, names),
        **amounts.numbers("queue.deserved", deserved, names),
        **claim.short(),
        "queue.weight": count(queue.weight, ""),
    }
    advice = (owner("ask for less at once"), *quota.larger(view))
    rounds = tuple(line for n in names[:1] for line in quota.derivation(view.recording, queue.name, n))
    return Finding(PREEMPTIVE, sentence, numbers, evidence, advice, (*lines, *rounds))


def _weight(view: JobView, plugin: str) -> str:
    """The queue's weight among the queues that have jobs: only they share the cluster."""
    if plugin == TREE_PLUGIN:
        return ""
    names = dict.fromkeys(job.queue for job in view.session.jobs.values())
    weights = [view.session.queues[name].weight for name in names]
    return f" (weight {view.queue.weight} of {sum(weights)})"
