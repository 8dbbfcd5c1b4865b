"""The present event, or before the first step the overview, whose rows are commands."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding

from vcdebug.tui.messages import CommandRequested
from vcdebug.tui.panels.base import PanelExtra


class MomentPanel(PanelExtra):
    """Enter goes into a row of the overview; elsewhere it shows the whole cell, as in any table."""

    FOOTER = (("moment.go", "look into it"),)
    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("enter", "extra('go')", "the whole cell; in the overview into the row", id="moment.go"),
    )

    def run_key(self, name: str) -> None:
        """Run the command that the row stands for."""
        from vcdebug.views.overview import is_overview

        row = self.panel.cursor_row
        if row is not None and is_overview(self.panel.table):
            self.panel.post_message(CommandRequested(row.key))
        else:
            self.panel.action_open_cell()
