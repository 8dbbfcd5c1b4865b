"""gangpreempt and gangreclaim: they look for victims in a whole domain, and evict only for the whole gang."""

from __future__ import annotations

from vcdebug.explain import amounts
from vcdebug.explain.amounts import count, listed, plural
from vcdebug.explain.answer import Evidence, Finding, Number
from vcdebug.explain.case import Case
from vcdebug.explain.gates import entitlement, quota, veto
from vcdebug.explain.gates.filtering import (
    NOT_PREEMPTABLE,
    NOT_RECLAIMABLE,
    filter_advice,
    objection_lines,
    ranked,
    told,
)
from vcdebug.explain.room import Room
from vcdebug.explain.visits import Visit
from vcdebug.explain.votes import question
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.pod import PREEMPTABLE_KEY
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo

GANG_ACTIONS = ("gangpreempt", "gangreclaim")
POINT = "UnifiedEvictable"
LIKE = {"gangpreempt": "preempt", "gangreclaim": "reclaim"}
"""The action whose filter begins alike."""
NOT_ENOUGH = "gang-discard"


def gang_evicting(case: Case, action: str, task: TaskInfo) -> Finding | None:
    """What stopped the action; None if it never ran or never came to the job."""
    if case.action_starts(action) is None:
        return None
    visits = [visit for visit in case.visits_of(action) if visit.end is not None]
    if not visits:
        return quota.overused(case, action) or entitlement.not_starving(case, action, task)
    visit = visits[-1]
    refused = [(seq, event) for seq, event in visit.hooks("Preemptive") if not event.result]
    if refused:
        return entitlement.not_preemptive(case, task, *refused[-1])
    votes = visit.hooks(POINT)
    return _votes(case, visit, votes) if votes else _no_candidates(case, visit)


def _wanted(case: Case) -> tuple[str, Resource]:
    need = Resource()
    for task in case.left_over:
        need.add(task.init_resreq)
    return f"the {plural(len(case.left_over), 'pod')} of {case.job.uid} ({amounts.resource(need)})", need


def _discard(visit: Visit) -> tuple[Evidence, ...]:
    return (Evidence(visit.end[0], f"{visit.action} discards an empty statement"),) if visit.end is not None else ()


def _no_candidates(case: Case, visit: Visit) -> Finding:
    who, need = _wanted(case)
    order = ranked(_objections(case, visit))
    pods = sum(len(keys) for _, keys in order)  # exact: ints
    sentence = f"{visit.action} finds nobody it may evict for {who}: of {plural(pods, 'pod')}, {told(order)}."
    numbers = {**amounts.numbers("request", need), "pods.onNodes": count(pods, "pods")}
    closed = _unreclaimable(case) if visit.action == "gangreclaim" else []
    if closed:
        verb = "is" if len(closed) == 1 else "are"
        advice: tuple[str, ...] = (f"set spec.reclaimable of queue {listed(closed)} to true",)
        sentence = f"{sentence[:-1]}; {listed(closed)} {verb} not reclaimable."
        return Finding(NOT_RECLAIMABLE, sentence, numbers, _discard(visit), advice, objection_lines(order))
    advice = filter_advice(NOT_PREEMPTABLE, order)
    return Finding(NOT_PREEMPTABLE, sentence, numbers, _discard(visit), advice, objection_lines(order))


def _objections(case: Case, visit: Visit) -> dict[str, list[TaskKey]]:
    """Reason → pods on the nodes that the action's own filter leaves alone."""
    room = Room(case, case.left_over[0] if case.left_over else next(iter(case.tasks.values())), visit.first)
    found: dict[str, list[TaskKey]] = {}
    for name in case.session.nodes:
        for victim in room.tasks_on(name):
            reason = room.objection(LIKE[visit.action], victim) or _own_objection(case, visit.action, victim)
            found.setdefault(reason, []).append(victim.key)
    return found


def _own_objection(case: Case, action: str, victim: TaskInfo) -> str:
    """What only the gang actions ask: the victim's PodGroup, and within a queue its priority."""
    owner = case.session.jobs[victim.job]
    if not owner.preemptable and PREEMPTABLE_KEY in {**owner.pod_group.annotations, **owner.pod_group.labels}:
        return "of a PodGroup with volcano.sh/preemptable false"
    if action == "gangpreempt" and owner.priority >= case.job.priority:
        return "of jobs whose priority is not lower"
    return "outside every domain that the job may use"


def _unreclaimable(case: Case) -> list[str]:
    """The other queues with jobs, if none of them is reclaimable."""
    names = dict.fromkeys(job.queue for job in case.session.jobs.values() if job.queue != case.queue.name)
    return [] if any(case.session.queues[name].reclaimable for name in names) else list(names)


def _votes(case: Case, visit: Visit, votes: list[tuple[Seq, HookEvent]]) -> Finding:
    seq, event = votes[-1]
    asked = question(case.recording, seq)
    offered = tuple(dict(event.subject)["candidates"])
    allowed = tuple(asked.outcome or ()) if asked is not None else ()
    who, need = _wanted(case)
    numbers = {
        **amounts.numbers("request", need),
        "candidates": count(len(offered), "pods"),
        "victims": count(len(allowed), "pods"),
    }
    evidence = (
        *(Evidence(s, f"{e.plugin} allows {len(e.result or ())} of {len(offered)}") for s, e in votes[-3:]),
        *_discard(visit),
    )
    if not allowed:
        return _vetoed(case, visit, event, offered, numbers, evidence)
    sentence = (
        f"{visit.action} may evict {len(allowed)} of {plural(len(offered), 'candidate')} for {who}, and even without "
        f"them no domain has room for all of the gang, so nobody is evicted."
    )
    advice = ("lower minMember, or free room for the whole gang in one domain",)
    lines = (f"may be evicted: {listed(allowed, 8)}",)
    return Finding(NOT_ENOUGH, sentence, numbers, evidence, advice, lines)


def _vetoed(
    case: Case,
    visit: Visit,
    event: HookEvent,
    offered: tuple[str, ...],
    numbers: dict[str, Number],
    evidence: tuple[Evidence, ...],
) -> Finding:
    who, _ = _wanted(case)
    sentence = f"{visit.action} may evict nobody for {who}: {event.plugin} allows none of {listed(offered)}."
    quota_veto = visit.action == "gangreclaim" and event.plugin in veto.QUOTA_PLUGINS
    cause = veto.NOT_ABOVE_DESERVED if quota_veto else event.plugin
    advice = (f"look at plugin {event.plugin}: its enable{POINT} switch, or what protects these pods",)
    return Finding(cause, sentence, numbers, evidence, advice)
