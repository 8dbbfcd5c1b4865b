"""The course of a cycle: its actions and statements, nodes filtered, scored and chosen, and known quirks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from vcdebug.actions import ACTIONS
from vcdebug.debugger.breakpoints.base import BreakpointKind, merge_seqs
from vcdebug.framework.hooks import PRE_PREDICATE, PREDICATE, SIMULATE_PREDICATE
from vcdebug.framework.record import (
    BIND_OP,
    PLANNED_OPS,
    UNALLOCATE_OP,
    UNEVICT_OP,
    UNPIPELINE_OP,
    ActionEvent,
    BestEvent,
    HookEvent,
    OpEvent,
    PredicateEvent,
    RandomEvent,
    ScoreEvent,
    StatementEvent,
)
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording

START, END = "start", "end"
STATEMENT_MOMENTS = ("commit", "discard", "merge", "save", "recover")
OPERATIONS = (*PLANNED_OPS, UNEVICT_OP, UNPIPELINE_OP, UNALLOCATE_OP, BIND_OP)
MOMENT_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "operation": OPERATIONS,
    "any": (*STATEMENT_MOMENTS, *OPERATIONS),
}
USUAL_MOMENTS = ("commit", "discard")


class ActionBreakpoint(BreakpointKind):
    """The starts of all actions, or what the words say: names of actions, `start`, `end`."""

    KIND = "action"
    HELP = "an action starts (or names of actions; end)"
    WORDS = (*ACTIONS, START, END)
    WATCHES = (ActionEvent,)

    def __init__(self, words: Sequence[str] = ()) -> None:
        super().__init__(words)
        self.names = [word for word in words if word not in (START, END)]
        self.moments = [word for word in words if word in (START, END)] or [START]

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event_at(seq)
        if not isinstance(event, ActionEvent) or event.what not in self.moments:
            return False
        return not self.names or event.action in self.names


class StatementBreakpoint(BreakpointKind):
    """Commit and discard, unless other words say which moments are meant."""

    KIND = "statement"
    HELP = "a statement commits or is discarded (or names of operations; operation; any)"
    WORDS = (*STATEMENT_MOMENTS, *OPERATIONS, *MOMENT_GROUPS)
    WATCHES = (StatementEvent, OpEvent)

    @property
    def meant_moments(self) -> tuple[str, ...]:
        """The moments that count."""
        if not self.words:
            return USUAL_MOMENTS
        return tuple(name for word in self.words for name in MOMENT_GROUPS.get(word, (word,)))

    def candidate_seqs(self, recording: Recording) -> Seqs:
        types = ((StatementEvent, STATEMENT_MOMENTS), (OpEvent, OPERATIONS))
        return merge_seqs(
            [recording.index.seqs_of_type(kind) for kind, names in types if any(w in names for w in self.meant_moments)]
        )

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event_at(seq)
        if isinstance(event, StatementEvent):
            return event.what in self.meant_moments
        return isinstance(event, OpEvent) and event.op in self.meant_moments


class PredicateBreakpoint(BreakpointKind):
    """Passes over nodes in which some node failed, and failures of single nodes; `all` also those without."""

    KIND = "predicate"
    HELP = "some node fails a task's predicates (all: also when every node passes; none: only when no node does)"
    WORDS = ("all", "none")
    WATCHES = (PredicateEvent, HookEvent)
    POINTS = (PRE_PREDICATE.upstream, PREDICATE.upstream, SIMULATE_PREDICATE.upstream)

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event_at(seq)
        if isinstance(event, PredicateEvent):
            if "none" in self.words:
                return not len(event.feasible)
            return bool(len(event.failed)) or "all" in self.words
        return isinstance(event, HookEvent) and (event.result is not None or "all" in self.words)


class ScoreBreakpoint(BreakpointKind):
    """Every scoring pass and every choice of a best node."""

    KIND = "score"
    HELP = "nodes are scored for a task, or the best one is chosen"
    WATCHES = (ScoreEvent, BestEvent)


class TieBreakpoint(BreakpointKind):
    """Choices among several best nodes, and random draws."""

    KIND = "tie"
    HELP = "chance decides in the real scheduler: equally good nodes, or a random offset"
    WATCHES = (BestEvent, RandomEvent)

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event_at(seq)
        return isinstance(event, RandomEvent) or (isinstance(event, BestEvent) and len(event.tied) > 1)


class QuirkBreakpoint(BreakpointKind):
    """Events with a note."""

    KIND = "quirk"
    HELP = "a known quirk of the real scheduler acts"
    WATCHES = (HookEvent, OpEvent, StatementEvent)

    def candidate_seqs(self, recording: Recording) -> Seqs:
        return sorted(dict.fromkeys(note.seq for note in recording.notes if note.seq <= len(recording)))
