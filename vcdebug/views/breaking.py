"""Which kind of breakpoint suits an event."""

from __future__ import annotations

from vcdebug.framework.record import BestEvent, HookEvent, OpEvent, PredicateEvent, ScoreEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording

_POINTS = {
    "JobStarving": "starving",
    "Overused": "overused",
    "JobEnqueueable": "enqueue",
    "Preemptable": "victim",
    "Reclaimable": "victim",
    "UnifiedEvictable": "victim",
    "Predicate": "predicate",
}
_TYPES = {
    PredicateEvent: "predicate",
    ScoreEvent: "score",
    BestEvent: "tie",
    OpEvent: "statement",
    StatementEvent: "statement",
}
USUAL = "victim"


def fitting_kind(recording: Recording, seq: Seq) -> str:
    """The kind that would stop here."""
    event = recording.event(seq)
    if isinstance(event, HookEvent):
        return _POINTS.get(event.point, USUAL)
    return _TYPES.get(type(event), USUAL)
