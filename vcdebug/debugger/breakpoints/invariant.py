"""Something that should hold after every event does not hold."""

from __future__ import annotations

from vcdebug.compare.invariants import RULES, Violation, violations
from vcdebug.debugger.breakpoints.base import Kind
from vcdebug.framework.record import ActionEvent, HookEvent, OpEvent, StateEvent
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording


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
