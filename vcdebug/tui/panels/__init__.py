"""The panels of the screen. `views/panels.py` lists them; one with keys of its own has a file and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from textual.binding import Binding

from vcdebug.framework.registry import resolve
from vcdebug.tui.panels import base
from vcdebug.tui.panels.base import Extra, Panel
from vcdebug.views.panels import PANELS, PanelView

__all__ = ["EXTRAS", "PANELS", "footer_of", "keys_of", "panel"]

EXTRAS: Final[Mapping[str, str]] = {
    "flow": "vcdebug.tui.panels.flow:Flow",
    "moment": "vcdebug.tui.panels.moment:Moment",
    "breaks": "vcdebug.tui.panels.notebook:Breakpoints",
    "watch": "vcdebug.tui.panels.notebook:Watches",
    "bookmarks": "vcdebug.tui.panels.notebook:Bookmarks",
    "log": "vcdebug.tui.panels.log:Log",
}
"""What some panels do beside showing a table; imported with the first of them."""


def _extra(shows: PanelView) -> type[Extra] | None:
    """What this panel does beside showing its table."""
    if shows.name not in EXTRAS:
        return None
    extra: type[Extra] = resolve(EXTRAS[shows.name])
    return extra


def panel(shows: PanelView) -> Panel:
    """The widget of a panel."""
    extra = _extra(shows)
    # Textual reads keys from a class only, so each panel is the only object of a class with its keys.
    body = {"BINDINGS": [*base.keys_of(shows, extra)], "__module__": __name__}
    with_keys: type[Panel] = type(Panel.__name__, (Panel,), body)
    return with_keys(shows, extra)


def keys_of(shows: PanelView) -> tuple[Binding, ...]:
    """The keys of this panel alone."""
    return base.keys_of(shows, _extra(shows))


def footer_of(shows: PanelView) -> tuple[tuple[str, str], ...]:
    """The panel's own keys that the footer names first: the id of each binding, and a word."""
    extra = _extra(shows)
    return extra.FOOTER if extra is not None else ()
