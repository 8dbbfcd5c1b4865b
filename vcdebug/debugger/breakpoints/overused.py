"""A queue is overused, so that its jobs are passed over."""

from __future__ import annotations

from vcdebug.debugger.breakpoints.base import Kind
from vcdebug.framework.hooks import OVERUSED
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording


class Overused(Kind):
    """Answers that call a queue overused; `all` also the others."""

    KIND = "overused"
    HELP = "a queue is found overused (all: also when it is not)"
    WORDS = ("all",)
    WATCHES = (HookEvent,)

    def candidates(self, recording: Recording) -> Seqs:
        return recording.index.at_point(OVERUSED.upstream)

    def means(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event(seq)
        return isinstance(event, HookEvent) and (event.result is True or "all" in self.words)
