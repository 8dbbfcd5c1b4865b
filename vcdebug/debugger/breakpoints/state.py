"""The state of the cluster: a figure of it changes, or what should hold after every event does not hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Self

from vcdebug.compare.invariants import RULES, Violation, violations
from vcdebug.debugger import figures
from vcdebug.debugger.breakpoints.base import BreakpointError, Kind
from vcdebug.debugger.expression import Value
from vcdebug.debugger.figure_history import FigureHistory, Written, history
from vcdebug.debugger.figure_words import USAGE, FigureError, figure
from vcdebug.framework.record import ActionEvent, HookEvent, OpEvent, StateEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.postings import EMPTY
from vcdebug.trace.recording import Recording

OLD, NEW = "old", "new"
RESERVED: Final = ("if", "hits", "once", "log", "disabled")
_BARE: Final = re.compile(r"[A-Za-z]\w*(?:[-./]+\w+)*", re.ASCII)


class Data(Kind):
    """The events that write another value than the one before."""

    KIND = "data"
    HELP = "a figure changes (its name: node n1 idle cpu, queue q allocated, job ns/j ready, task ns/t status)"
    WORDS = figures.KINDS
    FIELDS = (OLD, NEW)
    WATCHES = (OpEvent, HookEvent, StatementEvent, ActionEvent, StateEvent)

    @classmethod
    def parse(cls, words: Sequence[str]) -> Self:
        if not words or words[0] not in cls.WORDS:
            raise BreakpointError("break data needs a figure", hint=USAGE)
        return cls(words)

    def check(self, recording: Recording) -> Self:
        figure(recording, self.words)
        return self

    def candidates(self, recording: Recording) -> Seqs:
        followed = self._history(recording)
        return EMPTY if followed is None else followed.seqs

    def field(self, recording: Recording, seq: Seq, name: str) -> Value:
        followed, change = self._change(recording, seq)
        if followed is None or change is None:
            return None
        return figures.plain(followed.figure, change.old if name == OLD else change.new)

    def said(self, recording: Recording, seq: Seq, name: str) -> str:
        followed, change = self._change(recording, seq)
        if followed is None or change is None:
            return "-"
        return figures.shown(followed.figure, change.old if name == OLD else change.new)

    def why(self, recording: Recording, seq: Seq) -> str:
        followed, change = self._change(recording, seq)
        if followed is None or change is None:
            return ""
        old, new = (figures.shown(followed.figure, value) for value in (change.old, change.new))
        return f"{followed.figure} {old} → {new}"

    def _change(self, recording: Recording, seq: Seq) -> tuple[FigureHistory | None, Written | None]:
        followed = self._history(recording)
        return followed, None if followed is None else followed.at(seq)

    def _history(self, recording: Recording) -> FigureHistory | None:
        """None where the recording does not have the figure, such as after an edit that removed a node."""
        try:
            return history(recording, figure(recording, self.words))
        except FigureError:
            return None

    def __str__(self) -> str:
        bare = (word if _BARE.fullmatch(word) and word not in RESERVED else f'"{word}"' for word in self.words)
        return " ".join((self.KIND, *bare))


class Invariant(Kind):
    """The events from which on a rule is broken."""

    KIND = "invariant"
    HELP = "a sum that should hold does not: node room, books of queues and jobs, statements left open"
    WORDS = tuple(RULES)
    WATCHES = (ActionEvent, OpEvent, StateEvent, HookEvent)

    def candidates(self, recording: Recording) -> Seqs:
        return list(dict.fromkeys(violation.seq for violation in self._meant(recording)))

    def why(self, recording: Recording, seq: Seq) -> str:
        return "; ".join(violation.line for violation in self._meant(recording) if violation.seq == seq)

    def _meant(self, recording: Recording) -> list[Violation]:
        return [found for found in violations(recording) if not self.words or found.rule in self.words]
