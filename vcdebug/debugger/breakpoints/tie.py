"""Several nodes are equally good: the real scheduler draws one of them."""

from __future__ import annotations

from vcdebug.debugger.breakpoints.base import Kind, merged
from vcdebug.framework.record import BestEvent, RandomEvent
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording


class Tie(Kind):
    """Choices among several best nodes, and random draws."""

    KIND = "tie"
    HELP = "chance decides in the real scheduler: equally good nodes, or a random offset"
    WATCHES = (BestEvent, RandomEvent)

    def candidates(self, recording: Recording) -> Seqs:
        return merged([recording.index.of_type(BestEvent), recording.index.of_type(RandomEvent)])

    def means(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event(seq)
        return isinstance(event, RandomEvent) or (isinstance(event, BestEvent) and len(event.tied) > 1)
