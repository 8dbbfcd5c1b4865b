"""A plugin answers a hook."""

from __future__ import annotations

from vcdebug.debugger.breakpoints.base import Kind, merged
from vcdebug.framework.hooks import HOOKS
from vcdebug.framework.record import HookEvent
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
