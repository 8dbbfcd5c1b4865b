"""Who was evicted for whom: victim, preemptor, action, the tier that decided, and what became of the statement."""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.explain.job_view import JobView
from vcdebug.explain.statements import lives
from vcdebug.explain.victims import next_choice
from vcdebug.framework.record import Level, OpEvent
from vcdebug.model.names import JobId, NodeName, QueueName, Seq, TaskKey
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

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
    return tuple(
        _eviction(recording, seq, event)
        for seq in recording.index.of_type(OpEvent)
        if isinstance(event := recording.event(seq), OpEvent) and event.op == "evict"
    )


def lost_pods(view: JobView) -> list[Eviction]:
    """Evictions of the job's own pods that were carried out, whoever wanted them."""
    return [one for one in evictions(view.recording) if one.job == view.job.uid and one.fate in CARRIED_OUT]


def _eviction(recording: Recording, seq: Seq, event: OpEvent) -> Eviction:
    owners, action = recording.owners, recording.tree.around(seq, Level.ACTION)
    job = owners.jobs.get(event.task, "")
    asker = recording.tree.around(seq, Level.TASK) or recording.tree.around(seq, Level.JOB)
    choice = next_choice(recording, seq) if asker is not None else None
    named = choice is not None and event.task in choice.victims
    fate, end = fate_of(recording, seq, event)
    return Eviction(
        seq,
        event.task,
        job,
        owners.queues.get(job, ""),
        event.node,
        action.name if action is not None else "",
        asker.name if asker is not None else "",
        choice.deciding_tier if choice is not None and named else None,
        fate,
        end,
    )


def fate_of(recording: Recording, seq: Seq, event: OpEvent) -> tuple[str, Seq]:
    """(what became of an operation's statement, at which event)."""
    if event.via is not None:
        return "at once", seq
    action = recording.tree.around(seq, Level.ACTION)
    first, last = (action.first, action.last) if action is not None else (1, len(recording))
    for life in lives(recording, first, last):
        if seq in life.ops:
            return life.fate, life.end
    return "", last
