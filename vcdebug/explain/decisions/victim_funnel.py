"""The search for victims as a funnel: per node, how many tasks are left after every filter, and which left none.

Upstream: actions/preempt, actions/reclaim.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from vcdebug.explain.decisions.dry_runs import CANDIDATE, dry_run_at
from vcdebug.explain.decisions.evictions import fate_of
from vcdebug.explain.decisions.votes import VICTIM_POINTS, VictimDecision, victim_choice
from vcdebug.explain.victim_candidates import victim_filter_of
from vcdebug.framework import hooks
from vcdebug.framework.action import NOT_PREEMPTABLE, NOT_RUNNING, CandidateFilter
from vcdebug.framework.plugin_answers import REJECT
from vcdebug.framework.record import ActionEvent, HookEvent, Level, OpEvent, PredicateEvent, Span
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId, NodeName, QueueName, Seq, TaskKey
from vcdebug.model.task import TaskInfo
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import job_of, state_before, task_of, tasks_before
from vcdebug.recording.visits import spans_inside, starts_after_pop

NEVER_PREEMPT: Final = "Never"
ON_NODE, STATUS, PREEMPTABLE, REACH, VICTIMS = "on it", "running", "preemptable", "in reach", "victims"
QUEUE_LIMIT_POINTS: Final = (hooks.ALLOCATABLE.upstream, hooks.SIMULATE_ALLOCATABLE.upstream)
PLACED, TAKEN_BACK, ENOUGH, TOO_FEW = "placed", "placed, rolled back", "enough room", "not enough room"
EMPTY_STAGE_WORDS: Final = {
    ON_NODE: "no task on it",
    STATUS: "none is Running",
    PREEMPTABLE: "none is preemptable",
    REACH: "none in reach",
}


class FunnelStage(NamedTuple):
    """How many tasks are left after a filter; None where it was not reached."""

    name: str
    left: int | None


@dataclass(frozen=True, slots=True)
class NodeFunnel:
    """One node that was tried."""

    node: NodeName
    first: Seq
    """The event with which its turn begins; of a turn without events the one that follows."""
    stages: tuple[FunnelStage, ...]
    outcome: str
    by: str
    """The plugin whose answer left no candidate in the last tier that was asked."""
    fate: str
    """What became of a placement: commit, discard, or nothing."""
    end: Seq

    @property
    def is_candidate(self) -> bool:
        """Whether it is a dry run that found victims."""
        return self.outcome.startswith(CANDIDATE)

    @property
    def stopped_at(self) -> str:
        """The filter that left no candidate; empty if victims are left."""
        return next((stage.name for stage in self.stages if stage.left == 0), "")

    @property
    def outcome_words(self) -> str:
        """How it ended."""
        if self.outcome == PLACED and self.fate == "discard":
            return f"placed, then discarded at {self.end}"
        if self.outcome:
            return self.outcome
        return EMPTY_STAGE_WORDS.get(self.stopped_at) or (f"{self.by} leaves no pod" if self.by else "no victims")


@dataclass(frozen=True, slots=True)
class VictimFunnel:
    """One task's search."""

    action: str
    task: TaskKey
    seq: Seq
    """The event of its predicates, else of its beginning."""
    considered: int
    refused: int
    """Nodes that the predicates refused."""
    tried: tuple[NodeFunnel, ...]
    never: tuple[NodeName, ...]
    """Feasible nodes that were never tried."""
    reach: str
    """The jobs whose pods are candidates, in words."""
    two_turns: bool
    """Whether the action visits each job twice, the second time to evict pods of the job itself."""
    within: bool
    """Whether preempt looks inside the task's own job."""
    stopped: str
    """What ended it before any node was checked; empty if nodes were."""


def funnel_at(recording: Recording, seq: Seq) -> VictimFunnel | None:
    """The search that an event belongs to."""
    action, task = recording.span_tree.span_around(seq, Level.ACTION), recording.span_tree.span_around(seq, Level.TASK)
    if action is None or task is None or not recording.conf.facts_of(action.name).evicts_by_pod:
        return None
    return _build_funnel(recording, task.index, action.name)


def funnels_around(recording: Recording, seq: Seq) -> tuple[VictimFunnel, ...]:
    """Every search of the evicting action around an event."""
    action = recording.span_tree.span_around(seq, Level.ACTION)
    if action is None or not recording.conf.facts_of(action.name).evicts_by_pod:
        return ()
    tasks = [span for span in spans_inside(recording, action) if span.level is Level.TASK]
    return tuple(_build_funnel(recording, span.index, action.name) for span in tasks)


@per_recording(most=256)
def _build_funnel(recording: Recording, index: int, action: str) -> VictimFunnel:
    span = recording.spans[index]
    task = task_of(recording, span.name)
    twice = recording.conf.facts_of(action).within_jobs
    # preempt's second phase visits jobs without popping them from a queue.
    within = twice and not starts_after_pop(recording, recording.spans[span.parent])
    spares = victim_filter_of(recording, action, task, within=within)
    turns = (inner for inner in spans_inside(recording, span) if inner.level is Level.NODE)
    tried = tuple(_build_node_funnel(recording, turn, spares) for turn in turns)
    reach = _format_reach(recording, action, task, within=within)
    at, search = next(recording.filter_events(PredicateEvent, span.seq_range), (span.first, None))
    # Some searches ask the predicates node by node, without one event for the whole pass.
    if search is None:
        asked, refused = _count_single_asks(recording, span)
        stopped = "" if asked else _stop_reason(recording, span, task)
        return VictimFunnel(action, task.key, at, asked, refused, tried, (), reach, twice, within, stopped)
    visited = dict.fromkeys(each.node for each in tried)
    feasible = (recording.node_names[row] for row in search.feasible.tolist())
    never = tuple(name for name in feasible if name not in visited)
    return VictimFunnel(
        action, task.key, at, search.considered, len(search.failed), tried, never, reach, twice, within, ""
    )


def _count_single_asks(recording: Recording, span: Span) -> tuple[int, int]:
    """(nodes that the predicates were asked about outside a search, those of them that they refused)."""
    turns = [inner.name for inner in spans_inside(recording, span) if inner.level is Level.NODE]
    answers = (
        event
        for _, event in recording.filter_events(HookEvent, span.seq_range)
        if event.point == hooks.PREDICATE.upstream
    )
    asked = dict.fromkeys([*turns, *(dict(event.subject)["node"] for event in answers)]) if turns else {}
    return len(asked), len([name for name in asked if name not in turns])


def _stop_reason(recording: Recording, span: Span, task: TaskInfo) -> str:
    if task.pod.preemption_policy == NEVER_PREEMPT:
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
    own = job_of(recording, task.key)
    queue = own.queue if own is not None else ""
    if recording.conf.facts_of(action).across_queues:
        return f"tasks of reclaimable queues other than {queue}"
    return "tasks of the same job" if within else f"tasks of other jobs in queue {queue}"


def _build_node_funnel(recording: Recording, turn: Span, spares: CandidateFilter) -> NodeFunnel:
    keys = state_before(recording, turn.first).tasks_on(turn.name)
    # One pass of the action's filter: each stage of the funnel is a subset of the one before.
    rules = [spares(task) for task in tasks_before(recording, keys, turn.first)]
    running = [rule for rule in rules if rule != NOT_RUNNING]
    willing = [rule for rule in running if rule != NOT_PREEMPTABLE]
    inside = [rule for rule in willing if not rule]
    counts = ((ON_NODE, rules), (STATUS, running), (PREEMPTABLE, willing), (REACH, inside))
    choice = _victim_choice_in(recording, turn)
    stages = [*(FunnelStage(name, len(left)) for name, left in counts), *_tier_stages(recording, choice)]
    operations = recording.filter_events(OpEvent, turn.seq_range)
    fate, end = next((fate_of(recording, seq, event) for seq, event in operations if event.op == "pipeline"), ("", 0))
    # A dry run has its own verdict: its operations are simulated and leave no statement.
    run = dry_run_at(recording, turn.first)
    outcome = run.outcome_words if run is not None else _node_outcome(recording, turn, choice)
    return NodeFunnel(turn.name, turn.first, _cut_after_empty(stages), outcome, _emptied_by(choice), fate, end)


def _emptied_by(choice: VictimDecision | None) -> str:
    offers = [offer for tier in choice.tiers for offer in tier.offers] if choice is not None else []
    answered = [offer for offer in offers if offer.seat.state == "answered"]
    return answered[-1].seat.plugin if answered and not answered[-1].left else ""


def _victim_choice_in(recording: Recording, turn: Span) -> VictimDecision | None:
    asked = (seq for seq, event in recording.filter_events(HookEvent, turn.seq_range) if event.point in VICTIM_POINTS)
    return next((victim_choice(recording, seq) for seq in asked), None)


def _tier_stages(recording: Recording, choice: VictimDecision | None) -> Iterator[FunnelStage]:
    """What each tier leaves of the candidates; the next tier is asked only if it leaves none."""
    asked = {tier.number: tier for tier in choice.tiers} if choice is not None else {}
    for number in tiers_asked(recording):
        tier = asked.get(number)
        answered = tier is not None and any(offer.seat.state == "answered" for offer in tier.offers)
        yield FunnelStage(f"tier {number}", len(tier.victims) if tier is not None and answered else None)
    yield FunnelStage(VICTIMS, len(choice.victims) if choice is not None else None)


@per_recording()
def tiers_asked(recording: Recording) -> tuple[int, ...]:
    """Tiers in which some plugin has a say about victims."""
    plugin_calls = recording.session.plugin_calls
    methods = (hooks.PREEMPTABLE.method, hooks.RECLAIMABLE.method)
    size = len(recording.conf.tiers)
    return tuple(n for n in range(1, size + 1) if any(m in plugin_calls and plugin_calls[m][n - 1] for m in methods))


def _cut_after_empty(stages: Sequence[FunnelStage]) -> tuple[FunnelStage, ...]:
    """Drop the stages after an empty filter of the action itself; an empty tier does not end the funnel."""
    found: list[FunnelStage] = []
    empty = False
    for stage in stages:
        found.append(FunnelStage(stage.name, None) if empty else stage)
        # A tier without victims passes the question on, so the stages after it count.
        empty = empty or (stage.left == 0 and not stage.name.startswith("tier"))
    return tuple(found)


def _node_outcome(recording: Recording, turn: Span, choice: VictimDecision | None) -> str:
    ops = [event.op for _, event in recording.filter_events(OpEvent, turn.seq_range)]
    placed = ops.count("pipeline")
    if placed:
        # Counted, since a task can be pipelined and undone more than once on a node.
        return TAKEN_BACK if ops.count("unpipeline") >= placed else PLACED
    if choice is None or choice.room is None:
        return ""
    if not choice.room.verdict:
        short = f"{TOO_FEW}: {choice.room.deciding}" if choice.room.deciding else TOO_FEW
        return short if choice.victims else ""
    limits = [
        event for _, event in recording.filter_events(HookEvent, turn.seq_range) if event.point in QUEUE_LIMIT_POINTS
    ]
    if limits and not limits[-1].result:
        return f"{limits[-1].plugin}: above the limit of the queue"
    return ENOUGH if not ops else TOO_FEW


QUEUE_POINTS: Final = (
    hooks.JOB_ENQUEUEABLE.upstream,
    hooks.ALLOCATABLE.upstream,
    hooks.SIMULATE_ALLOCATABLE.upstream,
    hooks.PREEMPTIVE.upstream,
)
"""Hooks that answer for a queue."""


class Refusal(NamedTuple):
    """Why a node or queue refused tasks of one job in one action."""

    job: JobId
    action: str
    why: str
    tasks: tuple[TaskKey, ...]
    seq: Seq
    """The first time."""


RefusalGroups = dict[tuple[JobId, str, str], list[tuple[Seq, TaskKey]]]
"""Job, action and reason → when, and for which task; no task where the job as a whole was refused."""


def node_refusals(recording: Recording, node: NodeName) -> tuple[Refusal, ...]:
    """By the predicates, and where victims were looked for in vain; in the order of the first time."""
    jobs = recording.owners.jobs
    refused = (*_predicate_refusals(recording, node), *_victim_search_refusals(recording, node))
    return _build_refusals(
        group_by_key(((jobs.get(task, ""), action, why), (seq, task)) for seq, task, action, why in refused)
    )


def queue_refusals(recording: Recording, queue: QueueName) -> tuple[Refusal, ...]:
    """What was refused for a queue: admission, room for tasks, reclaiming; each plugin and hook once per job."""
    together: RefusalGroups = {}
    for point in QUEUE_POINTS:
        for seq, event in recording.hook_calls(point):
            if event.result is not False and event.result != REJECT:
                continue
            job, tasks = _job_and_tasks(recording, event)
            if recording.owners.queues.get(job) == queue:
                key = (job, recording.span_tree.name_around(seq, Level.ACTION), f"{event.plugin} says no to {point}")
                together.setdefault(key, []).extend((seq, task) for task in tasks or ("",))
    return _build_refusals(together)


def _build_refusals(together: RefusalGroups) -> tuple[Refusal, ...]:
    found = [
        Refusal(job, action, why, tuple(dict.fromkeys(task for _, task in entries if task)), entries[0][0])
        for (job, action, why), entries in together.items()
    ]
    return tuple(sorted(found, key=lambda refusal: refusal.seq))


def _job_and_tasks(recording: Recording, event: HookEvent) -> tuple[JobId, tuple[TaskKey, ...]]:
    """(job, its tasks) that a queue was asked about."""
    tasks = event.candidates or ((event.task,) if event.task else ())
    return event.job or (recording.owners.jobs.get(tasks[0], "") if tasks else ""), tasks


def _predicate_refusals(recording: Recording, node: NodeName) -> Iterator[tuple[Seq, TaskKey, str, str]]:
    row = recording.session.node_table.row_of[node]
    for seq, event in recording.events_of_type(PredicateEvent):
        places = np.flatnonzero(event.failed == row)
        if len(places):
            statuses = recording.reason_table.statuses_of(int(event.codes[int(places[0])]))
            why = ", ".join(status.reason for status in statuses)
            yield seq, event.task, recording.span_tree.name_around(seq, Level.ACTION), why


def _victim_search_refusals(recording: Recording, node: NodeName) -> Iterator[tuple[Seq, TaskKey, str, str]]:
    starts = (seq for seq, event in recording.events_of_type(ActionEvent) if event.what == "start")
    for search in (search for seq in starts for search in funnels_around(recording, seq)):
        for turn in search.tried:
            if turn.node == node and turn.outcome != PLACED:
                yield turn.first, search.task, search.action, turn.outcome_words
