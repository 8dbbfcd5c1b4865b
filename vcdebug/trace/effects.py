"""What a cycle did: who was bound, pipelined and evicted, by action and by job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import NamedTuple

from vcdebug.framework.record import (
    ALLOCATE_OP,
    BIND_OP,
    EVICT_OP,
    PLACING_OPS,
    ActionEvent,
    Event,
    OpEvent,
    PanicEvent,
    StatementEvent,
)
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName, QueueName, Seq, TaskKey
from vcdebug.model.status import TaskStatus
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

COMMIT, DISCARD = "commit", "discard"


@dataclass(frozen=True, slots=True)
class Effect:
    """One task that the cycle moved, and the event that made it final."""

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
    """Where a job stands after the cycle."""

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
    """running, bound, pipelined, waits for its gang, pending, evicted, leaving, incomplete or done."""


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of a whole cycle, each list in the order of events."""

    bound: tuple[Effect, ...]
    pipelined: tuple[Effect, ...]
    """Planned on room that is still being released."""
    held: tuple[Effect, ...]
    """Placed, but not bound: too few of the gang found a place."""
    evicted: tuple[Effect, ...]
    actions: tuple[ActionSummary, ...]
    jobs: tuple[JobSummary, ...]
    panic: str | None


@per_recording()
def cycle_effects(recording: Recording) -> Effects:
    """Everything the cycle would write to the API server, summed up."""
    final = _final_states(recording)
    lost = tuple(effect for effect, _ in committed_evictions(recording))
    last = recording.event_at(len(recording)) if len(recording) else None
    bound, pipelined, held = (final[s] for s in (TaskStatus.BINDING, TaskStatus.PIPELINED, TaskStatus.ALLOCATED))
    counts = [Counter(effect.job for effect in moved) for moved in (bound, pipelined, lost)]
    return Effects(
        bound,
        pipelined,
        held,
        lost,
        tuple(_action_summaries(recording, bound, pipelined, lost)),
        tuple(_job_summary(job, counts) for job in recording.session.jobs.values()),
        last.message if isinstance(last, PanicEvent) else None,
    )


def deciding_events(recording: Recording) -> Iterator[tuple[Seq, Event]]:
    """Operations, statements and actions, in order."""
    index = recording.index
    for seq in merge(*(index.seqs_of_type(kind) for kind in (ActionEvent, OpEvent, StatementEvent))):
        yield seq, recording.event_at(seq)


@per_recording()
def committed_evictions(recording: Recording) -> Sequence[tuple[Effect, str]]:
    """(effect, reason) of every eviction that was committed, or begun outside any statement."""
    return tuple(_iter_evictions(recording))


def _iter_evictions(recording: Recording) -> Iterator[tuple[Effect, str]]:
    action = ""
    reasons: dict[TaskKey, str] = {}
    jobs = recording.owners.jobs
    for seq, event in deciding_events(recording):
        moved: Iterable[tuple[TaskKey, NodeName]] = ()
        if isinstance(event, ActionEvent):
            action = event.action
        elif isinstance(event, StatementEvent) and event.what == COMMIT:
            moved = [(task, node) for kind, task, node in event.ops if kind == EVICT_OP]
        elif isinstance(event, OpEvent) and event.op == EVICT_OP:
            reasons[event.task] = event.reason or ""
            moved = [(event.task, event.node)] if event.via is not None else ()
        for task, node in moved:
            yield Effect(seq, action, jobs.get(task, ""), task, node), reasons.get(task, "")
    if recording.session.evicting is not None:
        task, node, reason = recording.session.evicting
        yield Effect(len(recording), action, jobs.get(task, ""), task, node), reason


def _final_states(recording: Recording) -> dict[TaskStatus, tuple[Effect, ...]]:
    """Tasks that ended the cycle bound, pipelined or merely placed, with the event that placed them.

    What was bound stays bound, though a later action may try the pod again: a job that was recovered by hypernode keeps
    its tasks as they were.
    """
    placed: dict[TaskKey, tuple[Seq, str]] = {}
    handed_over: dict[TaskKey, tuple[Seq, str]] = {}
    action = ""
    for seq, event in deciding_events(recording):
        if isinstance(event, ActionEvent):
            action = event.action
        elif isinstance(event, OpEvent) and event.op in (*PLACING_OPS, BIND_OP):
            placed[event.task] = (seq, action)
        elif isinstance(event, StatementEvent) and event.what == COMMIT:
            for kind, key, _ in event.ops:
                if kind != EVICT_OP:
                    placed[key] = (seq, action)
                if kind == ALLOCATE_OP:
                    handed_over.setdefault(key, (seq, action))
    found: dict[TaskStatus, list[Effect]] = {
        TaskStatus.BINDING: [],
        TaskStatus.PIPELINED: [],
        TaskStatus.ALLOCATED: [],
    }
    jobs = recording.owners.jobs
    for uid in dict.fromkeys(jobs[key] for key in placed if key in jobs):
        for task in recording.session.jobs[uid].tasks.values():
            if task.key in handed_over and task.status is not TaskStatus.BINDING:
                node = _node_bound_before(recording, task.key)
                if node:
                    found[TaskStatus.BINDING].append(Effect(*handed_over[task.key], uid, task.key, node))
            if task.status in found and task.key in placed:
                found[task.status].append(Effect(*placed[task.key], uid, task.key, task.node_name))
    return {status: tuple(sorted(entries, key=lambda e: (e.seq, e.task))) for status, entries in found.items()}


def _node_bound_before(recording: Recording, task: TaskKey) -> NodeName:
    """Where a task that was handed over was bound, though it is not being bound any more; empty where it was not."""
    return next((node for status, node in recording.timeline.task_history(task) if status is TaskStatus.BINDING), "")


def _action_summaries(
    recording: Recording, bound: tuple[Effect, ...], pipelined: tuple[Effect, ...], evicted: tuple[Effect, ...]
) -> Iterator[ActionSummary]:
    open_action: tuple[str, Seq] | None = None
    commits = discards = 0
    for seq, event in deciding_events(recording):
        if isinstance(event, StatementEvent):
            commits += event.what == COMMIT and bool(event.ops)
            discards += event.what == DISCARD and bool(event.ops)
        elif isinstance(event, ActionEvent) and event.what == "start":
            open_action, commits, discards = (event.action, seq), 0, 0
        elif isinstance(event, ActionEvent) and open_action is not None:
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
        return "waits for its gang"
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
