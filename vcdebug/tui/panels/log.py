"""Log: what the real scheduler would print."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import GO, Panel
from vcdebug.views.base import Table
from vcdebug.views.log import LEVELS, USUAL, log_so_far, narration

AT_ONCE = 1_000
"""Lines written before the first look."""
PART = 200
"""Lines written between two keys."""
PAUSE = 0.03


class LogPanel(Panel):
    """The lines at one -v level, around the present event."""

    TITLE = "Log"
    KEY = "v"
    HELP = "the lines that the real scheduler would print at -v=3, 4 or 5, those of the present event marked"
    FOOTER = (("log.level", "level"), ("panel.go", "go there"))
    BINDINGS: ClassVar[list[BindingType]] = [
        GO,
        Binding("space", "louder", "the next -v level", id="log.level"),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.level = USUAL
        self._writing = False

    def view(self, moment: Moment) -> Table:
        """The log at the chosen level; a long one is written while keys go on working."""
        told = narration(moment.recording)
        if not told.done and not self._writing and not told.write(AT_ONCE):
            self._writing = True
            self.set_timer(PAUSE, self._go_on)
        return log_so_far(moment.recording, moment.seq, self.level)

    def _go_on(self) -> None:
        self._writing = self.moment is not None and self.display
        if self.moment is None or not self.display:
            return
        told = narration(self.moment.recording)
        if told.write(PART):
            self._writing = False
            self.draw()
            return
        self.border_subtitle = f"writing: event {told.lines[-1].seq}"
        self.set_timer(PAUSE, self._go_on)

    def action_louder(self) -> None:
        """3, 4, 5, and 3 again."""
        self.set_level(LEVELS[(LEVELS.index(self.level) + 1) % len(LEVELS)])

    def set_level(self, level: int) -> None:
        """Show the lines of another level."""
        self.level = level
        self.draw()
