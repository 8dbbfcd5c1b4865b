"""The main screen: the desk with its keys."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from vcdebug.tui.screens.habits import Habits
from vcdebug.tui.screens.keys import KEYS
from vcdebug.tui.screens.noting import Noting


class MainScreen(Noting, Habits):
    """Closes with the name of another snapshot to open, or an empty text for the chooser."""

    BINDINGS: ClassVar[list[BindingType]] = KEYS

    def action_open(self) -> None:
        """Choose another snapshot."""
        self.leave(lambda: self.dismiss(""))

    def action_quit(self) -> None:
        """Leave."""
        self.leave(lambda: self.app.exit(0))
