"""Bookmarks can be removed from their list."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding

from vcdebug.tui.messages import Command
from vcdebug.tui.panels.base import Extra


class Bookmarks(Extra):
    """Takes one off the list."""

    FOOTER = (("bookmarks.go", "go there"), ("bookmarks.remove", "remove"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("enter", "extra('go')", "go to the bookmark, in whichever cycle it lies", id="bookmarks.go"),
        Binding("delete,x", "extra('remove')", "remove the bookmark", id="bookmarks.remove"),
    )

    def act(self, name: str) -> None:
        """Go to the one under the cursor, or forget it."""
        row = self.panel.cursor_row
        if row is not None:
            self.panel.post_message(Command(f"{'bookmarks' if name == 'go' else 'unbookmark'} {row.key}"))
