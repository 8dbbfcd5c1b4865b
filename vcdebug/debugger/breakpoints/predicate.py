"""A node does not pass a task's predicates."""

from __future__ import annotations

from vcdebug.debugger.breakpoints.base import Kind, merged
from vcdebug.framework.hooks import PRE_PREDICATE, PREDICATE, SIMULATE_PREDICATE
from vcdebug.framework.record import HookEvent, PredicateEvent
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording

POINTS = (PRE_PREDICATE.upstream, PREDICATE.upstream, SIMULATE_PREDICATE.upstream)


class Predicate(Kind):
    """Passes over nodes in which some node failed, and failures of single nodes; `all` also those without."""

    KIND = "predicate"
    HELP = "some node fails a task's predicates (all: also when every node passes; none: only when no node does)"
    WORDS = ("all", "none")
    WATCHES = (PredicateEvent, HookEvent)

    def candidates(self, recording: Recording) -> Seqs:
        index = recording.index
        return merged([index.of_type(PredicateEvent), *(index.at_point(point) for point in POINTS)])

    def means(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event(seq)
        if isinstance(event, PredicateEvent):
            if "none" in self.words:
                return not len(event.feasible)
            return bool(len(event.failed)) or "all" in self.words
        return isinstance(event, HookEvent) and (event.result is not None or "all" in self.words)
