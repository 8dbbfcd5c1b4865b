"""All panels in one line: groups by name, in each as many panels as there is room for, by key and word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from rich.text import Text
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

ALL_PANELS: Final = "panels"
"""What stands for the list of all panels."""
MORE_SIGN: Final = "…"
FIRST_PER_GROUP: Final = 3
"""Panels of each group that are named before the rest of any other."""


class PanelTab(NamedTuple):
    """A panel's key, title, widget id and group."""

    key: str
    title: str
    panel: str
    group: str = ""

    def tab_segments(self, active: str) -> tuple[TabSegment, ...]:
        """Key and word apart; the active one stands in brackets as well as reversed."""
        if self.panel == active:
            return (TabSegment(f"[{self.key} {self.title}]", "bold reverse", self.panel),)
        return TabSegment(f"<{self.key}>", "bold", self.panel), TabSegment(f" {self.title}", "", self.panel)


class TabSegment(NamedTuple):
    """A stretch of the line, and the panel that a click on it leads to."""

    text: str
    style: str = ""
    panel: str = ""


class Tabs(Widget):
    """A click chooses, as the key does; the last one opens the list of all."""

    DEFAULT_CSS = "Tabs { height: 1; padding: 0 1; color: $text; }"

    active: reactive[str] = reactive("")
    tabs: reactive[tuple[PanelTab, ...]] = reactive(())
    all_key: reactive[str] = reactive("P")

    @dataclass(eq=False)
    class Chosen(Message):
        """A tab was clicked."""

        panel: str

    def render(self) -> Text:
        """Groups in bold, keys apart from words."""
        text = Text(no_wrap=True, overflow="ellipsis")
        for part in self.line_segments(self.size.width):
            text.append(part.text, part.style)
        return text

    def line_segments(self, width: int) -> list[TabSegment]:
        """The line in its stretches; the list of all stands at the end."""
        last = f"<{self.all_key}> {ALL_PANELS}"
        shown = choose_tabs(self.tabs, self.active, width - len(last) - 2)
        parts = list(_write_segments(self.tabs, shown, self.active))
        used = sum(len(part.text) for part in parts)
        return [*parts, TabSegment(" " * max(1, width - used - len(last))), TabSegment(last, "", ALL_PANELS)]

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the mouse."""
        offset = event.get_content_offset(self)
        start = 0
        for part in self.line_segments(self.size.width) if offset is not None else ():
            end = start + len(part.text)
            if part.panel and offset is not None and start <= offset.x < end:
                self.post_message(self.Chosen(part.panel))
            start = end


def choose_tabs(tabs: Sequence[PanelTab], active: str, width: int) -> tuple[PanelTab, ...]:
    """The panels for which there is room: the active one, its group, the first ones of the others, the rest."""
    group = next((tab.group for tab in tabs if tab.panel == active), "")
    first = [tab for name in _group_names(tabs) for tab in [one for one in tabs if one.group == name][:FIRST_PER_GROUP]]
    wanted = [tab for tab in tabs if tab.panel == active] + [tab for tab in tabs if tab.group == group] + first
    shown: list[PanelTab] = []
    for tab in dict.fromkeys([*wanted, *tabs]):
        if sum(len(part.text) for part in _write_segments(tabs, [*shown, tab], active)) > width and shown:
            continue
        shown.append(tab)
    return tuple(tab for tab in tabs if tab in shown)


def _group_names(tabs: Sequence[PanelTab]) -> list[str]:
    return list(dict.fromkeys(tab.group for tab in tabs))


def _write_segments(tabs: Sequence[PanelTab], shown: Sequence[PanelTab], active: str) -> Iterator[TabSegment]:
    """The line: what a group does not show stands as an ellipsis."""
    for number, group in enumerate(_group_names(tabs)):
        inside = [tab for tab in tabs if tab.group == group]
        yield TabSegment(f"{'   ' if number else ''}{group}:", "italic")
        for tab in inside:
            if tab in shown:
                yield TabSegment(" ")
                yield from tab.tab_segments(active)
        if any(tab not in shown for tab in inside):
            yield TabSegment(f" {MORE_SIGN}", "dim")
