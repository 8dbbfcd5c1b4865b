"""Bookmarks can be removed from their list."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding

from vcdebug.tui.messages import Command
from vcdebug.tui.panels.base import GO, Extra


class Bookmarks(Extra):
    """Takes one off the list."""

    FOOTER = (("panel.go", "go there"), ("bookmarks.remove", "remove"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        GO,
        Binding("delete,x", "extra('remove')", "remove the bookmark", id="bookmarks.remove"),
    )

    def act(self, name: str) -> None:
        """Forget the one under the cursor."""
        row = self.panel.cursor_row
        if row is not None:
            self.panel.post_message(Command(f"unbookmark {row.key}"))
