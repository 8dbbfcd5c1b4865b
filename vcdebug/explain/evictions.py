"""Statements from first operation to end, and the evictions among them: who, for whom, what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from vcdebug.explain.job_view import JobView
from vcdebug.framework.record import Level, OpEvent, StatementEvent
from vcdebug.model.names import JobId, NodeName, QueueName, Seq, TaskKey
from vcdebug.trace.marks import marks
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

PLANNED: Final = ("evict", "pipeline", "allocate")
"""Operations that a statement plans."""


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
    """The statements that lie in a stretch of events. A trial that is merged goes on as part of the other."""
    found: list[StatementSpan] = []
    pending: list[Seq] = []
    for seq in range(first, last + 1):
        event = recording.event(seq)
        if isinstance(event, OpEvent) and event.op in PLANNED and event.via is None:
            pending.append(seq)
        elif isinstance(event, StatementEvent) and event.what in ("commit", "discard", "save"):
            own = pending[len(pending) - len(event.ops) :] if event.ops else []
            del pending[len(pending) - len(own) :]
            if event.what != "save":
                undone = seq + (len(own) if event.what == "discard" else 0)
                found.append(StatementSpan(tuple(own), seq, event.what, undone))
    if pending:
        found.append(StatementSpan(tuple(pending), last, "", last))
    return found


CARRIED_OUT = ("commit", "at once")
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
    """The task that asked, or the job where a gang asked; empty where nobody did."""
    tier: int | None
    """The tier that named the victim."""
    fate: str
    """commit, discard, or nothing where the recording ends first; "at once" outside any statement."""
    end: Seq


@per_recording()
def evictions(recording: Recording) -> tuple[Eviction, ...]:
    """All of the cycle, in order; those of discarded statements are among them."""
    return tuple(_eviction(recording, seq, event) for seq, event in _wished(recording))


def _wished(recording: Recording) -> Iterator[tuple[Seq, OpEvent]]:
    for seq in marks(recording).evictions:
        event = recording.event(seq)
        if isinstance(event, OpEvent):
            yield seq, event


def lost_pods(view: JobView) -> list[Eviction]:
    """Evictions of the job's own pods that were carried out, whoever wanted them."""
    return list(_lost(view.recording).get(view.job.uid, ()))


@per_recording()
def not_discarded(recording: Recording) -> tuple[Eviction, ...]:
    """Those whose statement was not discarded, in order."""
    wished = ((seq, event) for seq, event in _wished(recording) if fate_of(recording, seq, event)[0] != "discard")
    return tuple(_eviction(recording, seq, event) for seq, event in wished)


def carried_out(recording: Recording) -> list[Eviction]:
    """Those that were carried out, in order."""
    return [one for one in not_discarded(recording) if one.fate in CARRIED_OUT]


@per_recording()
def _lost(recording: Recording) -> Mapping[JobId, Sequence[Eviction]]:
    found: dict[JobId, list[Eviction]] = {}
    for one in carried_out(recording):
        found.setdefault(one.job, []).append(one)
    return found


def first_of_plan(recording: Recording, one: Eviction) -> Seq:
    """The first eviction that the same task wanted on the same node."""
    wished = ((seq, event) for seq, event in _wished(recording) if event.node == one.node)
    return next(seq for seq, _ in wished if _preemptor(recording, seq) == one.preemptor)


def _preemptor(recording: Recording, seq: Seq) -> str:
    """The task that asked, or else the job; empty where nobody did."""
    asker = recording.tree.around(seq, Level.TASK) or recording.tree.around(seq, Level.JOB)
    return asker.name if asker is not None else ""


def _eviction(recording: Recording, seq: Seq, event: OpEvent) -> Eviction:
    from vcdebug.explain.victims import next_question

    owners, action = recording.owners, recording.tree.around(seq, Level.ACTION)
    job = owners.jobs.get(event.task, "")
    preemptor = _preemptor(recording, seq)
    asked = next_question(recording, seq) if preemptor else None
    named = asked is not None and event.task in (asked.outcome or ())
    fate, end = fate_of(recording, seq, event)
    return Eviction(
        seq,
        event.task,
        job,
        owners.queues.get(job, ""),
        event.node,
        action.name if action is not None else "",
        preemptor,
        asked.deciding_tier if asked is not None and named else None,
        fate,
        end,
    )


def fate_of(recording: Recording, seq: Seq, event: OpEvent) -> tuple[str, Seq]:
    """(what became of an operation's statement, at which event)."""
    if event.via is not None:
        return "at once", seq
    action = recording.tree.around(seq, Level.ACTION)
    first, last = (action.first, action.last) if action is not None else (1, len(recording))
    return _fates(recording, first, last).get(seq, ("", last))


@per_recording(most=64)
def _fates(recording: Recording, first: Seq, last: Seq) -> Mapping[Seq, tuple[str, Seq]]:
    """What became of the statement of each operation."""
    found: dict[Seq, tuple[str, Seq]] = {}
    for span in statements_between(recording, first, last):
        for seq in span.ops:
            found.setdefault(seq, (span.fate, span.end))
    return found
