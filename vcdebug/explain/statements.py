"""Statements from their first operation to their end: what was planned together, and what became of it."""

from __future__ import annotations

from typing import Final, NamedTuple

from vcdebug.framework.record import OpEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

PLANNED: Final = ("evict", "pipeline", "allocate")
"""Operations that a statement plans."""


class Life(NamedTuple):
    """One statement from its first operation to its end."""

    ops: tuple[Seq, ...]
    end: Seq
    fate: str
    """commit, discard, or nothing where the recording ends first."""
    undone: Seq
    """The last event of its undoing; the end itself where nothing is undone."""


@per_recording(most=64)
def lives(recording: Recording, first: Seq, last: Seq) -> list[Life]:
    """The statements that lie in a stretch of events. A trial that is merged goes on as part of the other."""
    found: list[Life] = []
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
                found.append(Life(tuple(own), seq, event.what, undone))
    if pending:
        found.append(Life(tuple(pending), last, "", last))
    return found
