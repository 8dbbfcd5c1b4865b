"""One line that names the panels sharing a place, the visible one marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget


class Tab(NamedTuple):
    """A panel's digit, title and widget id."""

    key: str
    title: str
    panel: str


class Tabs(Widget):
    """A click chooses, as the digit does."""

    DEFAULT_CSS = "Tabs { height: 1; padding: 0 1; color: $text; }"

    active: reactive[str] = reactive("")
    tabs: reactive[tuple[Tab, ...]] = reactive(())

    class Chosen(Message):
        """A tab was clicked."""

        def __init__(self, panel: str) -> None:
            super().__init__()
            self.panel = panel

    def render(self) -> Text:
        """Digits and titles; the visible one stands in brackets as well as reversed. Short of room, digits stay."""
        return self._line(short=sum(len(tab.title) + 4 for tab in self.tabs) > self.size.width)

    def _line(self, *, short: bool) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        for tab in self.tabs:
            chosen = tab.panel == self.active
            title = tab.title if chosen or not short else tab.title[:4]
            words = f"[{tab.key} {title}]" if chosen else f" {tab.key} {title} "
            text.append(words, "bold reverse" if chosen else "")
        return text

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the mouse."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        short = sum(len(tab.title) + 4 for tab in self.tabs) > self.size.width
        start = 0
        for tab in self.tabs:
            title = tab.title if tab.panel == self.active or not short else tab.title[:4]
            end = start + len(title) + len(tab.key) + 3
            if start <= offset.x < end:
                self.post_message(self.Chosen(tab.panel))
                return
            start = end


def tabs_of(panels: Sequence[tuple[str, str, str]]) -> tuple[Tab, ...]:
    """From (digit, title, id)."""
    return tuple(Tab(*panel) for panel in panels)
