"""A job asks to be admitted."""

from __future__ import annotations

from vcdebug.debugger.breakpoints.base import Kind
from vcdebug.framework.hooks import JOB_ENQUEUEABLE
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording


class Enqueue(Kind):
    """Votes on admission; `reject` only those against it."""

    KIND = "enqueue"
    HELP = "a plugin votes on a job's admission (reject: only votes against it)"
    WORDS = ("reject",)
    WATCHES = (HookEvent,)

    def candidates(self, recording: Recording) -> Seqs:
        return recording.index.at_point(JOB_ENQUEUEABLE.upstream)

    def means(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event(seq)
        return isinstance(event, HookEvent) and (event.result < 0 or "reject" not in self.words)
