"""The panels that share a place, by key and title, the visible one marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget


class Tab(NamedTuple):
    """A panel's key, title and widget id."""

    key: str
    title: str
    panel: str


class Tabs(Widget):
    """A click chooses, as the key does; no tab is cut off: where there is no room, the last ones are keys alone."""

    DEFAULT_CSS = "Tabs { height: auto; padding: 0 1; color: $text; }"

    active: reactive[str] = reactive("")
    tabs: reactive[tuple[Tab, ...]] = reactive((), layout=True)
    most_lines: reactive[int] = reactive(1, layout=True)

    class Chosen(Message):
        """A tab was clicked."""

        def __init__(self, panel: str) -> None:
            super().__init__()
            self.panel = panel

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As few lines as the titles need."""
        return max(len(self.lines(width)), 1)

    def lines(self, width: int) -> list[list[Tab]]:
        """The tabs as they are written, line by line."""
        return _lines(self.tabs, self.active, width, self.most_lines)

    def render(self) -> Text:
        """Keys and titles; the visible one stands in brackets as well as reversed."""
        return Text("\n").join(self._line(tabs) for tabs in self.lines(self.size.width))

    def _line(self, tabs: Sequence[Tab]) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        for tab in tabs:
            text.append(tab.title, "bold reverse" if tab.panel == self.active else "")
            text.append(" ")
        return text

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the mouse."""
        offset = event.get_content_offset(self)
        lines = self.lines(self.size.width)
        if offset is None or not 0 <= offset.y < len(lines):
            return
        start = 0
        for tab in lines[offset.y]:
            end = start + len(tab.title) + 1
            if start <= offset.x < end:
                self.post_message(self.Chosen(tab.panel))
                return
            start = end


def _lines(tabs: Sequence[Tab], active: str, width: int, most: int) -> list[list[Tab]]:
    """As many whole titles as there is room for, from the first on; the chosen one is always whole."""
    lines: list[list[Tab]] = []
    for titled in range(len(tabs), -1, -1):
        words = (_words(tab, active, whole=number < titled) for number, tab in enumerate(tabs))
        lines = _filled([tab._replace(title=title) for tab, title in zip(tabs, words, strict=True)], width)
        if len(lines) <= most:
            break
    return lines


def _words(tab: Tab, active: str, *, whole: bool) -> str:
    if tab.panel == active:
        return f"[{tab.key} {tab.title}]"
    return f"{tab.key} {tab.title}" if whole else tab.key


def _filled(tabs: Sequence[Tab], width: int) -> list[list[Tab]]:
    lines: list[list[Tab]] = []
    used = width + 1
    for tab in tabs:
        size = len(tab.title)
        if used + size > width:
            lines.append([])
            used = 0
        lines[-1].append(tab)
        used += size + 1
    return lines
