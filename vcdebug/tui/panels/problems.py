"""Problems: what is wrong in the input and in the configuration, and quirks of upstream that acted."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import GO, Panel
from vcdebug.views.base import Table
from vcdebug.views.problems import problems


class ProblemsPanel(Panel):
    """What the replay had to leave out or could not know."""

    TITLE = "Problems"
    KEY = "9"
    HELP = "problems of the snapshot and its configuration, and quirks of the scheduler that acted"
    BINDINGS: ClassVar[list[BindingType]] = [GO]

    def view(self, moment: Moment) -> Table:
        """All problems and quirks."""
        return problems(moment.recording)

    def action_go(self) -> None:
        """A problem of the input has no event: its whole text is shown."""
        row = self.cursor_row
        if row is not None and row.seq:
            super().action_go()
        else:
            self.action_open_cell()
