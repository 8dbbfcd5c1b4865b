"""Nodes get scores, and one of them is best."""

from __future__ import annotations

from vcdebug.debugger.breakpoints.base import Kind, merged
from vcdebug.framework.record import BestEvent, ScoreEvent
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording


class Score(Kind):
    """Every scoring pass and every choice of a best node."""

    KIND = "score"
    HELP = "nodes are scored for a task, or the best one is chosen"
    WATCHES = (ScoreEvent, BestEvent)

    def candidates(self, recording: Recording) -> Seqs:
        return merged([recording.index.of_type(ScoreEvent), recording.index.of_type(BestEvent)])
