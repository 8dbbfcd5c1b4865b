"""Watch: figures and expressions kept in sight."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from vcdebug.tui.messages import Command
from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import GO, Panel
from vcdebug.views.base import Table
from vcdebug.views.watch import watches


class WatchPanel(Panel):
    """Each with its value now and before, and the event that changed it last."""

    TITLE = "Watch"
    KEY = "a"
    HELP = "figures and expressions that are watched: value now and before, last change; Enter goes there"
    FOOTER = (("panel.go", "to its change"), ("watch.remove", "remove"))
    BINDINGS: ClassVar[list[BindingType]] = [
        GO,
        Binding("delete,x", "remove", "stop watching it", id="watch.remove"),
    ]

    def view(self, moment: Moment) -> Table:
        """All watches."""
        return watches(moment.recording, moment.seq, moment.watches)

    def action_remove(self) -> None:
        """Forget the one under the cursor."""
        if self.cursor_row is not None:
            self.post_message(Command(f"unwatch {self.cursor_row.key}"))
