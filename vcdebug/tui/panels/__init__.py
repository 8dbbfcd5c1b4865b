"""The panels: `views/panels.py` lists them all; a panel with keys of its own has a module and a row here."""

from collections.abc import Mapping
from typing import Final

from vcdebug.framework.registry import resolve_reference
from vcdebug.tui.panels.base import EventsExtra, ListExtra, Panel, PanelExtra
from vcdebug.views.panels import PanelView

PANEL_EXTRAS: Final[Mapping[str, str]] = {
    "flow": "vcdebug.tui.panels.extras:FlowPanel",
    "moment": "vcdebug.tui.panels.extras:MomentPanel",
    "breaks": "vcdebug.tui.panels.extras:BreakpointsPanel",
    "watch": "vcdebug.tui.panels.extras:WatchesPanel",
    "bookmarks": "vcdebug.tui.panels.extras:BookmarksPanel",
    "log": "vcdebug.tui.panels.log:LogPanel",
}
"""The PanelExtra class of each panel that has one, imported on use."""


def find_extra(panel_view: PanelView) -> type[PanelExtra]:
    """The keys and state that only this panel has."""
    if panel_view.command_name not in PANEL_EXTRAS:
        return ListExtra if panel_view.keeps_row else EventsExtra if panel_view.leads_to_events else PanelExtra
    extra: type[PanelExtra] = resolve_reference(PANEL_EXTRAS[panel_view.command_name])
    return extra


def new_panel(panel_view: PanelView) -> Panel:
    """A new widget for a panel."""
    extra = find_extra(panel_view)
    if not extra.KEYS:
        return Panel(panel_view, extra)
    # Textual reads bindings from the class alone, so each panel with keys needs a class of its own.
    panel_class: type[Panel] = type(Panel.__name__, (Panel,), {"BINDINGS": [*extra.KEYS], "__module__": __name__})
    return panel_class(panel_view, extra)
