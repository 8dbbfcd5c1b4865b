"""Where one stands, in one line, and the marks of a timeline."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from vcdebug.framework.record import ActionEvent, Level, OpEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording
from vcdebug.views.names import bare

_PREFIX = {Level.QUEUE: "q "}


class Marks(NamedTuple):
    """Event numbers that a timeline shows."""

    commits: Sequence[Seq]
    discards: Sequence[Seq]
    evictions: Sequence[Seq]
    actions: Sequence[Seq]


def path_words(recording: Recording, seq: Seq) -> list[str]:
    """`preempt`, `q research`, `job-13`, `worker-0`: the spans around the event below the cycle."""
    return [f"{_PREFIX.get(span.level, '')}{bare(span.name)}" for span in recording.tree.path(seq)[1:]]


@per_recording()
def marks(recording: Recording) -> Marks:
    """Statements that did something, evictions, and where actions start; one look at each such event."""
    found = Marks(array("I"), array("I"), array("I"), array("I"))
    for seq in recording.index.of_type(StatementEvent):
        event = recording.event(seq)
        if isinstance(event, StatementEvent) and event.ops and event.what in ("commit", "discard"):
            (found.commits if event.what == "commit" else found.discards).append(seq)  # type: ignore[attr-defined]
    for seq in recording.index.of_type(OpEvent):
        event = recording.event(seq)
        if isinstance(event, OpEvent) and event.op == "evict":
            found.evictions.append(seq)  # type: ignore[attr-defined]
    for seq in recording.index.of_type(ActionEvent):
        event = recording.event(seq)
        if isinstance(event, ActionEvent) and event.what == "start":
            found.actions.append(seq)  # type: ignore[attr-defined]
    return found
