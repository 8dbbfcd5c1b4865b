"""Statements and their evictions (victim, preemptor, outcome, price), and the bundles of gang actions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from vcdebug.amount_text import count_noun, join_names, verb_for
from vcdebug.explain.decisions.votes import hook_calls_at, passed_on_facts, unasked_plugins, victim_question_before
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.framework import gang_eviction
from vcdebug.framework.gang_plan import pending_for_eviction
from vcdebug.framework.hooks import UNIFIED_EVICTABLE
from vcdebug.framework.record import PLANNED_OPS, HookEvent, Level, OpEvent, StatementEvent
from vcdebug.framework.registry import resolve_reference
from vcdebug.framework.session import Session
from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName, QueueName, Seq, TaskId, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.replay import session_at_event
from vcdebug.recording.state_before import idle_without, sum_resources, task_of

MOST_NODES = 3
ORDER_OF_NODES_NOTE = "nodes are tried in order of score, not of their victims' priority"


class StatementSpan(NamedTuple):
    """One statement from its first operation to its end."""

    ops: tuple[Seq, ...]
    end: Seq
    fate: str
    """commit, discard, or nothing where the recording ends first."""
    undone: Seq
    """The last event of its undoing; the end itself where nothing is undone."""


@per_recording(most=64)
def statements_between(recording: Recording, first: Seq, last: Seq) -> list[StatementSpan]:
    """The statements of a range of events. A trial statement that is merged continues as part of its target."""
    found: list[StatementSpan] = []
    pending: list[Seq] = []
    for seq, event in enumerate(recording.events[first - 1 : last], first):
        if isinstance(event, OpEvent) and event.op in PLANNED_OPS and event.via is None:
            pending.append(seq)
        elif isinstance(event, StatementEvent) and event.what in ("commit", "discard", "save"):
            # The latest operations: a trial statement inside another one ends first, so statements nest like a stack.
            own = pending[len(pending) - len(event.ops) :] if event.ops else []
            del pending[len(pending) - len(own) :]
            if event.what != "save":
                # A discard is followed by one undoing event per operation.
                undone = seq + (len(own) if event.what == "discard" else 0)
                found.append(StatementSpan(tuple(own), seq, event.what, undone))
    if pending:
        found.append(StatementSpan(tuple(pending), last, "", last))
    return found


CARRIED_OUT_FATES = ("commit", "at once")
"""The fates of evictions that happen."""


class Eviction(NamedTuple):
    """One eviction that was planned, whatever became of it."""

    seq: Seq
    victim: TaskKey
    job: JobId
    """The victim's; empty for a task without a job in the session."""
    queue: QueueName
    node: NodeName
    action: str
    preemptor: str
    """The task for which it was evicted, or the job for a gang action; empty if the action had no preemptor."""
    tier: int | None
    """The tier that named the victim."""
    fate: str
    """commit, discard, or nothing where the recording ends first; "at once" outside any statement."""
    end: Seq

    @property
    def is_carried_out(self) -> bool:
        """Whether it happens."""
        return self.fate in CARRIED_OUT_FATES


def eviction_words(one: Eviction, victim: str) -> str:
    """`reclaim evicts a/x-0 on n1 to make room for b/y-0`: the action, the node and the preemptor."""
    who = f"to make room for {one.preemptor}" if one.preemptor else "for no other pod (a plugin requested the eviction)"
    return f"{one.action} evicts {victim}{f' on {one.node}' if one.node else ''} {who}"


@per_recording()
def planned_evictions(recording: Recording) -> tuple[Eviction, ...]:
    """All of the cycle, in order; those of discarded statements are among them."""
    return tuple(_build_eviction(recording, seq, event) for seq, event in _eviction_events(recording))


def eviction_of(recording: Recording, pod: TaskKey) -> Eviction | None:
    """The pod's eviction: the last one that was carried out, else the last one that was planned; None without one."""
    planned = [one for one in planned_evictions(recording) if one.victim == pod]
    return next(reversed([one for one in planned if one.is_carried_out] or planned), None)


def _eviction_events(recording: Recording) -> Iterator[tuple[Seq, OpEvent]]:
    from vcdebug.recording.effects import timeline_marks

    return recording.filter_events(OpEvent, timeline_marks(recording).evictions)


def evictions_for_job(view: JobView) -> Sequence[Eviction]:
    """Evictions that were carried out to make room for the job."""
    return _carried_out_for_job(view.recording).get(view.job.uid, ())


@per_recording()
def _carried_out_for_job(recording: Recording) -> Mapping[JobId, Sequence[Eviction]]:
    owners = recording.owners.jobs
    # The preemptor of a gang action is the job itself.
    return group_by_key((owners.get(one.preemptor, one.preemptor), one) for one in carried_out(recording))


def lost_pods(view: JobView) -> list[Eviction]:
    """Evictions of the job's own pods that were carried out, for any preemptor."""
    return list(_carried_out_by_job(view.recording).get(view.job.uid, ()))


@per_recording()
def not_discarded(recording: Recording) -> tuple[Eviction, ...]:
    """Evictions whose statement was not discarded, in order."""
    wished = (
        (seq, event) for seq, event in _eviction_events(recording) if fate_of(recording, seq, event)[0] != "discard"
    )
    return tuple(_build_eviction(recording, seq, event) for seq, event in wished)


def carried_out(recording: Recording) -> list[Eviction]:
    """Those that were carried out, in order."""
    return [one for one in not_discarded(recording) if one.is_carried_out]


@per_recording()
def _carried_out_by_job(recording: Recording) -> Mapping[JobId, Sequence[Eviction]]:
    return group_by_key((one.job, one) for one in carried_out(recording))


def _preemptor_name(recording: Recording, seq: Seq) -> str:
    """The preemptor: the task, else the job; empty if the action had none."""
    return recording.span_tree.name_around(seq, Level.TASK) or recording.span_tree.name_around(seq, Level.JOB)


def _build_eviction(recording: Recording, seq: Seq, event: OpEvent) -> Eviction:
    owners, action = recording.owners, recording.span_tree.name_around(seq, Level.ACTION)
    job = owners.jobs.get(event.task, "")
    queue = owners.queues.get(job, "")
    preemptor = _preemptor_name(recording, seq)
    asked = victim_question_before(recording, seq) if preemptor else None
    tier = asked.deciding_tier if asked is not None and event.task in (asked.outcome or ()) else None
    fate = fate_of(recording, seq, event)
    return Eviction(seq, event.task, job, queue, event.node, action, preemptor, tier, *fate)


def fate_of(recording: Recording, seq: Seq, event: OpEvent) -> tuple[str, Seq]:
    """(what became of an operation's statement, at which event)."""
    if event.via is not None:
        return "at once", seq
    action = recording.span_tree.span_around(seq, Level.ACTION)
    first, last = (action.first, action.last) if action is not None else (1, len(recording))
    return _fates_by_seq(recording, first, last).get(seq, ("", last))


@per_recording(most=64)
def _fates_by_seq(recording: Recording, first: Seq, last: Seq) -> Mapping[Seq, tuple[str, Seq]]:
    found: dict[Seq, tuple[str, Seq]] = {}
    for span in statements_between(recording, first, last):
        for seq in span.ops:
            found.setdefault(seq, (span.fate, span.end))
    return found


def eviction_facts(view: JobView, victims: Sequence[TaskKey]) -> Iterator[str]:
    """Which tier decided without which plugins, where milder victims were, and whether fewer would have been enough."""
    evicted = carried_out(view.recording)
    facts_of = view.recording.conf.facts_of
    mine = [one for one in evicted if one.preemptor in view.tasks and facts_of(one.action).evicts_by_pod]
    if mine:
        yield from _deciding_tier_facts(view, mine[0])
        yield from milder_nodes_facts(view.recording, mine[0])
        yield from _priority_facts(view, mine)
    yield from _broken_gang_facts(view, victims)
    yield from _fewer_victims_facts(view, [one for one in evicted if one.victim in victims])


def _broken_gang_facts(view: JobView, victims: Sequence[TaskKey]) -> Iterator[str]:
    """Jobs that the evictions leave with fewer pods than they need."""
    owners = dict.fromkeys(view.recording.owners.jobs.get(key, "") for key in victims)
    jobs = [job for uid in owners if (job := view.session.jobs.get(uid)) is not None and not job.is_ready()]
    for job in jobs:
        if job.min_available > 1:
            left = count_noun(job.ready_task_num(), "pod")
            yield f"{job.uid} keeps {left}, fewer than its minMember {job.min_available}."


def _priority_facts(view: JobView, mine: Sequence[Eviction]) -> Iterator[str]:
    """The priorities that preempt compares, which are those of the PodGroups and not of the pods."""
    jobs = {one.job: view.session.jobs[one.job] for one in mine if one.job in view.session.jobs}
    lower = {name: job.priority for name, job in jobs.items() if job.priority < view.job.priority}
    if lower and len(lower) == len(jobs):
        others = join_names(f"{name} has {priority}" for name, priority in lower.items())
        yield f"{view.job.uid} has priority {view.job.priority} (of its PodGroup); {others}."


def _fewer_victims_facts(view: JobView, mine: Sequence[Eviction]) -> Iterator[str]:
    """Where fewer evictions would have made the room for the pods that are now pipelined: how many, and which first."""
    pipelined = [task for task in view.placed_tasks if task.status is TaskStatus.PIPELINED]
    by_node = group_by_key((task.node_name, task) for task in pipelined)
    enough: list[TaskKey] = []
    for node, tasks in by_node.items():
        there = [one for one in mine if one.node == node]
        if not there:
            continue
        need = sum_resources(task.init_resreq for task in tasks)
        future = idle_without(view.recording, min(one.seq for one in there), node, ())
        # The largest first gives the fewest; equal ones in the order of the plan.
        ranked = sorted(there, key=lambda one: -_largest_share(task_of(view.recording, one.victim), need))
        for one in ranked:
            if need.less_equal(future):
                break
            future.add(task_of(view.recording, one.victim).resreq)
            enough.append(one.victim)
    if 0 < len(enough) < len(mine):
        every = "Both" if len(mine) == 2 else f"All {len(mine)}"
        yield f"{every} are evicted; by their amounts {len(enough)} would do ({join_names(enough)})."


def _largest_share(victim: TaskInfo, need: Resource) -> float:
    """The largest part of what is needed that this victim frees, over all dimensions."""
    return max((victim.resreq.get(name) / value for name, value in need.items() if value > 0), default=0.0)


def _deciding_tier_facts(view: JobView, one: Eviction) -> Iterator[str]:
    """The plugins of the tiers before the one that named the first victim, and those that were not asked."""
    asked = victim_question_before(view.recording, one.seq)
    if asked is None or one.tier is None:
        return
    yield from passed_on_facts([seat for seat in asked.answered if seat.tier < one.tier], one.tier)
    said = [seat.plugin for seat in asked.answered if seat.tier == one.tier]
    unasked = [each for each in unasked_plugins(view.recording, asked, one.seq) if each.seat.state == "not asked"]
    unasked = [each for each in unasked if each.seat.tier > one.tier]
    if not unasked or not said:
        return
    named = f"Tier {one.tier} ({' and '.join(said)}) already named victims"
    where = join_names(f"{each.seat.plugin} in tier {each.seat.tier}" for each in unasked)
    against = join_names(
        f"{each.seat.plugin} would protect {one.victim}{each.note and f': {each.note}'}"
        for each in unasked
        if each.protects
    )
    were = verb_for(len(unasked), "was")
    yield f"{named}, so {where} {were} not consulted{f' ({against})' if against else ''}."


def milder_nodes_facts(recording: Recording, one: Eviction) -> Iterator[str]:
    """Nodes that would have done as well with a victim of lower priority, in a sentence."""
    by_pod = recording.conf.facts_of(one.action).evicts_by_pod
    found = milder_nodes(recording, one) if by_pod and one.preemptor in recording.owners.jobs else {}
    who = join_names((f"{task.name} of priority {task.priority}" for task in found.values()), MOST_NODES)
    if found:
        yield f"{join_names(found, MOST_NODES)} would have done as well ({who}): {ORDER_OF_NODES_NOTE}."


@per_recording()
def _lowest_priority(recording: Recording) -> int:
    return min((task.priority for task in recording.timeline.tasks.values()), default=0)


def milder_nodes(recording: Recording, one: Eviction) -> dict[NodeName, TaskInfo]:
    """Other feasible nodes → a victim of lower priority there, in the state before the plan."""
    asker, victim = task_of(recording, one.preemptor), task_of(recording, one.victim)
    # What follows looks at every pod of the cluster, which one comparison often makes unnecessary.
    if _lowest_priority(recording) >= victim.priority:
        return {}
    same = (seq for seq, event in _eviction_events(recording) if event.node == one.node)
    # The first eviction of the plan on this node: before a later one, the node already has the room of the first.
    first = next(seq for seq in same if _preemptor_name(recording, seq) == one.preemptor)
    room = NodeFits(JobView(recording, asker.job, one.preemptor), asker, first - 1)
    others = [node.name for node in room.freeable_nodes(one.action) if node.name != one.node]
    lowest = {name: min(room.victim_candidates(one.action, name), key=lambda t: (t.priority, t.key)) for name in others}
    return {name: task for name, task in lowest.items() if task.priority < victim.priority}


UNIFIED_POINT = UNIFIED_EVICTABLE.upstream
WHOLE_BUNDLES_OFF = "whole bundles are switched off (allowWholeBundle)"


class BundleOutcome(NamedTuple):
    """One bundle, and what became of it."""

    safe: bool
    job: JobId
    tasks: tuple[TaskKey, ...]
    frees: Resource
    loses: Resource
    """What the whole job holds; nothing for a safe bundle."""
    roi: float
    kept: tuple[TaskKey, ...]
    """What the plugins leave of it; nothing where it is dropped."""
    why: str
    """Why it is dropped or cut."""
    enough: bool
    """Whether the gang's need fits once it and those before it are gone: a plan is tried then."""


class DomainBundles(NamedTuple):
    """One domain's bundles for a gang."""

    job: JobId
    domain: str
    need: Resource
    free: Resource
    """Idle and releasing in the domain."""
    bundles: tuple[BundleOutcome, ...]
    """In the order in which the action passed them to the plugins, which is also the order of eviction."""


class _GangAction(Protocol):
    eviction: gang_eviction.GangEviction


@per_recording(most=16)
def bundles_at(recording: Recording, seq: Seq) -> DomainBundles | None:
    """The bundles that the plugins are asked about at an event; None elsewhere, and where they cannot be had again."""
    event, action = recording.event_at(seq), recording.span_tree.span_around(seq, Level.ACTION)
    span, asked = recording.span_tree.span_around(seq, Level.JOB), hook_calls_at(recording, seq)
    if (
        not isinstance(event, HookEvent)
        or event.point != UNIFIED_POINT
        or action is None
        or span is None
        or asked is None
    ):
        return None
    session = session_at_event(recording, seq)
    if session is None or span.name not in session.jobs:
        return None
    arguments = recording.conf.arguments_of(action.name, recording.snapshot.release)
    # A new action object with the same arguments: the one of the cycle is not part of a recording.
    made: _GangAction = resolve_reference(recording.conf.known[action.name])(arguments)
    # Building bundles asks plugins again, which must not become events of the recording.
    session.record.silent += 1
    allowed = asked.outcome if isinstance(asked.outcome, tuple) else ()
    found = _find_domain_bundles(session, made.eviction, session.jobs[span.name], event.candidates, allowed)
    session.record.silent -= 1
    return found


def _find_domain_bundles(
    session: Session,
    eviction: gang_eviction.GangEviction,
    job: JobInfo,
    candidates: Sequence[TaskKey],
    allowed: Sequence[TaskKey],
) -> DomainBundles | None:
    """The domain whose bundles contain exactly these candidates; None if no domain does."""
    need = gang_eviction.sum_init_requests(pending_for_eviction(session, job))
    for domain in eviction.get_candidate_domains(session, job):
        bundles = eviction.list_bundles(session, job, need, domain)
        # The event does not name its domain; in the state before it only one domain gives just these candidates.
        if [task.key for bundle in bundles for task in bundle.tasks] == list(candidates):
            keys = dict.fromkeys(allowed)
            uids = {task.uid: None for bundle in bundles for task in bundle.tasks if task.key in keys}
            free = gang_eviction.idle_and_releasing(session, domain)
            left = eviction.filter_bundles(session, job, need, bundles, uids)
            outcomes = tuple(_bundle_outcomes(eviction, bundles, left, need, free, uids))
            return DomainBundles(job.uid, domain, need, free, outcomes)
    return None


def _bundle_outcomes(
    eviction: gang_eviction.GangEviction,
    bundles: Sequence[gang_eviction.Bundle],
    left: Sequence[gang_eviction.Bundle],
    need: Resource,
    free: Resource,
    allowed: dict[TaskId, None],
) -> list[BundleOutcome]:
    victims: list[gang_eviction.Bundle] = []
    enough: dict[int, bool] = {}
    for bundle in left:
        victims.append(bundle)
        freed = gang_eviction.sum_requests(task for each in victims for task in each.tasks)
        enough[id(bundle)] = need.less_equal(free.clone().add(freed))
    found = []
    for bundle in bundles:
        # Filtering replaces a bundle by a cut copy, so job and type identify it, not the object.
        same = next((each for each in left if each.job is bundle.job and each.type is bundle.type), None)
        kept = tuple(task.key for task in same.tasks) if same is not None else ()
        why = "" if len(kept) == len(bundle.tasks) else _dropped_reason(eviction, bundle, kept, allowed)
        tasks = tuple(task.key for task in bundle.tasks)
        safe = bundle.type is gang_eviction.BundleType.SAFE
        fits = enough.get(id(same), False) if same is not None else False
        worth = gang_eviction.bundle_roi(bundle, need)
        found.append(
            BundleOutcome(safe, bundle.job.uid, tasks, bundle.local, bundle.everything, worth, kept, why, fits)
        )
    return found


def _dropped_reason(
    eviction: gang_eviction.GangEviction,
    bundle: gang_eviction.Bundle,
    kept: Sequence[TaskKey],
    allowed: dict[TaskId, None],
) -> str:
    refused = [task.name for task in bundle.tasks if task.uid not in allowed]
    if not refused and bundle.type is gang_eviction.BundleType.WHOLE and not eviction.allow_whole_bundle:
        return WHOLE_BUNDLES_OFF
    what = "cut" if kept else "dropped"
    return f"{what}: the plugins keep {', '.join(refused)}"
