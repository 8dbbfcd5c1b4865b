"""One line that names the panels sharing a place, the visible one marked."""

from __future__ import annotations

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
        """Digits and titles; the visible one stands in brackets as well as reversed."""
        text = Text(no_wrap=True, overflow="ellipsis")
        for tab in self.tabs:
            chosen = tab.panel == self.active
            text.append(_words(tab, chosen=chosen), "bold reverse" if chosen else "")
            text.append(" ")
        return text

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the mouse."""
        offset = event.get_content_offset(self)
        start = 0
        for tab in self.tabs:
            end = start + len(_words(tab, chosen=tab.panel == self.active)) + 1
            if offset is not None and start <= offset.x < end:
                self.post_message(self.Chosen(tab.panel))
                return
            start = end


def _words(tab: Tab, *, chosen: bool) -> str:
    return f"[{tab.key} {tab.title}]" if chosen else f"{tab.key} {tab.title}"
