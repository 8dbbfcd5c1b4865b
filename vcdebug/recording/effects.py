"""What a cycle did: bound, pipelined and evicted pods, by action and by job.

Upstream: plugins/predicates (AllocateFunc, DeallocateFunc), framework/session (NodeMap).
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from msgspec import Struct

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
from vcdebug.snapshot.manifest import object_in, spec_of

if TYPE_CHECKING:
    from vcdebug.plugins.predicates import Predicates

COMMIT, DISCARD = "commit", "discard"
INCOMPLETE, REFUSED = "held: gang incomplete", "held: refused by the cache"
"""Outcomes of jobs with pods that are placed, but not bound."""


class Effect(Struct, frozen=True):
    """One task that the cycle bound, pipelined, held or evicted, and the event that made it final."""

    seq: Seq
    action: str
    job: JobId
    task: TaskKey
    node: NodeName


class ActionSummary(Struct, frozen=True):
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
    """running, bound, pipelined, INCOMPLETE, REFUSED, pending, evicted, leaving, incomplete or done."""

    @property
    def has_minimum(self) -> bool:
        """Whether it has minMember pods that are ready or have a reserved place."""
        return self.ready + self.waiting >= self.min_available

    @property
    def held_reason(self) -> str:
        """Why placed pods of the job are not bound, if it has such pods."""
        is_refused = self.has_minimum and self.outcome != INCOMPLETE
        return "the scheduler's cache refuses to bind it" if is_refused else "its gang is not complete"


class Effects(Struct, frozen=True):
    """The effects of a whole cycle, each list in the order of events."""

    bound: tuple[Effect, ...]
    pipelined: tuple[Effect, ...]
    """Pipelined onto resources that are still being released."""
    held: tuple[Effect, ...]
    """Placed, but not bound: too few pods of the gang were placed, or the scheduler's cache refuses the pod."""
    evicted: tuple[Effect, ...]
    actions: tuple[ActionSummary, ...]
    jobs: tuple[JobSummary, ...]
    panic: str | None


@per_recording()
def cycle_effects(recording: Recording) -> Effects:
    """The effects of the whole cycle."""
    final = _final_states(recording)
    evicted = tuple(effect for effect, _ in committed_evictions(recording))
    last = recording.last_event
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


def hyper_nodes_of_soft(recording: Recording, job: JobInfo) -> Counter[str]:
    """The number of pods of a job in each lowest HyperNode, `""` for none; empty unless its networkTopology is soft."""
    # As the manifest states it: releases turn a soft topology of the session into a hard one.
    is_soft = object_in(spec_of(job.pod_group.manifest).get("networkTopology")).get("mode") == "soft"
    nodes = [task.node_name for task in job.tasks.values() if task.node_name and is_soft]
    return Counter(map(recording.session.hyper_nodes.find_hyper_node_for_node, nodes))


@per_recording()
def committed_evictions(recording: Recording) -> Sequence[tuple[Effect, str]]:
    """(effect, reason) of every eviction that was committed, or made outside any statement."""
    jobs, carried_out = recording.owners.jobs, [one for one in evict_operations(recording) if one.is_carried_out]
    evictions = [
        (_new_effect(recording, end, jobs.get(event.task, ""), event.task, event.node), event.reason or "")
        for _, event, _, end in sorted(carried_out, key=lambda one: (one.end, one.seq))
    ]
    if recording.session.evicting is not None:
        task, node, reason = recording.session.evicting
        # The panic is the last event, and stands behind the action that it ended.
        action = recording.span_tree.name_around(len(recording) - 1, record.Level.ACTION)
        evictions.append((Effect(len(recording), action, jobs.get(task, ""), task, node), reason))
    return tuple(evictions)


def _new_effect(recording: Recording, seq: Seq, job: JobId, task: TaskKey, node: NodeName) -> Effect:
    return Effect(seq, recording.span_tree.name_around(seq, record.Level.ACTION), job, task, node)


def _final_states(recording: Recording) -> dict[TaskStatus, tuple[Effect, ...]]:
    """Tasks that ended the cycle bound, pipelined or only placed, with the event that placed them."""
    placed: dict[TaskKey, Seq] = {}
    handed_over: dict[TaskKey, Seq] = {}
    for seq in merge(*map(recording.index.seqs_of_type, (record.OpEvent, record.StatementEvent))):
        event = recording.event_at(seq)
        if isinstance(event, record.OpEvent) and event.op in (*record.PLACING_OPS, record.BIND_OP):
            placed[event.task] = seq
        elif isinstance(event, record.StatementEvent) and event.what == COMMIT:
            for kind, key, _ in event.ops:
                if kind != record.EVICT_OP:
                    placed[key] = seq
                if kind == record.ALLOCATE_OP:
                    handed_over.setdefault(key, seq)
    final: dict[TaskStatus, list[Effect]] = {TaskStatus.BINDING: [], TaskStatus.PIPELINED: [], TaskStatus.ALLOCATED: []}
    jobs = recording.owners.jobs
    for uid in dict.fromkeys(jobs[key] for key in placed if key in jobs):
        for task in recording.session.jobs[uid].tasks.values():
            # A bound pod stays bound even if a later action places it again: a job recovered by HyperNode keeps
            # the old status of its tasks.
            if task.key in handed_over and task.status is not TaskStatus.BINDING:
                history = recording.timeline.task_history(task.key)
                node = next((node for status, node in history if status is TaskStatus.BINDING), "")
                if node:
                    bound = _new_effect(recording, handed_over[task.key], uid, task.key, node)
                    final[TaskStatus.BINDING].append(bound)
            if task.status in final and task.key in placed:
                final[task.status].append(_new_effect(recording, placed[task.key], uid, task.key, task.node_name))
    return {status: tuple(sorted(entries, key=lambda e: (e.seq, e.task))) for status, entries in final.items()}


def _action_summaries(recording: Recording, *moved: tuple[Effect, ...]) -> Iterator[ActionSummary]:
    for index, outcome in action_outcomes(recording).items():
        span = recording.spans[index]
        counts = [len([entry for entry in entries if span.first <= entry.seq <= span.last]) for entries in moved]
        yield ActionSummary(span.name, span.first, span.last, outcome.commits, outcome.discards, *counts)


def _job_summary(job: JobInfo, moved: list[Counter[JobId]]) -> JobSummary:
    bound, pipelined, evicted = [by_job.get(job.uid, 0) for by_job in moved]
    return JobSummary(
        job.uid,
        job.queue,
        job.pod_group.phase,
        job.min_available,
        len(job.tasks),
        job.ready_task_num(),
        job.waiting_task_num(),
        job.count_tasks(TaskStatus.PENDING),
        bound,
        pipelined,
        evicted,
        _job_outcome(job, bound, pipelined, evicted),
    )


def _job_outcome(job: JobInfo, bound: int, pipelined: int, evicted: int) -> str:
    is_complete = job.check_task_ready() and job.check_sub_job_ready() and job.is_ready()
    outcomes = (
        ("evicted", evicted),
        ("bound", bound),
        ("pipelined", pipelined),
        (REFUSED if is_complete else INCOMPLETE, job.count_tasks(TaskStatus.ALLOCATED)),
        ("no pods", not job.tasks),
        ("pending", job.count_tasks(TaskStatus.PENDING)),
        ("pipelined", job.count_tasks(TaskStatus.PIPELINED)),
        ("running", job.count_tasks(TaskStatus.RUNNING, TaskStatus.BOUND)),
        ("leaving", job.count_tasks(TaskStatus.RELEASING)),
        ("done", job.valid_task_num() >= job.min_available),
    )
    return next((outcome for outcome, applies in outcomes if applies), "incomplete")


# Statements, and what became of the evictions in them.


class StatementSpan(Struct, frozen=True):
    """One statement: its operations, and how and at which event it ended."""

    ops: tuple[Seq, ...]
    end: Seq
    ending: str
    """`commit` or `discard`; empty if the recording ends before the statement."""
    undone_at: Seq
    """The last event of the rollback after a discard; equal to `end` if nothing is rolled back."""


@per_recording(most=64)
def statements_between(recording: Recording, first: Seq, last: Seq) -> list[StatementSpan]:
    """The statements of a range of events. A trial statement that is merged continues as part of its target."""
    statements: list[StatementSpan] = []
    pending_ops: list[Seq] = []
    for seq, event in enumerate(recording.events[first - 1 : last], first):
        if isinstance(event, record.OpEvent) and event.op in record.PLANNED_OPS and event.via is None:
            pending_ops.append(seq)
        elif isinstance(event, record.StatementEvent) and event.what in ("commit", "discard", "save"):
            # The latest operations: a trial statement inside another one ends first, so statements nest like a stack.
            op_seqs = pending_ops[len(pending_ops) - len(event.ops) :] if event.ops else []
            del pending_ops[len(pending_ops) - len(op_seqs) :]
            if event.what != "save":
                # A discard is followed by one undoing event per operation.
                undone = seq + (len(op_seqs) if event.what == "discard" else 0)
                statements.append(StatementSpan(tuple(op_seqs), seq, event.what, undone))
    if pending_ops:
        statements.append(StatementSpan(tuple(pending_ops), last, "", last))
    return statements


CARRIED_OUT_FATES = ("commit", "at once")
"""The fates of evictions that are carried out."""


def ending_of(recording: Recording, seq: Seq, event: record.OpEvent) -> tuple[str, Seq]:
    """(`commit`, `discard`, `at once` or empty, event) of the statement of an operation."""
    if event.via is not None:
        return "at once", seq
    action = recording.span_tree.span_around(seq, record.Level.ACTION)
    first, last = (action.first, action.last) if action is not None else (1, len(recording))
    return _fates_by_seq(recording, first, last).get(seq, ("", last))


@per_recording(most=64)
def _fates_by_seq(recording: Recording, first: Seq, last: Seq) -> Mapping[Seq, tuple[str, Seq]]:
    fates: dict[Seq, tuple[str, Seq]] = {}
    for span in statements_between(recording, first, last):
        for seq in span.ops:
            fates.setdefault(seq, (span.ending, span.end))
    return fates


def rollback_statement(recording: Recording, seq: Seq, event: record.OpEvent) -> Seq:
    """The discard, or the failed commit, that undoes an operation; 0 if it is undone outside any statement."""
    for earlier in range(seq - 1, 0, -1):
        before = recording.event_at(earlier)
        if isinstance(before, record.StatementEvent):
            ends_here = before.what in (COMMIT, DISCARD) and event.task in (task for _, task, _ in before.ops)
            return earlier if ends_here else 0
        # A statement undoes its operations right behind its own event.
        if not isinstance(before, record.OpEvent):
            return 0
    return 0


STATUS_BEFORE_UNDO: Final = {record.UNPIPELINE_OP: TaskStatus.PIPELINED, record.UNALLOCATE_OP: TaskStatus.ALLOCATED}
REFUSED_KEYS: Final = ("statement.unadded", "statement.refused")
"""Log lines about a placement that a node, or a plugin's handler, refuses."""


def is_refused_placement(recording: Recording, seq: Seq, event: record.OpEvent) -> bool:
    """Whether an operation only undoes a placement that was refused, and so was never in force."""
    status = recording.timeline.state_at(seq - 1).tasks[event.task].status
    return status is not STATUS_BEFORE_UNDO.get(event.op, status)


def refused_words(recording: Recording, seq: Seq, event: record.OpEvent) -> str:
    """Why a placement was undone outside any statement, in words, with the scheduler's log line if there is one."""
    lines = (line for line in recording.record.lines if line.seq == seq - 1 and line.key in REFUSED_KEYS)
    # Log lines name the task first, and the error last.
    error = next((str(line.values[-1]) for line in lines if line.values[0] == event.task), "")
    return f"the placement on {event.node} was refused{f' ({error})' if error else ''}, so it is rolled back"


class EvictOperation(NamedTuple):
    """One planned eviction, and the fate of its statement."""

    seq: Seq
    event: record.OpEvent
    fate: str
    """`commit` or `discard`, empty if the recording ends before that; `at once` outside any statement."""
    end: Seq

    @property
    def is_carried_out(self) -> bool:
        """Whether it happens."""
        return self.fate in CARRIED_OUT_FATES


@per_recording()
def evict_operations(recording: Recording) -> Sequence[EvictOperation]:
    """Every planned eviction of the cycle, in order."""
    evictions = recording.filter_events(record.OpEvent, timeline_marks(recording).evictions)
    return [EvictOperation(seq, event, *ending_of(recording, seq, event)) for seq, event in evictions]


# The outcome of each action, counted once for the whole recording: an action may have most of its events.

EventKind = TypeVar("EventKind")


class ActionOutcome(Struct, frozen=True):
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


class TimelineMarks(Struct, frozen=True):
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


class PodCount(Struct, frozen=True):
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
    for seq, event in recording.events_of_type(record.OpEvent):
        if event.node not in rows or event.op not in (*record.CHARGING_OPS, *record.RELEASING_OPS):
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
