"""What the screen shows: one event of one recording, as every panel gets it."""

from __future__ import annotations

from dataclasses import dataclass

from vcdebug.debugger.cursor import NOTHING, Selection
from vcdebug.debugger.debugger import Debugger
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording


@dataclass(frozen=True, slots=True)
class Stand:
    """One breakpoint as the screen shows it."""

    number: int
    text: str
    enabled: bool
    hits: tuple[Seq, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """The present event with what the panels need around it."""

    recording: Recording
    seq: Seq
    reason: str
    """Why one stands here."""
    job: str
    task: str
    queue: str
    node: str
    selection: Selection = NOTHING
    breakpoints: tuple[Stand, ...] = ()

    @classmethod
    def of(cls, debugger: Debugger, reason: str, breakpoints: tuple[Stand, ...]) -> Moment:
        """The debugger's present position."""
        at = debugger.moment()
        names = (at.job or "", at.task or "", at.queue or "", at.node or "")
        return cls(debugger.recording, at.seq, reason, *names, at.selection, breakpoints)
