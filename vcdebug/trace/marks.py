"""The events that a timeline marks: statements that did something, evictions, and where actions start."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from vcdebug.framework.record import ActionEvent, OpEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording


class TimelineMarks(NamedTuple):
    """Event numbers that a timeline shows."""

    commits: Sequence[Seq]
    discards: Sequence[Seq]
    evictions: Sequence[Seq]
    actions: Sequence[Seq]


@per_recording()
def timeline_marks(recording: Recording) -> TimelineMarks:
    """One look at each such event."""
    commits, discards, evictions, actions = array("I"), array("I"), array("I"), array("I")
    for seq, statement in recording.events_of_type(StatementEvent):
        if statement.ops and statement.what in ("commit", "discard"):
            (commits if statement.what == "commit" else discards).append(seq)
    evictions.extend(seq for seq, event in recording.events_of_type(OpEvent) if event.op == "evict")
    actions.extend(seq for seq, event in recording.events_of_type(ActionEvent) if event.what == "start")
    return TimelineMarks(commits, discards, evictions, actions)
