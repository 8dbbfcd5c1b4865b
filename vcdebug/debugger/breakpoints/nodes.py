"""Nodes are filtered, scored and chosen for a task."""

from __future__ import annotations

from vcdebug.debugger.breakpoints.base import Kind, merged
from vcdebug.framework.hooks import PRE_PREDICATE, PREDICATE, SIMULATE_PREDICATE
from vcdebug.framework.record import BestEvent, HookEvent, PredicateEvent, RandomEvent, ScoreEvent
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording

_FILTERS = (PRE_PREDICATE.upstream, PREDICATE.upstream, SIMULATE_PREDICATE.upstream)


class Predicate(Kind):
    """Passes over nodes in which some node failed, and failures of single nodes; `all` also those without."""

    KIND = "predicate"
    HELP = "some node fails a task's predicates (all: also when every node passes; none: only when no node does)"
    WORDS = ("all", "none")
    WATCHES = (PredicateEvent, HookEvent)

    def candidates(self, recording: Recording) -> Seqs:
        index = recording.index
        return merged([index.of_type(PredicateEvent), *(index.at_point(point) for point in _FILTERS)])

    def means(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event(seq)
        if isinstance(event, PredicateEvent):
            if "none" in self.words:
                return not len(event.feasible)
            return bool(len(event.failed)) or "all" in self.words
        return isinstance(event, HookEvent) and (event.result is not None or "all" in self.words)


class Score(Kind):
    """Every scoring pass and every choice of a best node."""

    KIND = "score"
    HELP = "nodes are scored for a task, or the best one is chosen"
    WATCHES = (ScoreEvent, BestEvent)

    def candidates(self, recording: Recording) -> Seqs:
        return merged([recording.index.of_type(ScoreEvent), recording.index.of_type(BestEvent)])


class Tie(Kind):
    """Choices among several best nodes, and random draws."""

    KIND = "tie"
    HELP = "chance decides in the real scheduler: equally good nodes, or a random offset"
    WATCHES = (BestEvent, RandomEvent)

    def candidates(self, recording: Recording) -> Seqs:
        return merged([recording.index.of_type(BestEvent), recording.index.of_type(RandomEvent)])

    def means(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event(seq)
        return isinstance(event, RandomEvent) or (isinstance(event, BestEvent) and len(event.tied) > 1)
