"""The first keys, told once."""

from __future__ import annotations

from typing import Final

from rich.text import Text
from textual.widget import Widget

LINES: Final = (
    "First time here? s steps into the next event, n over, f out; capitals go back.",
    "b sets a breakpoint, c continues to it; 1 to 9 and Tab change the panel; e explains why a job waits.",
    "? lists every key, : takes commands, Ctrl+P finds everything by name. Any key takes this away.",
)


class FirstKeys(Widget):
    """Three lines above the last one, until the first key."""

    DEFAULT_CSS = "FirstKeys { height: auto; padding: 0 1; background: $surface; color: $text; display: none; }"

    def render(self) -> Text:
        """What to try first."""
        return Text("\n").join([Text(line) for line in LINES])
