"""A known quirk of the real scheduler acts."""

from __future__ import annotations

from vcdebug.debugger.breakpoints.base import Kind
from vcdebug.framework.record import HookEvent, OpEvent, StatementEvent
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording


class Quirk(Kind):
    """Events with a note."""

    KIND = "quirk"
    HELP = "a known quirk of the real scheduler acts"
    WATCHES = (HookEvent, OpEvent, StatementEvent)

    def candidates(self, recording: Recording) -> Seqs:
        return sorted(dict.fromkeys(note.seq for note in recording.notes if note.seq <= len(recording)))
