"""What plugins answer to a hook."""

from __future__ import annotations

from vcdebug.debugger.breakpoints.base import Kind, merged
from vcdebug.framework.hooks import HOOKS, JOB_ENQUEUEABLE, JOB_STARVING, OVERUSED
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording


class Vote(Kind):
    """Every recorded answer, or those at the hooks named."""

    KIND = "vote"
    HELP = "a plugin answers a hook (or names of hooks, such as JobReady)"
    WORDS = tuple(hook.upstream for hook in HOOKS)
    WATCHES = (HookEvent,)

    def candidates(self, recording: Recording) -> Seqs:
        if not self.words:
            return recording.index.of_type(HookEvent)
        return merged([recording.index.at_point(point) for point in self.words])


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


class Starving(Kind):
    """Every answer to JobStarving."""

    KIND = "starving"
    HELP = "a plugin says whether a job is starving"
    WATCHES = (HookEvent,)

    def candidates(self, recording: Recording) -> Seqs:
        return recording.index.at_point(JOB_STARVING.upstream)
