"""Log: what the real scheduler would print."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding

from vcdebug.debugger.driver import DebuggerState
from vcdebug.logs.levels import LEVELS, USUAL
from vcdebug.tui.panels.base import GO, Extra, Panel
from vcdebug.views.base import Table

AT_ONCE = 1_000
"""Lines found before the first look."""
PART = 4_000
"""Lines found between two keys."""
PAUSE = 0.03


class Log(Extra):
    """The lines at one -v level, around the present event."""

    FOOTER = (("log.level", "level"), ("panel.go", "go there"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        GO,
        Binding("space", "extra('louder')", "the next -v level", id="log.level"),
    )

    def __init__(self, panel: Panel) -> None:
        super().__init__(panel)
        self.level = USUAL
        self._writing = False

    def view(self, moment: DebuggerState) -> Table:
        """The log at the chosen level, or as much louder as the event's own lines need.

        The lines of a long one are found while keys go on working.
        """
        from vcdebug.views.log import heard_at, log_so_far, narration

        told = narration(moment.recording)
        if not told.done and not self._writing and not told.write(AT_ONCE):
            self._writing = True
            self.panel.set_timer(PAUSE, self._go_on)
        return log_so_far(moment.recording, moment.seq, heard_at(moment.recording, moment.seq, self.level))

    def _go_on(self) -> None:
        from vcdebug.views.log import narration

        moment = self.panel.moment if self.panel.display else None
        self._writing = moment is not None
        if moment is None:
            return
        told = narration(moment.recording)
        if told.write(PART):
            self._writing = False
            self.panel.draw()
            self.panel.post_message(Panel.Grown())
            return
        self.panel.note(f"writing: event {told.lines[-1].seq}")
        self.panel.set_timer(PAUSE, self._go_on)

    def act(self, name: str) -> None:
        """The next level; after the last one the first again."""
        self.set_level(LEVELS[(LEVELS.index(self.level) + 1) % len(LEVELS)])

    def set_level(self, level: int) -> None:
        """Show the lines of another level."""
        self.level = level
        self.panel.draw()
