"""The events that a timeline marks: statements that did something, evictions, and where actions start."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from vcdebug.framework.record import ActionEvent, OpEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording


class Marks(NamedTuple):
    """Event numbers that a timeline shows."""

    commits: Sequence[Seq]
    discards: Sequence[Seq]
    evictions: Sequence[Seq]
    actions: Sequence[Seq]


@per_recording()
def marks(recording: Recording) -> Marks:
    """One look at each such event."""
    commits, discards, evictions, actions = array("I"), array("I"), array("I"), array("I")
    for seq, statement in recording.every(StatementEvent):
        if statement.ops and statement.what in ("commit", "discard"):
            (commits if statement.what == "commit" else discards).append(seq)
    evictions.extend(seq for seq, event in recording.every(OpEvent) if event.op == "evict")
    actions.extend(seq for seq, event in recording.every(ActionEvent) if event.what == "start")
    return Marks(commits, discards, evictions, actions)
