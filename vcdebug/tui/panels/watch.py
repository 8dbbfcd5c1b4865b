"""Watch: figures and expressions kept in sight can be forgotten."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding

from vcdebug.tui.messages import Command
from vcdebug.tui.panels.base import GO, Extra


class Watches(Extra):
    """Takes one off the list."""

    FOOTER = (("panel.go", "to its change"), ("watch.remove", "remove"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        GO,
        Binding("delete,x", "extra('remove')", "stop watching it", id="watch.remove"),
    )

    def act(self, name: str) -> None:
        """Forget the one under the cursor."""
        row = self.panel.cursor_row
        if row is not None:
            self.panel.post_message(Command(f"unwatch {row.key}"))
