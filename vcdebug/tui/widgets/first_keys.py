"""The first keys, told once."""

from __future__ import annotations

from typing import Final

from rich.text import Text
from textual.widget import Widget

LINES: Final = (
    "First time here?  s into the next event, n over, f out; capitals go back.",
    "b breakpoint, c continue to it   1-9 and Tab panels   e why does the job wait?",
    "? every key   : commands   Ctrl+P finds everything      (any key hides this)",
)
"""At most 78 cells each: the narrowest screen shows three lines."""


class FirstKeys(Widget):
    """Three lines above the last one, until the first key."""

    DEFAULT_CSS = "FirstKeys { height: auto; padding: 0 1; background: $surface; color: $text; display: none; }"

    def render(self) -> Text:
        """What to try first."""
        return Text("\n").join([Text(line) for line in LINES])
