"""gangpreempt and gangreclaim: the search for victims in a whole domain, for the whole gang at once."""

from collections.abc import Iterator
from itertools import dropwhile

from vcdebug import amount_text
from vcdebug.amount_text import count_noun, join_names, verb_for
from vcdebug.explain import predicate_reasons
from vcdebug.explain.answer import Advice, Cause, Evidence, Finding, amount_numbers, counts, proof_of
from vcdebug.explain.decisions.queue_figures import SHARING_PLUGINS
from vcdebug.explain.decisions.votes import hook_calls_at
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.gates import queue_limits
from vcdebug.explain.pending.gates.eviction import Gate, GateChance, entitlement, veto
from vcdebug.explain.victim_candidates import (
    SkippedVictim,
    every_victim,
    gang_victim_filter,
    rank_objections,
    skipped_victim,
)
from vcdebug.framework.action import NOT_RECLAIMABLE
from vcdebug.framework.hooks import ALLOCATABLE, PRE_PREDICATE, PREEMPTIVE, UNIFIED_EVICTABLE
from vcdebug.framework.record import HookEvent, PredicateEvent
from vcdebug.model.names import Seq
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.recording.state_before import sum_resources
from vcdebug.recording.visits import JobVisit, refusals_in
from vcdebug.snapshot.manifest import bare_name

OUTSIDE_DOMAINS = SkippedVictim("", "outside every HyperNode that the job may use")


def gates_of_gangs(view: JobView, task: TaskInfo, fits: NodeFits) -> Iterator[Gate]:
    """Yields the gates of the actions that evict for a whole gang."""
    for action in dict.fromkeys(view.actions):
        finding = gang_eviction_finding(view, action, task) if view.facts_of(action).evicts_by_gang else None
        if finding is not None:
            yield Gate(action, GateChance.REAL, finding)


def gang_eviction_finding(view: JobView, action: str, task: TaskInfo) -> Finding | None:
    """What stopped the action; None if it never ran or never visited the job."""
    if view.action_starts(action) is None:
        return None
    visits = [visit for visit in view.visits_of(action) if visit.end is not None]
    if not visits:
        return queue_limits.overused_finding(view, action) or entitlement.not_starving_finding(view, action, task)
    visit = visits[-1]
    # The action can also commit an empty statement when it finds no plan.
    if visit.was_committed and visit.planned_tasks:
        return None
    if refusals := refusals_in(visit.visit_calls(PREEMPTIVE.upstream)):
        return queue_limits.not_preemptive_finding(view, task, *refusals[-1])
    votes = visit.visit_calls(UNIFIED_EVICTABLE.upstream)
    return _votes_finding(view, visit, votes) if votes else _no_candidates_finding(view, visit)


def _wanted_words(view: JobView) -> tuple[str, Resource]:
    request = sum_resources(task.init_resreq for task in view.unplaced_tasks)
    return f"its {count_noun(len(view.unplaced_tasks), 'pod')} ({amount_text.format_resource(request)})", request


def _statement_evidence(visit: JobVisit) -> tuple[Evidence, ...]:
    """The event that ended the visit: a committed empty statement, or a discarded one."""
    assert visit.end is not None
    seq, statement = visit.end
    operations = count_noun(len(statement.ops), "operation") if statement.ops else "an empty statement"
    return proof_of(seq, f"{visit.action} {'commits' if visit.was_committed else 'discards'} {operations}")


def _no_candidates_finding(view: JobView, visit: JobVisit) -> Finding:
    pods_words, request = _wanted_words(view)
    ranked = rank_objections(_skipped_victims(view, visit))
    pod_count, cause = sum(len(keys) for _, keys in ranked), Cause.NOT_PREEMPTABLE  # exact: ints
    advice = veto.filter_advice(view, cause, ranked)
    facts = [f"{count_noun(pod_count, 'running pod')}: {veto.format_objections(ranked)}."]
    names = dict.fromkeys(job.queue for job in view.session.jobs.values() if job.queue != view.queue.name)
    locked = not any(view.session.queues[name].reclaimable for name in names)
    if names and locked and any(skip.rule == NOT_RECLAIMABLE for skip, _ in ranked):
        cause, queues = Cause.NOT_RECLAIMABLE, join_names(names)
        advice = (Advice.queue_admin(f"Queue {queues}: set spec.reclaimable to true."),)
        facts.append(f"{queues} {verb_for(len(names), 'has')} spec.reclaimable: false.")
    reason, lines = f"{visit.action} has no candidate victim for {pods_words}", veto.objection_lines(ranked)
    numbers = {**amount_numbers("request", request), **counts({"pods.onNodes": pod_count})}
    return view.pending(cause, reason, numbers, _statement_evidence(visit), advice, lines, tuple(facts))


def _skipped_victims(view: JobView, visit: JobVisit) -> Iterator[tuple[SkippedVictim, list[TaskInfo]]]:
    """Yields each pod on a node with the rule by which the action's own filter skips it."""
    recording, victim_filter = view.recording, gang_victim_filter(view.recording, visit.action, view.job.uid)
    fits = NodeFits(view, next(iter(view.tasks.values())), visit.first)
    for name in view.session.nodes:
        for victim in fits.tasks_on(name):
            # A pod that passes the filter and yet was no candidate can only be outside the domains of the job.
            yield skipped_victim(recording, victim_filter, victim) or OUTSIDE_DOMAINS, [victim]


def _votes_finding(view: JobView, visit: JobVisit, votes: list[tuple[Seq, HookEvent]]) -> Finding:
    """The finding if plugins allow no victim, or too few to make room for the whole gang."""
    seq, event = votes[-1]
    calls, candidates = hook_calls_at(view.recording, seq), event.candidates
    allowed = tuple(calls.outcome or ()) if calls is not None else ()
    (pods, request), action, total = _wanted_words(view), visit.action, len(candidates)
    numbers = {**amount_numbers("request", request), **counts({"candidates": total, "victims": len(allowed)})}
    voted = tuple(Evidence(s, f"{e.plugin} allows {len(e.result or ())} of {total}") for s, e in votes[-3:])
    evidence = (*voted, *_statement_evidence(visit))
    if not allowed:
        # The first plugin after whose answer no candidate is allowed by all plugins so far.
        remaining, plugin = set(candidates), ""
        for vote in dropwhile(lambda vote: vote.candidates != candidates, (one for _, one in votes)):
            remaining &= set(vote.result or ())
            plugin = plugin if plugin or remaining else vote.plugin
        plugin = plugin or event.plugin
        reason = f"{action} may evict no pod for {pods}; {plugin} leaves no candidate victim that every plugin allows"
        quota_veto = view.facts_of(action).across_queues and plugin in SHARING_PLUGINS
        cause = Cause.NOT_ABOVE_DESERVED if quota_veto else plugin
        check = f"Check plugin {plugin}: its enable{UNIFIED_EVICTABLE.upstream} switch, or what protects these pods."
        facts = (f"{count_noun(total, 'candidate victim')}: {join_names(candidates)}.",)
        return view.pending(cause, reason, numbers, evidence, (Advice.cluster_admin(check),), facts=facts)
    failed_plan = _failed_plan_words(view, visit)
    obstacle, proof = failed_plan or ("Evicting all of them in one domain would not free enough for the whole gang", ())
    some = f"{len(allowed)} of {total} candidate victims"
    victim_words = some if len(allowed) < total else every_victim(total)
    reason = f"{action} may evict {victim_words}, too few to make room for {pods}"
    lower, free = "Lower spec.minMember.", "Free room for the whole gang in one domain."
    advice = (Advice.for_owner(lower), Advice.queue_admin(free))
    lines, evidence = (f"allowed victims: {join_names(allowed, 8)}",), tuple(sorted((*evidence, *proof)))
    return view.pending(
        Cause.GANG_DISCARD, reason, numbers, evidence, advice, lines, (f"{obstacle}.", "No pod is evicted.")
    )


def _failed_plan_words(view: JobView, visit: JobVisit) -> tuple[str, tuple[Evidence, ...]] | None:
    """Why the last trial plan failed with its victims evicted, and the event that shows it."""
    # The last refusal belongs to the plan with the most victims; earlier plans evicted fewer.
    for seq, event in reversed(visit.events):
        name = bare_name(getattr(event, "task", ""))
        if isinstance(event, PredicateEvent) and not len(event.feasible):
            node_count = count_noun(event.processed, "node")
            histogram = predicate_reasons.refusal_histogram(view.recording, event)
            reasons = ", ".join(f"{len(names)} {reason}" for reason, names in histogram)
            return f"{name} fits none of {node_count}: {reasons}", proof_of(seq, f"no node for {name}")
        if isinstance(event, HookEvent) and event.point == ALLOCATABLE.upstream and not event.result:
            return f"Its queue has no quota left for {name}", proof_of(seq, f"{event.plugin} rejects {name}")
        if isinstance(event, HookEvent) and event.point == PRE_PREDICATE.upstream and event.result is not None:
            return f"PrePredicate fails for {name}", proof_of(seq, f"{event.plugin} rejects {name}")
    return None
