"""What a scheduler did, beside the replay: the answer of every form of `verify`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.verify.compare import JobVerdict
from vcdebug.verify.outcome import CycleOutcome


@dataclass(frozen=True, slots=True)
class LogDifference:
    """The first line at which the program's log and the replay part."""

    seq: Seq | None
    logged: str
    replayed: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What a scheduler did with a snapshot, beside the replay."""

    recording: Recording
    predicted: CycleOutcome
    observed: CycleOutcome
    jobs: tuple[JobVerdict, ...]
    chance: tuple[str, ...] = ()
    """The draws of the scheduler that the replay follows, as edits."""
    tried: int = 1
    """How many runs of the replay were compared."""
    parting: LogDifference | None = None
    ended: str = ""
    """Why the scheduler did not finish; empty where it did."""
    seconds: float = 0.0
    log: Sequence[str] = ()
    cycles: int = 1
    """How many cycles of the replay were compared with what was seen."""
    notes: Sequence[str] = ()
    """What else is to be known of the comparison, in sentences."""

    def count_verdicts(self, word: str) -> int:
        """Jobs with this verdict."""
        return len([one for one in self.jobs if one.word == word])

    @property
    def is_agreed(self) -> bool:
        """Whether every decision is the same; a scheduler that panics agrees with a replay that says so."""
        decided = not any(one.word == "differs" for one in self.jobs)
        return decided and bool(self.ended) == bool(self.predicted.panic)
