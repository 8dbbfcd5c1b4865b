"""What each action came to, counted once for the whole recording: an action may have most of its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from vcdebug.framework.hooks import JOB_ENQUEUEABLE
from vcdebug.framework.record import Event, HookEvent, Level, OpEvent, PopEvent, Span, StatementEvent
from vcdebug.model.names import JobId
from vcdebug.trace.index import seqs_during
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

EventKind = TypeVar("EventKind")


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
    actions = (span for span in recording.span_tree.children_of(None) if span.level is Level.ACTION)
    return {span.index: _count_outcome(recording, span) for span in actions}


def _count_outcome(recording: Recording, span: Span) -> ActionOutcome:
    fates = [statement.what for statement in _events_within(recording, StatementEvent, span) if statement.ops]
    asked = recording.filter_events(
        HookEvent, seqs_during(recording.index.seqs_at_point(JOB_ENQUEUEABLE.upstream), span)
    )
    return ActionOutcome(
        len([event for event in _events_within(recording, PopEvent, span) if event.kind == "job"]),
        len(dict.fromkeys(job for job, _ in iter_rejections(event for _, event in asked))),
        fates.count("commit"),
        fates.count("discard"),
        len([event for event in _events_within(recording, OpEvent, span) if event.op == "bind"]),
    )


def _events_within(recording: Recording, kind: type[EventKind], span: Span) -> Iterator[EventKind]:
    """The events of one type that belong to a span."""
    for _, event in recording.filter_events(kind, seqs_during(recording.index.seqs_of_type(kind), span)):
        yield event


def iter_rejections(events: Iterable[Event]) -> Iterator[tuple[JobId, str]]:
    """(job, plugin that kept it from being enqueued)."""
    for event in events:
        if isinstance(event, HookEvent) and event.point == JOB_ENQUEUEABLE.upstream and event.result == -1:
            yield event.job, event.plugin
