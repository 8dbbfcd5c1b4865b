"""Is a job starving? Only then does preempt or reclaim act for it."""

from __future__ import annotations

from vcdebug.debugger.breakpoints.base import Kind
from vcdebug.framework.hooks import JOB_STARVING
from vcdebug.framework.record import HookEvent
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording


class Starving(Kind):
    """Every answer to JobStarving."""

    KIND = "starving"
    HELP = "a plugin says whether a job is starving"
    WATCHES = (HookEvent,)

    def candidates(self, recording: Recording) -> Seqs:
        return recording.index.at_point(JOB_STARVING.upstream)
