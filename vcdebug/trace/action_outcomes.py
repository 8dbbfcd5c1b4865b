"""What each action came to, counted once for the whole recording: an action may have most of its events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from vcdebug.framework.record import Event, HookEvent, Level, OpEvent, PopEvent, StatementEvent
from vcdebug.model.names import JobId
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording


class ActionOutcome(NamedTuple):
    """The counts of one action."""

    popped: int
    """Jobs that it took from its queues."""
    rejected: int
    """Jobs that a plugin kept from being enqueued."""
    commits: int
    """Statements that did something and were committed."""
    discards: int
    bound: int
    """Tasks bound outside any statement."""


@per_recording()
def action_outcomes(recording: Recording) -> Mapping[int, ActionOutcome]:
    """By the index of the action's span."""
    actions = [span for span in recording.spans if span.level is Level.ACTION]
    return {span.index: _outcome(recording.events[span.first - 1 : span.last]) for span in actions}


def _outcome(events: Sequence[Event]) -> ActionOutcome:
    fates = [event.what for event in events if isinstance(event, StatementEvent) and event.ops]
    return ActionOutcome(
        len([event for event in events if isinstance(event, PopEvent) and event.kind == "job"]),
        len(dict.fromkeys(job for job, _ in rejections(events))),
        fates.count("commit"),
        fates.count("discard"),
        len([event for event in events if isinstance(event, OpEvent) and event.op == "bind"]),
    )


def rejections(events: Sequence[Event]) -> Iterator[tuple[JobId, str]]:
    """(job, plugin that kept it from being enqueued)."""
    for event in events:
        if isinstance(event, HookEvent) and event.point == "JobEnqueueable" and event.result == -1:
            yield event.job, event.plugin
