"""Bookmarks: events with notes."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from vcdebug.tui.messages import Command
from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import GO, Panel
from vcdebug.views.base import Table
from vcdebug.views.bookmarks import bookmarks


class BookmarksPanel(Panel):
    """Those of the recording that is shown, in the order of events."""

    TITLE = "Bookmarks"
    KEY = "M"
    HELP = "bookmarks with their notes; Enter goes there, :report FILE.html writes them down with what the screen shows"
    FOOTER = (("panel.go", "go there"), ("bookmarks.remove", "remove"))
    BINDINGS: ClassVar[list[BindingType]] = [
        GO,
        Binding("delete,x", "remove", "remove the bookmark", id="bookmarks.remove"),
    ]

    def view(self, moment: Moment) -> Table:
        """All bookmarks."""
        return bookmarks(moment.recording, moment.seq, moment.bookmarks)

    def action_remove(self) -> None:
        """Forget the one under the cursor."""
        if self.cursor_row is not None:
            self.post_message(Command(f"unbookmark {self.cursor_row.key}"))
