"""Breakpoints on state: a figure changes, or an invariant is violated."""

import re
from collections.abc import Sequence
from typing import Final, Self

from vcdebug.comparison.invariants import RULE_TEXTS, InvariantViolation, find_violations
from vcdebug.debugger import figures
from vcdebug.debugger.breakpoints import BreakpointError, BreakpointKind
from vcdebug.debugger.expression import Value
from vcdebug.framework.record import ActionEvent, HookEvent, OpEvent, StateEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.recording.event_index import EMPTY_SEQS, Seqs
from vcdebug.recording.recording import Recording

OLD, NEW = "old", "new"
RESERVED_WORDS: Final = ("if", "hits", "once", "log", "disabled")
_BARE: Final = re.compile(r"[A-Za-z]\w*(?:[-./]+\w+)*", re.ASCII)


class DataBreakpoint(BreakpointKind):
    """Events that change the value of a figure."""

    KIND = "data"
    HELP = "a figure changes (its name: node n1 idle cpu, queue q allocated, job ns/j ready, task ns/t status)"
    WORDS = figures.FIGURE_KINDS
    FIELDS = (OLD, NEW)
    WATCHES = (OpEvent, HookEvent, StatementEvent, ActionEvent, StateEvent)

    @classmethod
    def parse_words(cls, words: Sequence[str]) -> Self:
        if not words or words[0] not in cls.WORDS:
            raise BreakpointError("break data needs a figure", hint=figures.FIGURE_USAGE)
        return cls(words)

    def check_names(self, recording: Recording) -> Self:
        figures.parse_figure(recording, self.words)
        return self

    def candidate_seqs(self, recording: Recording) -> Seqs:
        followed = self._figure_history(recording)
        return EMPTY_SEQS if followed is None else followed.change_seqs

    def field_value(self, recording: Recording, seq: Seq, name: str) -> Value:
        followed, change = self._change_at(recording, seq)
        if followed is None or change is None:
            return None
        return figures.comparable_value(followed.figure, change.old if name == OLD else change.new)

    def field_text(self, recording: Recording, seq: Seq, name: str) -> str:
        followed, change = self._change_at(recording, seq)
        if followed is None or change is None:
            return "-"
        return figures.format_figure(followed.figure, change.old if name == OLD else change.new)

    def stop_detail(self, recording: Recording, seq: Seq) -> str:
        followed, change = self._change_at(recording, seq)
        if followed is None or change is None:
            return ""
        old, new = (figures.format_figure(followed.figure, value) for value in (change.old, change.new))
        return f"{followed.figure} {old} → {new}"

    def _change_at(
        self, recording: Recording, seq: Seq
    ) -> tuple[figures.FigureHistory | None, figures.FigureChange | None]:
        followed = self._figure_history(recording)
        return followed, None if followed is None else followed.change_at(seq)

    def _figure_history(self, recording: Recording) -> figures.FigureHistory | None:
        """The figure's changes; None if the recording lacks the figure, such as after an edit that removed a node."""
        try:
            return figures.figure_history(recording, figures.parse_figure(recording, self.words))
        except figures.FigureError:
            return None

    def __str__(self) -> str:
        bare = (word if _BARE.fullmatch(word) and word not in RESERVED_WORDS else f'"{word}"' for word in self.words)
        return " ".join((self.KIND, *bare))


class InvariantBreakpoint(BreakpointKind):
    """Events that break an invariant which held before."""

    KIND = "invariant"
    HELP = "a total that should hold does not: node room, accounting of queues and jobs, statements left open"
    WORDS = tuple(RULE_TEXTS)
    WATCHES = (ActionEvent, OpEvent, StateEvent, HookEvent)

    def candidate_seqs(self, recording: Recording) -> Seqs:
        return list(dict.fromkeys(violation.seq for violation in self._chosen_violations(recording)))

    def stop_detail(self, recording: Recording, seq: Seq) -> str:
        return "; ".join(
            violation.violation_line for violation in self._chosen_violations(recording) if violation.seq == seq
        )

    def _chosen_violations(self, recording: Recording) -> list[InvariantViolation]:
        return [violation for violation in find_violations(recording) if not self.words or violation.rule in self.words]
