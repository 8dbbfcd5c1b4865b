"""Statements and their evictions (victim, preemptor, outcome, price), and the bundles of gang actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from vcdebug.amount_text import count_noun, join_names, verb_for
from vcdebug.explain.decisions.votes import earlier_tier_facts, hook_calls_at, unasked_plugins, victim_question_before
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.framework.hooks import UNIFIED_EVICTABLE
from vcdebug.framework.record import HookEvent, Level
from vcdebug.framework.registry import resolve_reference
from vcdebug.framework.session import Session
from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName, QueueName, Seq, TaskId, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import GANG
from vcdebug.recording.effects import CARRIED_OUT_FATES, EvictOperation, evict_operations
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.replay import session_at_event
from vcdebug.recording.state_before import idle_without, sum_resources, task_of
from vcdebug.snapshot.workloads import policies_of, volcano_job_of

if TYPE_CHECKING:
    from vcdebug.actions import gang_eviction

MOST_NODES = 3
ORDER_OF_NODES_NOTE = "nodes are tried in order of score, not of their victims' priority"


class Eviction(Struct, frozen=True):
    """One planned eviction, carried out or discarded, with its owner and its preemptor."""

    seq: Seq
    victim: TaskKey
    job: JobId
    """The victim's job; empty if the session has none."""
    queue: QueueName
    node: NodeName
    action: str
    preemptor: str
    """The task, or for gang actions the job, for which the victim is evicted; empty without a preemptor."""
    tier: int | None
    """The tier of plugins that decided on the victim; None if no tier did."""
    statement_end: str
    """As EvictOperation states it."""
    end: Seq

    @property
    def is_carried_out(self) -> bool:
        """Whether it happens."""
        return self.statement_end in CARRIED_OUT_FATES


def eviction_words(eviction: Eviction, victim: str) -> str:
    """`reclaim evicts a/x-0 on n1 to make room for b/y-0`: the action, the node and the preemptor."""
    purpose = (
        f"to make room for {eviction.preemptor}"
        if eviction.preemptor
        else "for no other pod (a plugin requested the eviction)"
    )
    return f"{eviction.action} evicts {victim}{f' on {eviction.node}' if eviction.node else ''} {purpose}"


@per_recording()
def planned_evictions(recording: Recording) -> tuple[Eviction, ...]:
    """Every planned eviction of the cycle in order, including discarded ones."""
    return tuple(_build_eviction(recording, operation) for operation in evict_operations(recording))


def eviction_of(recording: Recording, pod: TaskKey) -> Eviction | None:
    """The pod's eviction: the last one that was carried out, else the last one that was planned; None without one."""
    planned = [eviction for eviction in planned_evictions(recording) if eviction.victim == pod]
    return next(reversed([eviction for eviction in planned if eviction.is_carried_out] or planned), None)


@per_recording()
def evictions_by_preemptor(recording: Recording) -> Mapping[JobId, Sequence[Eviction]]:
    """Job → evictions that were carried out to make room for it."""
    owners = recording.owners.jobs
    # The preemptor of a gang action is the job itself.
    return group_by_key((owners.get(one.preemptor, one.preemptor), one) for one in carried_out(recording))


@per_recording()
def carried_out(recording: Recording) -> list[Eviction]:
    """The evictions that were carried out, in order."""
    kept = [operation for operation in evict_operations(recording) if operation.is_carried_out]
    return [_build_eviction(recording, operation) for operation in kept]


@per_recording()
def evictions_by_victim(recording: Recording) -> Mapping[JobId, Sequence[Eviction]]:
    """Job → evictions of its own pods that were carried out, for any preemptor."""
    return group_by_key((eviction.job, eviction) for eviction in carried_out(recording))


def _preemptor_name(recording: Recording, seq: Seq) -> str:
    """The preemptor: the task, else the job; empty if the action had none."""
    return recording.span_tree.name_around(seq, Level.TASK) or recording.span_tree.name_around(seq, Level.JOB)


def _build_eviction(recording: Recording, operation: EvictOperation) -> Eviction:
    owners, (seq, event, fate, end) = recording.owners, operation
    job, action = owners.jobs.get(event.task, ""), recording.span_tree.name_around(seq, Level.ACTION)
    preemptor = _preemptor_name(recording, seq)
    question = victim_question_before(recording, seq) if preemptor else None
    tier = question.deciding_tier if question is not None and event.task in (question.outcome or ()) else None
    queue = owners.queues.get(job, "")
    return Eviction(seq, event.task, job, queue, event.node, action, preemptor, tier, fate, end)


def eviction_facts(view: JobView, victims: Sequence[TaskKey]) -> Iterator[str]:
    """Yields sentences about evictions: deciding tier, lower priorities elsewhere, broken gangs, fewer victims."""
    evictions = carried_out(view.recording)
    facts_of = view.recording.conf.facts_of
    job_evictions = [
        eviction
        for eviction in evictions
        if eviction.preemptor in view.tasks and facts_of(eviction.action).evicts_by_pod
    ]
    if job_evictions:
        yield from _deciding_tier_facts(view, job_evictions[0])
        yield from milder_nodes_facts(view.recording, job_evictions[0])
        yield from _priority_facts(view, job_evictions)
    yield from _broken_gang_facts(view, victims, _gang_switch_words(view, job_evictions))
    planned = [eviction for eviction in evictions if eviction.victim in victims]
    yield from useless_facts(view.recording, planned)
    yield from _fewer_victims_facts(view, planned)


def _gang_switch_words(view: JobView, evictions: Sequence[Eviction]) -> str:
    """Words that gang, which protects minMember, does not vote on victims; empty if it does."""
    calls = victim_question_before(view.recording, evictions[0].seq) if evictions else None
    votes = calls.votes if calls is not None else []
    off = (vote.silence_reason for vote in votes if vote.plugin == GANG and vote.state == "switched off")
    return next((f" ({GANG} does not protect it: {reason})" for reason in off), "")


def _broken_gang_facts(view: JobView, victims: Sequence[TaskKey], unprotected: str) -> Iterator[str]:
    """Yields a sentence per job that the evictions leave below its minMember, or whose policy then ends all of it."""
    owners = dict.fromkeys(view.recording.owners.jobs.get(key, "") for key in victims)
    jobs = [job for uid in owners if (job := view.session.jobs.get(uid)) is not None and not job.is_ready()]
    for job in jobs:
        if job.min_available > 1:
            remaining = count_noun(job.ready_task_num(), "pod")
            yield f"{job.uid} keeps {remaining}, fewer than its minMember {job.min_available}{unprotected}."
    for job in [job for uid in owners if (job := view.session.jobs.get(uid)) is not None]:
        owner = volcano_job_of(view.recording.snapshot, job.pod_group.manifest)
        action = dict(policies_of(owner) if owner else ()).get("PodEvicted", "")
        if others := job.ready_task_num() if action in _ACTIONS_ON_ALL else 0:
            yield f"Its policy PodEvicted: {action} ends {job.uid}'s other {count_noun(others, 'pod')}, too."


_ACTIONS_ON_ALL = ("RestartJob", "AbortJob", "TerminateJob", "CompleteJob")
"""Actions of a Volcano Job's policies that end all pods of the job."""


def _priority_facts(view: JobView, evicted: Sequence[Eviction]) -> Iterator[str]:
    """Yields the PodGroup priorities of both sides, which preempt compares instead of pod priorities."""
    jobs = {eviction.job: view.session.jobs[eviction.job] for eviction in evicted if eviction.job in view.session.jobs}
    lower = {name: job.priority for name, job in jobs.items() if job.priority < view.job.priority}
    if lower and len(lower) == len(jobs):
        other_priorities = join_names(f"{name} has {priority}" for name, priority in lower.items())
        pods = [str(each) for each in dict.fromkeys(task.priority for task in view.tasks.values())]
        # The priority of pods often lacks where an operator sets only that of the PodGroup.
        own = f"; its pods have {join_names(pods)}, which counts only within the job"
        source = f"(of its PodGroup{own if pods != [str(view.job.priority)] else ''})"
        yield f"{view.job.uid} has priority {view.job.priority} {source}; {other_priorities}."


def useless_facts(recording: Recording, evictions: Sequence[Eviction]) -> Iterator[str]:
    """Yields a sentence about the first victim that frees nothing of what the pod it is evicted for lacks there."""
    for eviction in evictions:
        # A plan of gangpreempt or gangreclaim is for a whole job.
        if eviction.preemptor not in recording.owners.jobs or not eviction.node:
            continue
        request, victim = (task_of(recording, key) for key in (eviction.preemptor, eviction.victim))
        idle = idle_without(recording, eviction.seq, eviction.node, ())
        lacking = [name for name, amount in request.init_resreq.items() if amount > idle.get(name)]
        if lacking and not any(victim.resreq.get(name) for name in lacking):
            lacks = f"frees no {join_names(lacking)}, which {eviction.preemptor} lacks on {eviction.node}"
            yield f"{eviction.victim} {lacks}: {eviction.action} takes victims in their order, whatever they free."
            return


def _fewer_victims_facts(view: JobView, evictions: Sequence[Eviction]) -> Iterator[str]:
    """Yields a sentence if fewer victims would free enough for the pipelined pods: how many, and which."""
    pipelined = [task for task in view.placed_tasks if task.status is TaskStatus.PIPELINED]
    by_node = group_by_key((task.node_name, task) for task in pipelined)
    sufficient: list[TaskKey] = []
    for node, tasks in by_node.items():
        on_node = [eviction for eviction in evictions if eviction.node == node]
        if not on_node:
            continue
        request = sum_resources(task.init_resreq for task in tasks)
        future = idle_without(view.recording, min(eviction.seq for eviction in on_node), node, ())
        # Taking the largest victims first gives the fewest; equal ones stay in the order of the plan.
        ranked = sorted(
            on_node, key=lambda eviction: -_largest_share(task_of(view.recording, eviction.victim), request)
        )
        for eviction in ranked:
            if request.less_equal(future):
                break
            future.add(task_of(view.recording, eviction.victim).resreq)
            sufficient.append(eviction.victim)
    if 0 < len(sufficient) < len(evictions):
        all_words = "Both" if len(evictions) == 2 else f"All {len(evictions)}"
        yield f"{all_words} are evicted; by their amounts {len(sufficient)} would do ({join_names(sufficient)})."


def _largest_share(victim: TaskInfo, request: Resource) -> float:
    """The largest fraction of the needed amount that the victim frees, over all dimensions."""
    return max((victim.resreq.get(name) / value for name, value in request.items() if value > 0), default=0.0)


def _deciding_tier_facts(view: JobView, eviction: Eviction) -> Iterator[str]:
    """Yields sentences: which earlier tiers allowed no victim, and which plugins of later tiers were not asked."""
    calls = victim_question_before(view.recording, eviction.seq)
    if calls is None or eviction.tier is None:
        return
    yield from earlier_tier_facts([vote for vote in calls.answered if vote.tier < eviction.tier], eviction.tier)
    deciders = [vote.plugin for vote in calls.answered if vote.tier == eviction.tier]
    silent = [one for one in unasked_plugins(view.recording, calls, eviction.seq) if one.vote.state == "not asked"]
    unasked = [plugin for plugin in silent if plugin.vote.tier > eviction.tier]
    if not unasked or not deciders:
        return
    tier_words = f"Tier {eviction.tier} ({' and '.join(deciders)}) already named victims"
    plugin_words = join_names(f"{plugin.vote.plugin} in tier {plugin.vote.tier}" for plugin in unasked)
    objections = join_names(
        f"{plugin.vote.plugin} would protect {eviction.victim}{plugin.note and f': {plugin.note}'}"
        for plugin in unasked
        if plugin.protects
    )
    were = verb_for(len(unasked), "was")
    yield f"{tier_words}, so {plugin_words} {were} not consulted{f' ({objections})' if objections else ''}."


def milder_nodes_facts(recording: Recording, eviction: Eviction) -> Iterator[str]:
    """Other nodes where evicting a pod of lower priority would have freed enough room, in a sentence."""
    by_pod = recording.conf.facts_of(eviction.action).evicts_by_pod
    milder = milder_nodes(recording, eviction) if by_pod and eviction.preemptor in recording.owners.jobs else {}
    victim_words = join_names((f"{task.name} of priority {task.priority}" for task in milder.values()), MOST_NODES)
    if milder:
        yield f"{join_names(milder, MOST_NODES)} would have done as well ({victim_words}): {ORDER_OF_NODES_NOTE}."


@per_recording()
def _lowest_priority(recording: Recording) -> int:
    return min((task.priority for task in recording.timeline.tasks.values()), default=0)


def milder_nodes(recording: Recording, eviction: Eviction) -> dict[NodeName, TaskInfo]:
    """Other feasible nodes → a victim of lower priority there, in the state before the plan."""
    preemptor, victim = task_of(recording, eviction.preemptor), task_of(recording, eviction.victim)
    # Skip the search over every pod of the cluster if no pod has a lower priority than the victim.
    if _lowest_priority(recording) >= victim.priority:
        return {}
    same_node = (operation.seq for operation in evict_operations(recording) if operation.event.node == eviction.node)
    # The first eviction of the plan on this node: before a later one, the node already has the room of the first.
    first = next(seq for seq in same_node if _preemptor_name(recording, seq) == eviction.preemptor)
    fits = NodeFits(JobView(recording, preemptor.job, eviction.preemptor), preemptor, first - 1)
    other_nodes = [node.name for node in fits.freeable_nodes(eviction.action) if node.name != eviction.node]
    lowest = {
        name: min(fits.victim_candidates(eviction.action, name), key=lambda t: (t.priority, t.key))
        for name in other_nodes
    }
    return {name: task for name, task in lowest.items() if task.priority < victim.priority}


UNIFIED_POINT = UNIFIED_EVICTABLE.upstream
WHOLE_BUNDLES_OFF = "whole bundles are switched off (allowWholeBundle)"


class BundleOutcome(Struct, frozen=True):
    """One bundle of victims of a gang action, and what the plugins allow of it."""

    safe: bool
    job: JobId
    tasks: tuple[TaskKey, ...]
    freed: Resource
    lost: Resource
    """Resources of the whole job, which the eviction would break; empty for a safe bundle."""
    roi: float
    allowed: tuple[TaskKey, ...]
    """The tasks of the bundle that the plugins allow as victims; empty if the bundle is dropped."""
    cut_reason: str
    """Why the bundle is dropped or cut."""
    makes_room: bool
    """Whether evicting this and all earlier bundles makes room for the gang, so that a plan is tried."""


class DomainBundles(Struct, frozen=True):
    """The bundles of one topology domain that an action considers for a gang."""

    job: JobId
    domain: str
    needed: Resource
    free: Resource
    """Idle plus releasing resources of the domain."""
    bundles: tuple[BundleOutcome, ...]
    """The bundles in the order in which the plugins are asked about them and the action evicts them."""


@per_recording(most=16)
def bundles_at(recording: Recording, seq: Seq) -> DomainBundles | None:
    """The bundles of a gang action's UnifiedEvictable call; None elsewhere, or if the session cannot be rebuilt."""
    event, action = recording.event_at(seq), recording.span_tree.span_around(seq, Level.ACTION)
    span, calls = recording.span_tree.span_around(seq, Level.JOB), hook_calls_at(recording, seq)
    if (
        not isinstance(event, HookEvent)
        or event.point != UNIFIED_POINT
        or action is None
        or span is None
        or calls is None
    ):
        return None
    session = session_at_event(recording, seq)
    if session is None or span.name not in session.jobs:
        return None
    arguments = recording.conf.arguments_of(action.name, recording.snapshot.release)
    # A new action object with the same arguments: the one of the cycle is not part of a recording.
    gang_action: gang_eviction.GangEviction = resolve_reference(recording.conf.registry[action.name])(arguments)
    # Building bundles calls plugins again, and these calls must not become events of the recording.
    allowed = calls.outcome if isinstance(calls.outcome, tuple) else ()
    with session.record.silence_recording():
        return _find_domain_bundles(session, gang_action, session.jobs[span.name], event.candidates, allowed)


def _find_domain_bundles(
    session: Session,
    eviction: gang_eviction.GangEviction,
    job: JobInfo,
    candidates: Sequence[TaskKey],
    allowed: Sequence[TaskKey],
) -> DomainBundles | None:
    """The domain whose bundles contain exactly these candidates; None if no domain does."""
    from vcdebug.actions import gang_eviction
    from vcdebug.framework.gang_plan import pending_for_eviction

    need = gang_eviction.sum_init_requests(pending_for_eviction(session, job))
    for domain in eviction.get_candidate_domains(session, job):
        bundles = eviction.list_bundles(session, job, need, domain)
        # The event does not name its domain; in the state before it only one domain gives just these candidates.
        if [task.key for bundle in bundles for task in bundle.tasks] == list(candidates):
            keys = dict.fromkeys(allowed)
            uids = {task.uid: None for bundle in bundles for task in bundle.tasks if task.key in keys}
            free = gang_eviction.idle_and_releasing(session, domain)
            kept_bundles = eviction.filter_bundles(session, job, need, bundles, uids)
            outcomes = tuple(_bundle_outcomes(eviction, bundles, kept_bundles, need, free, uids))
            return DomainBundles(job.uid, domain, need, free, outcomes)
    return None


def _bundle_outcomes(
    eviction: gang_eviction.GangEviction,
    bundles: Sequence[gang_eviction.Bundle],
    kept_bundles: Sequence[gang_eviction.Bundle],
    need: Resource,
    free: Resource,
    allowed: dict[TaskId, None],
) -> list[BundleOutcome]:
    from vcdebug.actions import gang_eviction

    victims: list[gang_eviction.Bundle] = []
    makes_room: dict[int, bool] = {}
    for bundle in kept_bundles:
        victims.append(bundle)
        freed = gang_eviction.sum_requests(task for other in victims for task in other.tasks)
        makes_room[id(bundle)] = need.less_equal(free.clone().add(freed))
    outcomes = []
    for bundle in bundles:
        # Filtering replaces a bundle by a cut copy, so job and type identify it, not the object.
        kept_bundle = next(
            (other for other in kept_bundles if other.job is bundle.job and other.type is bundle.type), None
        )
        kept_tasks = tuple(task.key for task in kept_bundle.tasks) if kept_bundle is not None else ()
        reason = "" if len(kept_tasks) == len(bundle.tasks) else _dropped_reason(eviction, bundle, kept_tasks, allowed)
        tasks = tuple(task.key for task in bundle.tasks)
        safe = bundle.type is gang_eviction.BundleType.SAFE
        fits = makes_room.get(id(kept_bundle), False) if kept_bundle is not None else False
        roi = gang_eviction.bundle_roi(bundle, need)
        outcomes.append(
            BundleOutcome(safe, bundle.job.uid, tasks, bundle.local, bundle.job_sum, roi, kept_tasks, reason, fits)
        )
    return outcomes


def _dropped_reason(
    eviction: gang_eviction.GangEviction,
    bundle: gang_eviction.Bundle,
    kept_tasks: Sequence[TaskKey],
    allowed: dict[TaskId, None],
) -> str:
    from vcdebug.actions.gang_eviction import BundleType

    protected = [task.name for task in bundle.tasks if task.uid not in allowed]
    if not protected and bundle.type is BundleType.WHOLE and not eviction.allow_whole_bundle:
        return WHOLE_BUNDLES_OFF
    verb = "cut" if kept_tasks else "dropped"
    return f"{verb}: the plugins keep {', '.join(protected)}"
