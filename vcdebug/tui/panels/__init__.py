"""The panels: `views/panels.py` lists them all; a panel with keys of its own has a module and a row here."""

from collections.abc import Mapping
from typing import Final

from textual.binding import Binding

from vcdebug.framework.registry import resolve_reference
from vcdebug.tui.panels import base
from vcdebug.tui.panels.base import Panel, PanelExtra
from vcdebug.views.panels import PANELS, PanelView

__all__ = ["PANELS", "PANEL_EXTRAS", "footer_keys", "new_panel", "panel_keys"]

PANEL_EXTRAS: Final[Mapping[str, str]] = {
    "flow": "vcdebug.tui.panels.extras:FlowPanel",
    "moment": "vcdebug.tui.panels.extras:MomentPanel",
    "breaks": "vcdebug.tui.panels.extras:BreakpointsPanel",
    "watch": "vcdebug.tui.panels.extras:WatchesPanel",
    "bookmarks": "vcdebug.tui.panels.extras:BookmarksPanel",
    "log": "vcdebug.tui.panels.log:LogPanel",
}
"""The PanelExtra class of each panel that has one, imported on use."""


GO_FOOTER: Final = ("panel.go", "go there")
ZOOM_FOOTER: Final = ("zoom", "zoom")
"""Of panels of text, which a narrow screen cuts."""
LIST_FOOTER: Final = (("table.open", "open"), ("last-change", "last change"), ("what-if", "what if"))
"""Of the lists of jobs, nodes and queues."""


def _find_extra(panel_view: PanelView) -> type[PanelExtra] | None:
    if panel_view.command_name not in PANEL_EXTRAS:
        return None
    extra: type[PanelExtra] = resolve_reference(PANEL_EXTRAS[panel_view.command_name])
    return extra


def new_panel(panel_view: PanelView) -> Panel:
    """A new widget for a panel."""
    extra = _find_extra(panel_view)
    # Textual reads bindings from the class alone, so each panel with keys needs a class of its own.
    body = {"BINDINGS": [*base.extra_keys(panel_view, extra)], "__module__": __name__}
    panel_class: type[Panel] = type(Panel.__name__, (Panel,), body)
    return panel_class(panel_view, extra)


def panel_keys(panel_view: PanelView) -> tuple[Binding, ...]:
    """The bindings that only this panel has."""
    return base.extra_keys(panel_view, _find_extra(panel_view))


def footer_keys(panel_view: PanelView) -> tuple[tuple[str, str], ...]:
    """(id of a binding, word) of the panel's own keys, which the footer names first."""
    extra = _find_extra(panel_view)
    if extra is not None:
        return extra.FOOTER
    return LIST_FOOTER if panel_view.keeps_row else (GO_FOOTER,) if panel_view.leads_to_events else (ZOOM_FOOTER,)
