"""A statement commits or is discarded, or one of its operations happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vcdebug.debugger.breakpoints.base import Kind, merged
from vcdebug.framework.record import OpEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording

WHOLE = ("commit", "discard", "merge", "save", "recover")
OPERATIONS = ("evict", "pipeline", "allocate", "unevict", "unpipeline", "unallocate", "bind")
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {"operation": OPERATIONS, "any": (*WHOLE, *OPERATIONS)}
USUAL = ("commit", "discard")


class Statement(Kind):
    """Commit and discard, unless other words say which moments are meant."""

    KIND = "statement"
    HELP = "a statement commits or is discarded (or names of operations; operation; any)"
    WORDS = (*WHOLE, *OPERATIONS, *GROUPS)
    WATCHES = (StatementEvent, OpEvent)

    @property
    def meant(self) -> tuple[str, ...]:
        """The moments that count."""
        if not self.words:
            return USUAL
        return tuple(name for word in self.words for name in GROUPS.get(word, (word,)))

    def candidates(self, recording: Recording) -> Seqs:
        watched: list[Seqs] = []
        if any(name in WHOLE for name in self.meant):
            watched.append(recording.index.of_type(StatementEvent))
        if any(name in OPERATIONS for name in self.meant):
            watched.append(recording.index.of_type(OpEvent))
        return merged(watched)

    def means(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event(seq)
        if isinstance(event, StatementEvent):
            return event.what in self.meant
        return isinstance(event, OpEvent) and event.op in self.meant
