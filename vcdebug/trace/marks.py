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
    for seq in recording.index.of_type(StatementEvent):
        event = recording.event(seq)
        if isinstance(event, StatementEvent) and event.ops and event.what in ("commit", "discard"):
            (commits if event.what == "commit" else discards).append(seq)
    for seq in recording.index.of_type(OpEvent):
        event = recording.event(seq)
        if isinstance(event, OpEvent) and event.op == "evict":
            evictions.append(seq)
    for seq in recording.index.of_type(ActionEvent):
        event = recording.event(seq)
        if isinstance(event, ActionEvent) and event.what == "start":
            actions.append(seq)
    return Marks(commits, discards, evictions, actions)
