"""gangpreempt and gangreclaim: they look for victims in a whole domain, and evict only for the whole gang."""

from collections.abc import Collection, Iterator

from vcdebug import amount_text
from vcdebug.amount_text import count_noun, join_names, verb_for
from vcdebug.explain import answer, predicate_reasons
from vcdebug.explain.decisions.votes import hook_calls_at
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.gates import queue_limits
from vcdebug.explain.pending.gates.eviction import Gate, GateChance, entitlement, veto
from vcdebug.explain.plugins import gang
from vcdebug.explain.victim_candidates import SkippedVictim, gang_victim_filter, rank_objections, skipped_victim
from vcdebug.framework.action import NOT_RECLAIMABLE
from vcdebug.framework.hooks import ALLOCATABLE, PRE_PREDICATE, PREEMPTIVE, UNIFIED_EVICTABLE
from vcdebug.framework.record import HookEvent, PredicateEvent
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.recording.state_before import sum_resources
from vcdebug.recording.visits import JobVisit

UNIFIED_POINT = UNIFIED_EVICTABLE.upstream
OUTSIDE_DOMAINS = SkippedVictim("", "outside every HyperNode that the job may use")


def gates_of_gangs(view: JobView, task: TaskInfo, room: NodeFits) -> Iterator[Gate]:
    """The actions that evict for a whole gang."""
    for action in dict.fromkeys(view.actions):
        finding = gang_eviction_finding(view, action, task) if view.facts_of(action).evicts_by_gang else None
        if finding is not None:
            yield Gate(action, GateChance.REAL, finding)


def gang_eviction_finding(view: JobView, action: str, task: TaskInfo) -> answer.Finding | None:
    """What stopped the action; None if it never ran or never came to the job."""
    if view.action_starts(action) is None:
        return None
    visits = [visit for visit in view.visits_of(action) if visit.end is not None]
    if not visits:
        return queue_limits.overused_finding(view, action) or entitlement.not_starving_finding(view, action, task)
    visit = visits[-1]
    # The action can also commit an empty statement when it finds no plan.
    if visit.was_committed and visit.planned_tasks:
        return None
    if refused := visit.refusals(PREEMPTIVE.upstream):
        return queue_limits.not_preemptive_finding(view, task, *refused[-1])
    votes = visit.visit_calls(UNIFIED_POINT)
    return _votes_finding(view, visit, votes) if votes else _no_candidates_finding(view, visit)


def _wanted_words(view: JobView) -> tuple[str, Resource]:
    need = sum_resources(task.init_resreq for task in view.left_over)
    return f"its {count_noun(len(view.left_over), 'pod')} ({amount_text.format_resource(need)})", need


def _statement_evidence(visit: JobVisit) -> tuple[answer.Evidence, ...]:
    """How the action left the job: with a statement that does nothing, or one that is undone."""
    assert visit.end is not None
    seq, statement = visit.end
    what = count_noun(len(statement.ops), "operation") if statement.ops else "an empty statement"
    return answer.proof_of(seq, f"{visit.action} {'commits' if visit.was_committed else 'discards'} {what}")


def _no_candidates_finding(view: JobView, visit: JobVisit) -> answer.Finding:
    who, need = _wanted_words(view)
    order = rank_objections(_skipped_victims(view, visit))
    pods = sum(len(keys) for _, keys in order)  # exact: ints
    facts = [f"{count_noun(pods, 'running pod')}: {veto.format_objections(order)}."]
    numbers = {**answer.numbers("request", need), "pods.onNodes": answer.count(pods, "pods")}
    closed = _unreclaimable_queues(view) if any(why.rule == NOT_RECLAIMABLE for why, _ in order) else []
    cause, advice = veto.KEPT, veto.filter_advice(view, veto.KEPT, order)
    if closed:
        cause = veto.UNRECLAIMABLE
        advice = (answer.queue_admin_advice(f"Queue {join_names(closed)}: set spec.reclaimable to true."),)
        facts.append(f"{join_names(closed)} {verb_for(len(closed), 'has')} spec.reclaimable: false.")
    headline = answer.pending_headline(view.job.uid, f"{visit.action} has no candidate victim for {who}")
    lines = veto.objection_lines(order)
    return answer.Finding(cause, headline, numbers, _statement_evidence(visit), advice, lines, tuple(facts))


def _skipped_victims(view: JobView, visit: JobVisit) -> Iterator[tuple[SkippedVictim, list[TaskInfo]]]:
    """Pods on nodes with the rule by which the action's own filter skips them."""
    recording, spares = view.recording, gang_victim_filter(view.recording, visit.action, view.job.uid)
    room = NodeFits(view, next(iter(view.tasks.values())), visit.first)
    for name in view.session.nodes:
        for victim in room.tasks_on(name):
            # A pod that passes the filter and yet was no candidate can only be outside the domains of the job.
            yield skipped_victim(recording, spares, victim) or OUTSIDE_DOMAINS, [victim]


def _unreclaimable_queues(view: JobView) -> list[str]:
    """The other queues with jobs, if none of them is reclaimable."""
    names = dict.fromkeys(job.queue for job in view.session.jobs.values() if job.queue != view.queue.name)
    return [] if any(view.session.queues[name].reclaimable for name in names) else list(names)


def _votes_finding(view: JobView, visit: JobVisit, votes: list[tuple[Seq, HookEvent]]) -> answer.Finding:
    seq, event = votes[-1]
    asked, offered = hook_calls_at(view.recording, seq), event.candidates
    allowed = tuple(asked.outcome or ()) if asked is not None else ()
    who, need = _wanted_words(view)
    numbers = {
        **answer.numbers("request", need),
        "candidates": answer.count(len(offered), "pods"),
        "victims": answer.count(len(allowed), "pods"),
    }
    evidence = (
        *(answer.Evidence(s, f"{e.plugin} allows {len(e.result or ())} of {len(offered)}") for s, e in votes[-3:]),
        *_statement_evidence(visit),
    )
    if not allowed:
        plugin = _emptying_plugin(votes, offered)
        reason = (
            f"{visit.action} may evict no pod for {who}; {plugin} leaves no candidate victim that every plugin allows"
        )
        quota_veto = view.facts_of(visit.action).across_queues and plugin in veto.QUOTA_PLUGINS
        cause = veto.NOT_ABOVE_DESERVED if quota_veto else plugin
        look = answer.cluster_admin_advice(
            f"Check plugin {plugin}: its enable{UNIFIED_POINT} switch, or what protects these pods."
        )
        facts: tuple[str, ...] = (f"{count_noun(len(offered), 'candidate victim')}: {join_names(offered)}.",)
        return answer.Finding(
            cause, answer.pending_headline(view.job.uid, reason), numbers, evidence, (look,), facts=facts
        )
    trial = _failed_plan_words(view, visit)
    why, proof = trial or ("Evicting all of them in one domain would not free enough for the whole gang", ())
    some = f"{len(allowed)} of {len(offered)} candidate victims"
    every = some if len(allowed) < len(offered) else veto.every_victim(len(offered))
    reason = f"{visit.action} may evict {every}, too few to make room for {who}"
    advice = (
        answer.owner_advice("Lower spec.minMember."),
        answer.queue_admin_advice("Free room for the whole gang in one domain."),
    )
    lines = (f"allowed victims: {join_names(allowed, 8)}",)
    headline, all_evidence = answer.pending_headline(view.job.uid, reason), tuple(sorted((*evidence, *proof)))
    facts = (f"{why}.", "No pod is evicted.")
    return answer.Finding(gang.DISCARD_CAUSE, headline, numbers, all_evidence, advice, lines, facts)


def _emptying_plugin(votes: list[tuple[Seq, HookEvent]], offered: Collection[TaskKey]) -> str:
    """The plugin whose answer left no victim that all plugins asked before it allow."""
    left, first = set(offered), next((at for at, (_, e) in enumerate(votes) if e.candidates == votes[-1][1].candidates))
    for _, event in votes[first:]:
        left &= set(event.result or ())
        if not left:
            return event.plugin
    return votes[-1][1].plugin


def _failed_plan_words(view: JobView, visit: JobVisit) -> tuple[str, tuple[answer.Evidence, ...]] | None:
    """What stopped the last plan that was tried with victims gone, and the event that shows it."""
    # The last refusal belongs to the plan with the most victims; earlier plans failed for fewer of them.
    for seq, event in reversed(visit.events):
        name = getattr(event, "task", "").rpartition("/")[2]
        if isinstance(event, PredicateEvent) and not len(event.feasible):
            where = count_noun(event.processed, "node")
            found = predicate_reasons.refusal_histogram(view.recording, event)
            reasons = ", ".join(f"{len(names)} {reason}" for reason, names in found)
            return f"{name} fits none of {where}: {reasons}", answer.proof_of(seq, f"no node for {name}")
        if isinstance(event, HookEvent) and event.point == ALLOCATABLE.upstream and not event.result:
            return f"Its queue has no quota left for {name}", answer.proof_of(seq, f"{event.plugin} rejects {name}")
        if isinstance(event, HookEvent) and event.point == PRE_PREDICATE.upstream and event.result is not None:
            return f"PrePredicate fails for {name}", answer.proof_of(seq, f"{event.plugin} rejects {name}")
    return None
