"""What a cycle did: bound, pipelined and evicted pods, by action and by job.

Upstream: plugins/predicates (AllocateFunc, DeallocateFunc), framework/session (NodeMap).
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from vcdebug.framework import record
from vcdebug.framework.hooks import JOB_ENQUEUEABLE
from vcdebug.framework.quirks import VIEW_LOST_POD
from vcdebug.kube.dynamic_resources import ReservedClaim
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName, QueueName, Seq, TaskKey
from vcdebug.model.task import TaskStatus
from vcdebug.plugins import PREDICATES
from vcdebug.recording.event_index import seqs_during
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.session_steps import event_handlers

if TYPE_CHECKING:
    from vcdebug.plugins.predicates import Predicates

COMMIT, DISCARD = "commit", "discard"


@dataclass(frozen=True, slots=True)
class Effect:
    """One task that the cycle bound, pipelined, held or evicted, and the event that made it final."""

    seq: Seq
    action: str
    job: JobId
    task: TaskKey
    node: NodeName


@dataclass(frozen=True, slots=True)
class ActionSummary:
    """What one action did."""

    action: str
    first: Seq
    last: Seq
    commits: int
    discards: int
    bound: int
    pipelined: int
    evicted: int


class JobSummary(NamedTuple):
    """A job after the cycle."""

    job: JobId
    queue: QueueName
    phase: str
    min_available: int
    tasks: int
    ready: int
    waiting: int
    pending: int
    bound: int
    pipelined: int
    evicted: int
    outcome: str
    """running, bound, pipelined, held: gang incomplete, pending, evicted, leaving, incomplete or done."""


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of a whole cycle, each list in the order of events."""

    bound: tuple[Effect, ...]
    pipelined: tuple[Effect, ...]
    """Pipelined onto resources that are still being released."""
    held: tuple[Effect, ...]
    """Placed, but not bound: too few pods of the gang were placed."""
    evicted: tuple[Effect, ...]
    actions: tuple[ActionSummary, ...]
    jobs: tuple[JobSummary, ...]
    panic: str | None


@per_recording()
def cycle_effects(recording: Recording) -> Effects:
    """The effects of the whole cycle."""
    final = _final_states(recording)
    evicted = tuple(effect for effect, _ in committed_evictions(recording))
    last = recording.event_at(len(recording)) if len(recording) else None
    bound, pipelined, allocated = (final[s] for s in (TaskStatus.BINDING, TaskStatus.PIPELINED, TaskStatus.ALLOCATED))
    counts = [Counter(effect.job for effect in moved) for moved in (bound, pipelined, evicted)]
    return Effects(
        bound,
        pipelined,
        allocated,
        evicted,
        tuple(_action_summaries(recording, bound, pipelined, evicted)),
        tuple(_job_summary(job, counts) for job in recording.session.jobs.values()),
        last.message if isinstance(last, record.PanicEvent) else None,
    )


def deciding_events(recording: Recording) -> Iterator[tuple[Seq, record.Event]]:
    """Events that decide the outcome: operations, statements and actions, in order."""
    index = recording.index
    for seq in merge(
        *(index.seqs_of_type(kind) for kind in (record.ActionEvent, record.OpEvent, record.StatementEvent))
    ):
        yield seq, recording.event_at(seq)


@per_recording()
def committed_evictions(recording: Recording) -> Sequence[tuple[Effect, str]]:
    """(effect, reason) of every eviction that was committed, or made outside any statement."""
    return tuple(_iter_evictions(recording))


def _iter_evictions(recording: Recording) -> Iterator[tuple[Effect, str]]:
    action = ""
    reasons: dict[TaskKey, str] = {}
    jobs = recording.owners.jobs
    for seq, event in deciding_events(recording):
        moved: Iterable[tuple[TaskKey, NodeName]] = ()
        if isinstance(event, record.ActionEvent):
            action = event.action
        elif isinstance(event, record.StatementEvent) and event.what == COMMIT:
            moved = [(task, node) for kind, task, node in event.ops if kind == record.EVICT_OP]
        elif isinstance(event, record.OpEvent) and event.op == record.EVICT_OP:
            reasons[event.task] = event.reason or ""
            moved = [(event.task, event.node)] if event.via is not None else ()
        for task, node in moved:
            yield Effect(seq, action, jobs.get(task, ""), task, node), reasons.get(task, "")
    if recording.session.evicting is not None:
        task, node, reason = recording.session.evicting
        yield Effect(len(recording), action, jobs.get(task, ""), task, node), reason


def _final_states(recording: Recording) -> dict[TaskStatus, tuple[Effect, ...]]:
    """Tasks that ended the cycle bound, pipelined or only placed, with the event that placed them."""
    placed: dict[TaskKey, tuple[Seq, str]] = {}
    handed_over: dict[TaskKey, tuple[Seq, str]] = {}
    action = ""
    for seq, event in deciding_events(recording):
        if isinstance(event, record.ActionEvent):
            action = event.action
        elif isinstance(event, record.OpEvent) and event.op in (*record.PLACING_OPS, record.BIND_OP):
            placed[event.task] = (seq, action)
        elif isinstance(event, record.StatementEvent) and event.what == COMMIT:
            for kind, key, _ in event.ops:
                if kind != record.EVICT_OP:
                    placed[key] = (seq, action)
                if kind == record.ALLOCATE_OP:
                    handed_over.setdefault(key, (seq, action))
    final: dict[TaskStatus, list[Effect]] = {TaskStatus.BINDING: [], TaskStatus.PIPELINED: [], TaskStatus.ALLOCATED: []}
    jobs = recording.owners.jobs
    for uid in dict.fromkeys(jobs[key] for key in placed if key in jobs):
        for task in recording.session.jobs[uid].tasks.values():
            # A bound pod stays bound even if a later action places it again: a job recovered by HyperNode keeps
            # the old status of its tasks.
            if task.key in handed_over and task.status is not TaskStatus.BINDING:
                node = _node_bound_before(recording, task.key)
                if node:
                    final[TaskStatus.BINDING].append(Effect(*handed_over[task.key], uid, task.key, node))
            if task.status in final and task.key in placed:
                final[task.status].append(Effect(*placed[task.key], uid, task.key, task.node_name))
    return {status: tuple(sorted(entries, key=lambda e: (e.seq, e.task))) for status, entries in final.items()}


def _node_bound_before(recording: Recording, task: TaskKey) -> NodeName:
    """The node of the task's first Binding status in this cycle; empty where it had none."""
    return next((node for status, node in recording.timeline.task_history(task) if status is TaskStatus.BINDING), "")


def _action_summaries(
    recording: Recording, bound: tuple[Effect, ...], pipelined: tuple[Effect, ...], evicted: tuple[Effect, ...]
) -> Iterator[ActionSummary]:
    open_action: tuple[str, Seq] | None = None
    commits = discards = 0
    for seq, event in deciding_events(recording):
        if isinstance(event, record.StatementEvent):
            commits += event.what == COMMIT and bool(event.ops)
            discards += event.what == DISCARD and bool(event.ops)
        elif isinstance(event, record.ActionEvent) and event.what == "start":
            open_action, commits, discards = (event.action, seq), 0, 0
        elif isinstance(event, record.ActionEvent) and open_action is not None:
            name, first = open_action
            counts = (_count_within(entries, first, seq) for entries in (bound, pipelined, evicted))
            yield ActionSummary(name, first, seq, commits, discards, *counts)


def _count_within(entries: tuple[Effect, ...], first: Seq, last: Seq) -> int:
    return len([entry for entry in entries if first <= entry.seq <= last])


def _job_summary(job: JobInfo, moved: list[Counter[JobId]]) -> JobSummary:
    counts = tuple([by_job.get(job.uid, 0) for by_job in moved])
    return JobSummary(
        job.uid,
        job.queue,
        job.pod_group.phase,
        job.min_available,
        len(job.tasks),
        job.ready_task_num(),
        job.waiting_task_num(),
        job.count_tasks(TaskStatus.PENDING),
        counts[0],
        counts[1],
        counts[2],
        _job_outcome(job, counts),
    )


def _job_outcome(job: JobInfo, counts: tuple[int, ...]) -> str:
    bound, pipelined, evicted = counts
    if evicted:
        return "evicted"
    if bound:
        return "bound"
    if pipelined:
        return "pipelined"
    if job.count_tasks(TaskStatus.ALLOCATED):
        return "held: gang incomplete"
    if not job.tasks:
        return "no pods"
    if job.count_tasks(TaskStatus.PENDING):
        return "pending"
    if job.count_tasks(TaskStatus.PIPELINED):
        return "pipelined"
    if job.count_tasks(TaskStatus.RUNNING, TaskStatus.BOUND):
        return "running"
    if job.count_tasks(TaskStatus.RELEASING):
        return "leaving"
    return "done" if job.valid_task_num() >= job.min_available else "incomplete"


# The outcome of each action, counted once for the whole recording: an action may have most of its events.

EventKind = TypeVar("EventKind")


class ActionOutcome(NamedTuple):
    """The counts of one action."""

    popped: int
    """Jobs popped off the queues."""
    rejected: int
    """Jobs whose admission a plugin rejected."""
    commits: int
    """Committed statements with operations."""
    discards: int
    bound: int
    """Tasks bound outside any statement."""


@per_recording()
def action_outcomes(recording: Recording) -> Mapping[int, ActionOutcome]:
    """Index of the action's span → its counts."""
    actions = (span for span in recording.span_tree.children_of(None) if span.level is record.Level.ACTION)
    return {span.index: _count_outcome(recording, span) for span in actions}


def _count_outcome(recording: Recording, span: record.Span) -> ActionOutcome:
    fates = [statement.what for statement in _events_within(recording, record.StatementEvent, span) if statement.ops]
    enqueue_calls = recording.filter_events(
        record.HookEvent, seqs_during(recording.index.seqs_at_point(JOB_ENQUEUEABLE.upstream), span)
    )
    return ActionOutcome(
        len([event for event in _events_within(recording, record.PopEvent, span) if event.kind == "job"]),
        len(dict.fromkeys(job for job, _ in iter_rejections(event for _, event in enqueue_calls))),
        fates.count("commit"),
        fates.count("discard"),
        len([event for event in _events_within(recording, record.OpEvent, span) if event.op == "bind"]),
    )


def _events_within(recording: Recording, kind: type[EventKind], span: record.Span) -> Iterator[EventKind]:
    for _, event in recording.filter_events(kind, seqs_during(recording.index.seqs_of_type(kind), span)):
        yield event


def iter_rejections(events: Iterable[record.Event]) -> Iterator[tuple[JobId, str]]:
    """(job, plugin that rejected its admission)."""
    for event in events:
        if isinstance(event, record.HookEvent) and event.point == JOB_ENQUEUEABLE.upstream and event.result == -1:
            yield event.job, event.plugin


# The events that a timeline marks: statements with operations, evictions, and the starts of actions.


class TimelineMarks(NamedTuple):
    """Event numbers that a timeline shows."""

    commits: Sequence[Seq]
    discards: Sequence[Seq]
    evictions: Sequence[Seq]
    actions: Sequence[Seq]


@per_recording()
def timeline_marks(recording: Recording) -> TimelineMarks:
    """The marks of the whole cycle."""
    commits, discards, evictions, actions = array("I"), array("I"), array("I"), array("I")
    for seq, statement in recording.events_of_type(record.StatementEvent):
        if statement.ops and statement.what in ("commit", "discard"):
            (commits if statement.what == "commit" else discards).append(seq)
    evictions.extend(seq for seq, event in recording.events_of_type(record.OpEvent) if event.op == "evict")
    actions.extend(seq for seq, event in recording.events_of_type(record.ActionEvent) if event.what == "start")
    return TimelineMarks(commits, discards, evictions, actions)


# How many pods the Kubernetes view of nodes holds, operation by operation, as predicates' event handler changes it.

VIEW_PLUGIN: Final = PREDICATES
"""The plugin that keeps the view in step with the session."""


class PodCount(NamedTuple):
    """How many pods a node of the view holds around one operation."""

    before: int
    after: int


def pods_in_view(recording: Recording, seq: Seq) -> PodCount | None:
    """The counts of the operation's node; None where predicates is not configured, or the view has no such node."""
    return _pod_counts(recording).get(seq)


@per_recording()
def _pod_counts(recording: Recording) -> Mapping[Seq, PodCount]:
    # Backward from the counts after the cycle: the session keeps no counts of the opening.
    if VIEW_PLUGIN not in dict(event_handlers(recording)):
        return {}
    steps = _pod_count_steps(recording)
    view = recording.session.view
    pods_on_node: dict[NodeName, int] = {name: int(view.pod_count[row]) for name, row in view.row_of.items()}
    pod_counts: dict[Seq, PodCount] = {}
    for seq, node, step in reversed(steps):
        pod_counts[seq] = PodCount(pods_on_node[node] - step, pods_on_node[node])
        pods_on_node[node] -= step
    return pod_counts


def _pod_count_steps(recording: Recording) -> list[tuple[Seq, NodeName, int]]:
    """(operation, node, change of the count); 0 if the view refused to add the pod, also when it leaves."""
    steps: list[tuple[Seq, NodeName, int]] = []
    lost_pods: dict[TaskKey, None] = {}
    rows = recording.session.view.row_of
    for seq in recording.index.seqs_of_type(record.OpEvent):
        event = recording.event_at(seq)
        if (
            not isinstance(event, record.OpEvent)
            or event.node not in rows
            or event.op not in (*record.CHARGING_OPS, *record.RELEASING_OPS)
        ):
            continue
        if event.op in record.RELEASING_OPS:
            steps.append((seq, event.node, 0 if event.task in lost_pods else -1))
        elif any(note.code == VIEW_LOST_POD for note in recording.notes_at(seq)):
            lost_pods[event.task] = None
            steps.append((seq, event.node, 0))
        else:
            lost_pods.pop(event.task, None)
            steps.append((seq, event.node, 1))
    return steps


def reserved_claims(recording: Recording) -> Mapping[str, ReservedClaim]:
    """`namespace/name` of each claim still being allocated at the end of the cycle → its devices."""
    plugin = _predicates_of(recording)
    claims = plugin.claim_filter if plugin is not None else None
    return {} if claims is None else claims.in_flight_claims


def reserved_volumes(recording: Recording) -> Mapping[str, str]:
    """`namespace/name` of each volume claim that the cycle reserves → its volume, or where one is provisioned."""
    plugin = _predicates_of(recording)
    volumes = plugin.volume_filter if plugin is not None else None
    return {} if volumes is None else volumes.reserved_volumes()


def _predicates_of(recording: Recording) -> "Predicates | None":
    from vcdebug.plugins.predicates import Predicates  # a session without the plugin does not load it

    plugin = recording.session.plugins.get(PREDICATES)
    return plugin if isinstance(plugin, Predicates) else None
