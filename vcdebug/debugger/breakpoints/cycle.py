"""The course of the cycle: its actions, and known quirks of the real scheduler."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.actions import ACTIONS
from vcdebug.debugger.breakpoints.base import Kind
from vcdebug.framework.record import ActionEvent, HookEvent, OpEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording

START, END = "start", "end"


class Action(Kind):
    """The starts of all actions, or what the words say: names of actions, `start`, `end`."""

    KIND = "action"
    HELP = "an action starts (or names of actions; end)"
    WORDS = (*ACTIONS, START, END)
    WATCHES = (ActionEvent,)

    def __init__(self, words: Sequence[str] = ()) -> None:
        super().__init__(words)
        self.names = [word for word in words if word not in (START, END)]
        self.moments = [word for word in words if word in (START, END)] or [START]

    def candidates(self, recording: Recording) -> Seqs:
        return recording.index.of_type(ActionEvent)

    def means(self, recording: Recording, seq: Seq) -> bool:
        event = recording.event(seq)
        if not isinstance(event, ActionEvent) or event.what not in self.moments:
            return False
        return not self.names or event.action in self.names


class Quirk(Kind):
    """Events with a note."""

    KIND = "quirk"
    HELP = "a known quirk of the real scheduler acts"
    WATCHES = (HookEvent, OpEvent, StatementEvent)

    def candidates(self, recording: Recording) -> Seqs:
        return sorted(dict.fromkeys(note.seq for note in recording.notes if note.seq <= len(recording)))
