"""The recordings that lie open, each with its own position; breakpoints are shared, and one recording is shown."""

from __future__ import annotations

from vcdebug.debugger.breakpoint_list import BreakpointList
from vcdebug.debugger.cursor import Position
from vcdebug.debugger.debugger import Debugger
from vcdebug.debugger.recordings import BRANCH, ORIGINAL, OpenRecordings
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording


class Workbench:
    """Keeps a debugger per recording for as long as the recording lies open."""

    def __init__(self, first: Recording) -> None:
        self.recordings = OpenRecordings((first,))
        self.breakpoints = BreakpointList()
        self.saved: tuple[str, ...] = ()
        """The edits that were written to a file last."""
        self._debuggers = {id(first): Debugger(first, self.breakpoints)}
        self._came: tuple[Recording, Position] | None = None
        """What was shown before, and the jump that the shown debugger had made last by then."""

    @property
    def debugger(self) -> Debugger:
        """The shown recording's."""
        return self._debugger_of(self.recordings.shown_recording)

    @property
    def has_unsaved_edits(self) -> bool:
        """Whether leaving would lose edits."""
        return self.recordings.edit_texts != self.saved and bool(self.recordings.edits)

    def show_recordings(self, recordings: OpenRecordings, divergence: Seq | None = None) -> None:
        """Show what lies open now.

        Where the recording that is shown and the one before are equal up to `divergence`, one stands at the same
        event, else at the first difference; a place beyond it that one had taken before is kept.
        """
        before = self.debugger
        known = id(recordings.shown_recording) in self._debuggers
        self.recordings = recordings
        after = self.debugger
        if after is before:
            return
        self._came = before.recording, after.last_jump
        self._forget_closed()
        if divergence is not None and not (known and min(before.seq, after.seq) >= divergence):
            after.place_at(min(before.seq, divergence))

    def go_back(self) -> bool:
        """Show what was shown before, if no jump was made since; whether it was."""
        came = self._came
        if came is None or self.debugger.last_jump is not came[1]:
            return False
        place = self._place_of(came[0])
        if place is None:
            return False
        self.show_recordings(place)
        return True

    def _place_of(self, recording: Recording) -> OpenRecordings | None:
        for side in (ORIGINAL, BRANCH):
            for cycle, one in enumerate(self.recordings.cycles_of(side), start=1):
                if one is recording and (side == ORIGINAL or self.recordings.branch):
                    return self.recordings.show_cycle(side, cycle)
        return None

    def _debugger_of(self, recording: Recording) -> Debugger:
        found = self._debuggers.get(id(recording))
        if found is None:
            found = self._debuggers[id(recording)] = Debugger(recording, self.breakpoints)
        return found

    def _forget_closed(self) -> None:
        """Positions in recordings that are no longer there."""
        there = (*self.recordings.original, *self.recordings.branch)
        kept = {id(recording) for recording in there}
        self._debuggers = {key: debugger for key, debugger in self._debuggers.items() if key in kept}
        if self._came is not None and id(self._came[0]) not in kept:
            self._came = None
