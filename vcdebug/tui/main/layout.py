"""The panels in their places: `arrangement.py` says where, this puts them there and draws what is seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from textual import events, on
from textual.app import ComposeResult
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import Layout, WidgetPlacement
from textual.reactive import reactive
from textual.widget import Widget

from vcdebug.debugger.driver import DebuggerState
from vcdebug.tui.main.arrangement import (
    FLOW_PANEL,
    MIDDLE_PANELS,
    NARROW_WIDTH,
    USUAL_LIST,
    ArrangementRequest,
    PanelPlaces,
    arrange_panels,
)
from vcdebug.tui.panels import PANELS
from vcdebug.tui.panels import new_panel as new_panel
from vcdebug.tui.panels.base import Panel, panel_keys_in_force
from vcdebug.tui.widgets.tabs import PanelTab

LIST_PANELS: Final = tuple(
    panel.command_name for panel in PANELS if panel.command_name not in (FLOW_PANEL, *MIDDLE_PANELS)
)
"""Panels that are shown where they are asked for."""
_PANEL_VIEWS: Final = {panel.command_name: panel for panel in PANELS}
EMPTY_FRAME_DELAY: Final = 0.25
"""Seconds in which most recordings are there: frames around nothing are drawn for those alone that take longer."""


class ArrangedLayout(Layout):
    """Puts the panels where the container says."""

    name = "arranged"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> list[WidgetPlacement]:
        """One placement per panel that is seen."""
        assert isinstance(parent, MainLayout)
        places = parent.places
        return [
            WidgetPlacement(Region(*places[name]), NULL_OFFSET, NULL_SPACING, child)
            for child in children
            if (name := child.id or "") in places
        ]


ARRANGED_LAYOUT: Final = ArrangedLayout()


class MainLayout(Widget):
    """The panels; every change of the moment reaches those that are seen."""

    moment: reactive[DebuggerState | None] = reactive(None, always_update=True, repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.places: PanelPlaces = {}
        self._chosen = USUAL_LIST
        self._focus = MIDDLE_PANELS[0]
        self._widest: dict[str, int] = {}
        self._begun = False
        """Whether there is something to show, or to wait for."""
        self._panels = {name: new_panel(_PANEL_VIEWS[name]) for name in (FLOW_PANEL, *MIDDLE_PANELS)}
        """Those that somebody has asked for: most never are, and each takes time to set up."""

    def compose(self) -> ComposeResult:
        """The panels that every size shows; others come when they are asked for."""
        yield from self._panels.values()

    def on_mount(self) -> None:
        """Wait for the recording, but not for long."""
        self.set_timer(EMPTY_FRAME_DELAY, self.show_panels)

    def show_panels(self) -> None:
        """Show the panels, and hide those that the arrangement gives no place."""
        if not self._begun:
            self._begun = True
            self.rearrange_panels()

    def on_resize(self) -> None:
        """Another size may have another number of columns."""
        self._widest.clear()
        self.rearrange_panels()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """What has the keys gives way last; by now they may be elsewhere again."""
        if isinstance(event.widget, Panel) and event.widget is self.screen.focused:
            self._focus = event.widget.shows.command_name
            if self._focus in LIST_PANELS:
                self._chosen = self._focus
            self.rearrange_panels()

    @on(Panel.Grown)
    def panel_grown(self) -> None:
        """More of a panel is there than when it got its place."""
        self.rearrange_panels()

    def watch_moment(self) -> None:
        """Every panel that is seen draws the new moment, and gets the room that it needs for it."""
        for panel in self._panels.values():
            panel.moment = self.moment
        self._begun |= self.moment is not None
        self.rearrange_panels()

    @property
    def layout(self) -> Layout:
        """Places as numbers, instead of one below the other."""
        return ARRANGED_LAYOUT

    @property
    def open_panels(self) -> dict[str, Panel]:
        """The panels that somebody has asked for, by their names."""
        return self._panels

    def get_panel(self, name: str) -> Panel:
        """The panel of a name."""
        if name not in self._panels:
            panel = self._panels[name] = new_panel(_PANEL_VIEWS[name])
            panel.set_reactive(Panel.moment, self.moment)
            panel.display = False
            self.mount(panel)
        return self._panels[name]

    @property
    def first_panel(self) -> Panel:
        """The panel that has the focus in the beginning."""
        return self.get_panel(MIDDLE_PANELS[0])

    def bring_panel(self, name: str) -> Panel | None:
        """Bring the panel whose name begins so to the front; None if there is none."""
        found = next((known for known in _PANEL_VIEWS if name and known.startswith(name.lower()[:4])), None)
        if found is None:
            return None
        self._focus = found
        if found in LIST_PANELS:
            self._chosen = found
        self._begun = True
        self.rearrange_panels()
        return self.get_panel(found)

    def panel_tabs(self) -> Iterable[PanelTab]:
        """Every panel with its key in force."""
        keys = panel_keys_in_force(self.screen)
        return (PanelTab(keys.get(one.command_name, one.key), one.title, one.command_name, one.group) for one in PANELS)

    # What has which place

    def rearrange_panels(self) -> None:
        """Give every panel its place; what comes into sight is drawn, and then measured again."""
        if not self._begun or not self.is_mounted or not self.size.width:
            return
        places = self._arrange_now()
        if self._show_placed(places):
            places = self._arrange_now()
            self._show_placed(places)
        if places != self.places:
            self.places = places
            self.first_panel.refresh(layout=True)  # Textual arranges anew only what a child asks for

    def _arrange_now(self) -> PanelPlaces:
        return arrange_panels(ArrangementRequest(self.size.width, self.size.height, self._chosen, self._focus), self)

    def _show_placed(self, places: PanelPlaces) -> bool:
        """Show or hide the panels as arranged; whether one of them was hidden before."""
        appeared = [panel for name in places if not (panel := self.get_panel(name)).display]
        for name, panel in self._panels.items():
            panel.display = name in places
        for panel in appeared:
            panel.draw_moment()
        return bool(appeared)

    def wanted_lines(self, name: str, width: int) -> int:
        """The lines that a panel wants at a width."""
        return self.get_panel(name).wanted_lines(width, framed=self.app.size.width >= NARROW_WIDTH)

    def wanted_cells(self, name: str) -> int:
        """The cells that a panel wants; a column does not get narrower while one steps."""
        wanted = self.get_panel(name).wanted_cells(framed=self.app.size.width >= NARROW_WIDTH)
        self._widest[name] = max(wanted, self._widest.get(name, 0))
        return self._widest[name]
