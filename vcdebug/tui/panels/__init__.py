"""The panels of the screen. `views/panels.py` lists them; one with keys of its own has a file and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from textual.binding import Binding

from vcdebug.tui.panels import base
from vcdebug.tui.panels.base import Extra, Panel
from vcdebug.tui.panels.bookmarks import Bookmarks
from vcdebug.tui.panels.breaks import Breakpoints
from vcdebug.tui.panels.flow import Flow
from vcdebug.tui.panels.log import Log
from vcdebug.tui.panels.moment import Moment
from vcdebug.tui.panels.watch import Watches
from vcdebug.views.panels import PANELS, PanelView

__all__ = ["EXTRAS", "PANELS", "footer_of", "keys_of", "panel"]

EXTRAS: Final[Mapping[str, type[Extra]]] = {
    "flow": Flow,
    "moment": Moment,
    "breaks": Breakpoints,
    "watch": Watches,
    "bookmarks": Bookmarks,
    "log": Log,
}
"""What some panels do beside showing a table."""


def panel(shows: PanelView, *, classes: str | None = None, id: str | None = None) -> Panel:
    """The widget of a panel."""
    return Panel(shows, EXTRAS.get(shows.name), id=id, classes=classes)


def keys_of(shows: PanelView) -> tuple[Binding, ...]:
    """The keys of this panel alone."""
    return base.keys_of(shows, EXTRAS.get(shows.name))


def footer_of(shows: PanelView) -> tuple[tuple[str, str], ...]:
    """The panel's own keys that the footer names first: the id of each binding, and a word."""
    return EXTRAS[shows.name].FOOTER if shows.name in EXTRAS else ()
