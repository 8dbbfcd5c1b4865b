"""The search for victims as a funnel: how many tasks every filter leaves per node; and the bundles of gang actions.

Upstream: actions/preempt, actions/reclaim.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct

from vcdebug.explain.decisions.dry_runs import CANDIDATE, dry_run_at
from vcdebug.explain.decisions.votes import VictimDecision, hook_calls_at, victim_choice
from vcdebug.explain.victim_candidates import victim_filter_of
from vcdebug.framework import hooks
from vcdebug.framework.action import NOT_PREEMPTABLE, NOT_RUNNING, CandidateFilter
from vcdebug.framework.plugin_answers import REJECT
from vcdebug.framework.record import EVICT_OP, ActionEvent, HookEvent, Level, OpEvent, PredicateEvent, Span
from vcdebug.framework.registry import resolve_reference
from vcdebug.framework.session import Session
from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName, QueueName, Seq, TaskId, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.recording.effects import ending_of
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.replay import session_at_event
from vcdebug.recording.state_before import job_of, state_before, sum_resources, task_of, tasks_before
from vcdebug.recording.visits import QUEUE_LIMIT_POINTS, VICTIM_POINTS, spans_inside, starts_after_pop

if TYPE_CHECKING:
    from vcdebug.actions import gang_eviction

ON_NODE, STATUS, PREEMPTABLE, REACH, VICTIMS = "pods", "running", "preemptable", "candidates", "victims"
PLACED, TAKEN_BACK, ENOUGH, TOO_FEW = "placed", "placed, rolled back", "enough room", "not enough room"
EMPTY_STAGE_WORDS: Final = {
    ON_NODE: "no pod on it",
    STATUS: "none is Running",
    PREEMPTABLE: "none is preemptable",
    REACH: "no candidate victim",
}


class FunnelStage(Struct, frozen=True):
    """The number of tasks left after a filter; None if the search did not reach the filter."""

    name: str
    remaining: int | None


class NodeFunnel(Struct, frozen=True):
    """One node that an evicting action tried: the filters, what they left, and the outcome."""

    node: NodeName
    first_seq: Seq
    """The first event of the node's turn; for a turn without events the event that follows it."""
    stages: tuple[FunnelStage, ...]
    outcome: str
    decider: str
    """The plugin whose answer left no candidate in the last tier that was asked."""
    statement_end: str
    """`commit` or `discard` of the placement's statement; empty without a placement."""
    end: Seq
    decision: VictimDecision | None
    """What the plugins answered about the node's candidates; None if they were not asked."""
    evicts: bool
    """Whether a candidate was evicted there; a placement without one found the room idle or being released."""

    @property
    def is_candidate(self) -> bool:
        """Whether the node's dry run found victims."""
        return self.outcome.startswith(CANDIDATE)

    @property
    def stopped_at(self) -> str:
        """The filter that left no candidate; empty if victims are left."""
        return next((stage.name for stage in self.stages if stage.remaining == 0), "")

    @property
    def outcome_words(self) -> str:
        """The outcome of the node's turn in a few words."""
        if self.outcome == PLACED:
            placed = PLACED if self.evicts else f"{PLACED} without evictions"
            return f"{placed}, then discarded at {self.end}" if self.statement_end == "discard" else placed
        if self.outcome:
            return self.outcome
        return EMPTY_STAGE_WORDS.get(self.stopped_at) or (
            f"{self.decider} leaves no pod" if self.decider else "no victims"
        )


class VictimFunnel(Struct, frozen=True):
    """The search for victims of one task in one action, over all nodes."""

    action: str
    task: TaskKey
    seq: Seq
    """The event of the task's predicates, else of the beginning of its turn."""
    considered_count: int
    refused: int
    """Nodes that the predicates refused."""
    tried_nodes: tuple[NodeFunnel, ...]
    untried_nodes: tuple[NodeName, ...]
    """Feasible nodes that were never tried."""
    candidate_jobs: str
    """The jobs whose pods are candidates, in words."""
    visits_jobs_twice: bool
    """Whether the action visits each job twice, the second time to evict pods of the job itself."""
    is_within_job: bool
    """Whether preempt looks for victims in the task's own job."""
    end_reason: str
    """What ended the search before any node was checked; empty if nodes were checked."""


def funnel_at(recording: Recording, seq: Seq) -> VictimFunnel | None:
    """The victim search of the task around an event; None outside actions that evict pod by pod."""
    action, task = recording.span_tree.span_around(seq, Level.ACTION), recording.span_tree.span_around(seq, Level.TASK)
    if action is None or task is None or not recording.conf.facts_of(action.name).evicts_by_pod:
        return None
    return _build_funnel(recording, task.index, action.name)


def funnels_around(recording: Recording, seq: Seq, pod: TaskKey = "") -> tuple[VictimFunnel, ...]:
    """The victim searches of the evicting action around an event, of one pod if named; empty outside such an action."""
    action = recording.span_tree.span_around(seq, Level.ACTION)
    if action is None or not recording.conf.facts_of(action.name).evicts_by_pod:
        return ()
    spans = spans_inside(recording, action)
    tasks = [span for span in spans if span.level is Level.TASK and pod in ("", span.name)]
    return tuple(_build_funnel(recording, span.index, action.name) for span in tasks)


@per_recording(most=256)
def _build_funnel(recording: Recording, index: int, action: str) -> VictimFunnel:
    span = recording.spans[index]
    task = task_of(recording, span.name)
    two_turns = recording.conf.facts_of(action).within_jobs
    # preempt's second phase visits jobs without popping them from a queue.
    within = two_turns and not starts_after_pop(recording, recording.spans[span.parent])
    victim_filter = victim_filter_of(recording, action, task, within=within)
    turns = (child for child in spans_inside(recording, span) if child.level is Level.NODE)
    funnels = tuple(_build_node_funnel(recording, turn, victim_filter) for turn in turns)
    reach = _format_reach(recording, action, task, within=within)
    seq, search = next(recording.filter_events(PredicateEvent, span.seq_range), (span.first, None))
    # Some searches ask the predicates node by node, without one event for the whole pass.
    if search is None:
        checked, refused = _count_single_checks(recording, span)
        stopped = "" if checked else _stop_reason(recording, span, task)
        return VictimFunnel(action, task.key, seq, checked, refused, funnels, (), reach, two_turns, within, stopped)
    visited = dict.fromkeys(node_funnel.node for node_funnel in funnels)
    feasible = (recording.node_names[row] for row in search.feasible.tolist())
    untried = tuple(name for name in feasible if name not in visited)
    return VictimFunnel(
        action, task.key, seq, search.considered, len(search.failed), funnels, untried, reach, two_turns, within, ""
    )


def _count_single_checks(recording: Recording, span: Span) -> tuple[int, int]:
    """(number of nodes checked one by one outside a pass of predicates, number of those refused)."""
    turns = [child.name for child in spans_inside(recording, span) if child.level is Level.NODE]
    calls = recording.filter_events(HookEvent, span.seq_range)
    asked = [dict(event.subject)["node"] for _, event in calls if event.point == hooks.PREDICATE.upstream]
    checked = dict.fromkeys([*turns, *asked]) if turns else {}
    return len(checked), len([name for name in checked if name not in turns])


def _stop_reason(recording: Recording, span: Span, task: TaskInfo) -> str:
    if task.pod.preemption_policy == "Never":
        return "its preemptionPolicy is Never"
    for _, event in recording.filter_events(HookEvent, reversed(span.seq_range)):
        if event.point in (hooks.PREEMPTIVE.upstream, hooks.ALLOCATABLE.upstream) and event.result is False:
            return f"{event.plugin}: its queue may not reclaim"
        if event.point == hooks.PRE_PREDICATE.upstream and event.result is not None:
            return f"{event.plugin} objects before any node"
    if task.pod.nominated_node_name:
        return f"{task.pod.nominated_node_name} is already nominated for it"
    return "stopped before any node"


def _format_reach(recording: Recording, action: str, task: TaskInfo, *, within: bool) -> str:
    job = job_of(recording, task.key)
    queue = job.queue if job is not None else ""
    if recording.conf.facts_of(action).across_queues:
        return f"tasks of reclaimable queues other than {queue}"
    return "tasks of the same job" if within else f"tasks of other jobs in queue {queue}"


def _build_node_funnel(recording: Recording, turn: Span, victim_filter: CandidateFilter) -> NodeFunnel:
    keys = state_before(recording, turn.first).tasks_on(turn.name)
    # One pass of the action's filter: each stage of the funnel is a subset of the one before.
    rules = [victim_filter(task) for task in tasks_before(recording, keys, turn.first)]
    running = [rule for rule in rules if rule != NOT_RUNNING]
    preemptable = [rule for rule in running if rule != NOT_PREEMPTABLE]
    in_reach = [rule for rule in preemptable if not rule]
    counts = ((ON_NODE, rules), (STATUS, running), (PREEMPTABLE, preemptable), (REACH, in_reach))
    votes = (seq for seq, event in recording.filter_events(HookEvent, turn.seq_range) if event.point in VICTIM_POINTS)
    decision = next((victim_choice(recording, seq) for seq in votes), None)
    stages = [*(FunnelStage(name, len(remaining)) for name, remaining in counts), *_tier_stages(recording, decision)]
    operations = [*recording.filter_events(OpEvent, turn.seq_range)]
    evicts = any(event.op == EVICT_OP for _, event in operations)
    fate, end = next((ending_of(recording, seq, event) for seq, event in operations if event.op == "pipeline"), ("", 0))
    # A dry run has its own verdict: its operations are simulated and leave no statement.
    run = dry_run_at(recording, turn.first)
    outcome = run.outcome_words if run is not None else _node_outcome(recording, turn, decision)
    return NodeFunnel(
        turn.name, turn.first, _cut_after_empty(stages), outcome, _emptied_by(decision), fate, end, decision, evicts
    )


def _emptied_by(decision: VictimDecision | None) -> str:
    answered = decision.question.answered if decision is not None else []
    emptied = decision is not None and answered and not decision.question.tier_victims(answered[-1].tier)
    return answered[-1].plugin if emptied else ""


def _tier_stages(recording: Recording, decision: VictimDecision | None) -> Iterator[FunnelStage]:
    """Yields a stage per tier with the number of victims that it allows; a later tier is asked only if that is 0."""
    question = decision.question if decision is not None else None
    asked = {vote.tier for vote in question.answered} if question is not None else set()
    for number in victim_tiers(recording):
        remaining = len(question.tier_victims(number)) if question is not None and number in asked else None
        yield FunnelStage(f"tier {number}", remaining)
    yield FunnelStage(VICTIMS, len(decision.victims) if decision is not None else None)


@per_recording()
def victim_tiers(recording: Recording) -> tuple[int, ...]:
    """Tiers in which some plugin votes on victims."""
    plugin_calls = recording.session.plugin_calls
    methods = (hooks.PREEMPTABLE.method, hooks.RECLAIMABLE.method)
    size = len(recording.conf.tiers)
    return tuple(n for n in range(1, size + 1) if any(m in plugin_calls and plugin_calls[m][n - 1] for m in methods))


def _cut_after_empty(stages: Sequence[FunnelStage]) -> tuple[FunnelStage, ...]:
    """Drop the stages after an empty filter of the action itself; an empty tier does not end the funnel."""
    # After a tier that allows no victim the next tier is asked, so the stages after it count.
    ends = (at for at, one in enumerate(stages) if one.remaining == 0 and not one.name.startswith("tier"))
    end = next(ends, len(stages))
    return (*stages[: end + 1], *(FunnelStage(stage.name, None) for stage in stages[end + 1 :]))


def _node_outcome(recording: Recording, turn: Span, decision: VictimDecision | None) -> str:
    ops = [event.op for _, event in recording.filter_events(OpEvent, turn.seq_range)]
    placements = ops.count("pipeline")
    if placements:
        # Counted, since a task can be pipelined and undone more than once on a node.
        return TAKEN_BACK if ops.count("unpipeline") >= placements else PLACED
    room = None if decision is None else decision.room_equation
    if decision is None or room is None:
        return ""
    if not room.verdict:
        shortage = f"{TOO_FEW}: {room.deciding_name}" if room.deciding_name else TOO_FEW
        return shortage if decision.victims else ""
    calls = recording.filter_events(HookEvent, turn.seq_range)
    limits = [event for _, event in calls if event.point in QUEUE_LIMIT_POINTS]
    if limits and not limits[-1].result:
        return f"{limits[-1].plugin}: above the limit of the queue"
    return ENOUGH if not ops else TOO_FEW


QUEUE_POINTS: Final = (
    hooks.JOB_ENQUEUEABLE.upstream,
    hooks.ALLOCATABLE.upstream,
    hooks.SIMULATE_ALLOCATABLE.upstream,
    hooks.PREEMPTIVE.upstream,
)
"""Hooks whose answer depends on the limits of a queue."""


class Refusal(Struct, frozen=True):
    """Why a node or queue refused tasks of one job in one action."""

    job: JobId
    action: str
    reason: str
    tasks: tuple[TaskKey, ...]
    seq: Seq
    """The event of the first refusal."""


RefusalGroups = dict[tuple[JobId, str, str], list[tuple[Seq, TaskKey]]]
"""(job, action, reason) → (event, task) of each refusal; an empty task if the whole job was refused."""


def node_refusals(recording: Recording, node: NodeName) -> tuple[Refusal, ...]:
    """Refusals of tasks on a node, by predicates and by victim searches, ordered by first event."""
    jobs = recording.owners.jobs
    refusals = (*_predicate_refusals(recording, node), *_victim_search_refusals(recording, node))
    return _build_refusals(
        group_by_key(((jobs.get(task, ""), action, reason), (seq, task)) for seq, task, action, reason in refusals)
    )


def queue_refusals(recording: Recording, queue: QueueName) -> tuple[Refusal, ...]:
    """Refusals of a queue's jobs by its limits (admission, allocation, reclaim), grouped by job, action and hook."""
    grouped: RefusalGroups = {}
    for point in QUEUE_POINTS:
        for seq, event in recording.hook_calls(point):
            if event.result is not False and event.result != REJECT:
                continue
            # A call about a queue can name neither a job nor a task.
            tasks = event.candidates or ((event.task,) if event.task else ())
            job = event.job or (recording.owners.jobs.get(tasks[0], "") if tasks else "")
            if recording.owners.queues.get(job) == queue:
                key = (job, recording.span_tree.name_around(seq, Level.ACTION), f"{event.plugin} says no to {point}")
                grouped.setdefault(key, []).extend((seq, task) for task in tasks or ("",))
    return _build_refusals(grouped)


def _build_refusals(grouped: RefusalGroups) -> tuple[Refusal, ...]:
    refusals = [
        Refusal(job, action, reason, tuple(dict.fromkeys(task for _, task in entries if task)), entries[0][0])
        for (job, action, reason), entries in grouped.items()
    ]
    return tuple(sorted(refusals, key=lambda refusal: refusal.seq))


def _predicate_refusals(recording: Recording, node: NodeName) -> Iterator[tuple[Seq, TaskKey, str, str]]:
    row = recording.session.node_table.row_of[node]
    for seq, event in recording.events_of_type(PredicateEvent):
        indexes = np.flatnonzero(event.failed == row)
        if len(indexes):
            statuses = recording.reason_table.statuses_of(int(event.codes[int(indexes[0])]))
            reasons = ", ".join(status.reason for status in statuses)
            yield seq, event.task, recording.span_tree.name_around(seq, Level.ACTION), reasons


def _victim_search_refusals(recording: Recording, node: NodeName) -> Iterator[tuple[Seq, TaskKey, str, str]]:
    starts = (seq for seq, event in recording.events_of_type(ActionEvent) if event.what == "start")
    for search in (search for seq in starts for search in funnels_around(recording, seq)):
        for turn in search.tried_nodes:
            if turn.node == node and turn.outcome != PLACED:
                yield turn.first_seq, search.task, search.action, turn.outcome_words


# The bundles of victims that gang actions compare.

UNIFIED_POINT = hooks.UNIFIED_EVICTABLE.upstream
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

    need = sum_resources(task.init_resreq for task in pending_for_eviction(session, job))
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
) -> Iterator[BundleOutcome]:
    from vcdebug.actions import gang_eviction

    # Filtering replaces a bundle by a cut copy, so job and type identify it, not the object.
    kept: dict[tuple[JobId, gang_eviction.BundleType], tuple[tuple[TaskKey, ...], bool]] = {}
    victims: list[TaskInfo] = []
    for bundle in kept_bundles:
        victims += bundle.tasks
        room = free.clone().add(gang_eviction.sum_requests(victims))
        kept[bundle.job.uid, bundle.type] = tuple(task.key for task in bundle.tasks), need.less_equal(room)
    for bundle in bundles:
        kept_tasks, fits = kept.get((bundle.job.uid, bundle.type), ((), False))
        tasks, safe = tuple(task.key for task in bundle.tasks), bundle.type is gang_eviction.BundleType.SAFE
        protected, reason = [task.name for task in bundle.tasks if task.uid not in allowed], ""
        if len(kept_tasks) < len(tasks):
            reason = f"{'cut' if kept_tasks else 'dropped'}: the plugins keep {', '.join(protected)}"
            reason = reason if protected or safe or eviction.allow_whole_bundle else WHOLE_BUNDLES_OFF
        roi = gang_eviction.bundle_roi(bundle, need)
        yield BundleOutcome(safe, bundle.job.uid, tasks, bundle.local, bundle.job_sum, roi, kept_tasks, reason, fits)
