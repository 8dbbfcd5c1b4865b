"""gangpreempt and gangreclaim: they look for victims in a whole domain, and evict only for the whole gang."""

from __future__ import annotations

from vcdebug.explain import amounts
from vcdebug.explain.amounts import count, listed, plural
from vcdebug.explain.answer import Evidence, Finding, Number
from vcdebug.explain.case import Case
from vcdebug.explain.gates import entitlement, quota, veto
from vcdebug.explain.gates.filtering import NOT_PREEMPTABLE, NOT_RECLAIMABLE
from vcdebug.explain.visits import Visit
from vcdebug.explain.votes import question
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo

GANG_ACTIONS = ("gangpreempt", "gangreclaim")
POINT = "UnifiedEvictable"
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
    where = "of its own queue" if visit.action == "gangpreempt" else "of other, reclaimable queues"
    sentence = f"{visit.action} finds nobody it may evict for {who}: no candidate among the running jobs {where}."
    closed = _unreclaimable(case) if visit.action == "gangreclaim" else []
    if closed:
        verb = "is" if len(closed) == 1 else "are"
        advice: tuple[str, ...] = (f"set spec.reclaimable of queue {listed(closed)} to true",)
        sentence = f"{sentence[:-1]}, and {listed(closed)} {verb} not reclaimable."
        return Finding(NOT_RECLAIMABLE, sentence, amounts.numbers("request", need), _discard(visit), advice)
    advice = ("see who runs where: the action takes only preemptable pods, and only from those jobs",)
    return Finding(NOT_PREEMPTABLE, sentence, amounts.numbers("request", need), _discard(visit), advice)


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
