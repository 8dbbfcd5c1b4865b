"""Plugins choose victims."""

from __future__ import annotations

from vcdebug.debugger.breakpoints.base import Kind, merged
from vcdebug.explain.votes import question
from vcdebug.framework.hooks import PREEMPTABLE, RECLAIMABLE, UNIFIED_EVICTABLE, VICTIM_TASKS
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording

POINTS = (PREEMPTABLE.upstream, RECLAIMABLE.upstream, UNIFIED_EVICTABLE.upstream, VICTIM_TASKS.upstream)


class Victim(Kind):
    """Every question for victims, once: at its first answer that fulfils the condition."""

    KIND = "victim"
    HELP = "plugins are asked who may be evicted"
    WORDS = POINTS
    WATCHES = (HookEvent,)

    def candidates(self, recording: Recording) -> Seqs:
        return merged([recording.index.at_point(point) for point in self.words or POINTS])

    def first_of_group(self, recording: Recording, seq: Seq) -> Seq:
        asked = question(recording, seq)
        return seq if asked is None else asked.first
