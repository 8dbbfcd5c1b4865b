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
from vcdebug.tui.main.arrangement import FLOW, MIDDLE, NARROW, USUAL_LIST, Asked, Places, arranged
from vcdebug.tui.panels import PANELS
from vcdebug.tui.panels import panel as new_panel
from vcdebug.tui.panels.base import Panel, keys_in_force
from vcdebug.tui.widgets.tabs import Tab

LISTS: Final = tuple(panel.name for panel in PANELS if panel.name not in (FLOW, *MIDDLE))
"""Panels that are shown where they are asked for."""
_KINDS: Final = {panel.name: panel for panel in PANELS}
PATIENCE: Final = 0.25
"""Seconds in which most recordings are there: frames around nothing are drawn for those alone that take longer."""


class Arranged(Layout):
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


ARRANGED: Final = Arranged()


class MainLayout(Widget):
    """The panels; every change of the moment reaches those that are seen."""

    moment: reactive[DebuggerState | None] = reactive(None, always_update=True, repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.places: Places = {}
        self._chosen = USUAL_LIST
        self._focus = MIDDLE[0]
        self._widest: dict[str, int] = {}
        self._begun = False
        """Whether there is something to show, or to wait for."""
        self._panels = {name: new_panel(_KINDS[name]) for name in (FLOW, *MIDDLE)}
        """Those that somebody has asked for: most never are, and each takes time to set up."""

    def compose(self) -> ComposeResult:
        """The panels that every size shows; others come when they are asked for."""
        yield from self._panels.values()

    def on_mount(self) -> None:
        """Wait for the recording, but not for long."""
        self.set_timer(PATIENCE, self.begin)

    def begin(self) -> None:
        """Show the panels, and hide those that the arrangement gives no place."""
        if not self._begun:
            self._begun = True
            self.rearrange()

    def on_resize(self) -> None:
        """Another size may have another number of columns."""
        self._widest.clear()
        self.rearrange()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """What has the keys gives way last; by now they may be elsewhere again."""
        if isinstance(event.widget, Panel) and event.widget is self.screen.focused:
            self._focus = event.widget.shows.name
            if self._focus in LISTS:
                self._chosen = self._focus
            self.rearrange()

    @on(Panel.Grown)
    def panel_grown(self) -> None:
        """More of a panel is there than when it got its place."""
        self.rearrange()

    def watch_moment(self) -> None:
        """Every panel that is seen draws the new moment, and gets the room that it needs for it."""
        for panel in self._panels.values():
            panel.moment = self.moment
        self._begun |= self.moment is not None
        self.rearrange()

    @property
    def layout(self) -> Layout:
        """Places as numbers, instead of one below the other."""
        return ARRANGED

    @property
    def panels(self) -> dict[str, Panel]:
        """The panels that somebody has asked for, by their names."""
        return self._panels

    def panel(self, name: str) -> Panel:
        """The panel of a name."""
        if name not in self._panels:
            panel = self._panels[name] = new_panel(_KINDS[name])
            panel.set_reactive(Panel.moment, self.moment)
            panel.display = False
            self.mount(panel)
        return self._panels[name]

    @property
    def first(self) -> Panel:
        """The panel that has the focus in the beginning."""
        return self.panel(MIDDLE[0])

    def bring(self, name: str) -> Panel | None:
        """Bring the panel whose name begins so to the front; None if there is none."""
        found = next((known for known in _KINDS if name and known.startswith(name.lower()[:4])), None)
        if found is None:
            return None
        self._focus = found
        if found in LISTS:
            self._chosen = found
        self._begun = True
        self.rearrange()
        return self.panel(found)

    def tabs(self) -> Iterable[Tab]:
        """Every panel with its key in force."""
        keys = keys_in_force(self.screen)
        return (Tab(keys.get(one.name, one.key), one.title, one.name, one.group) for one in PANELS)

    # What has which place

    def rearrange(self) -> None:
        """Give every panel its place; what comes into sight is drawn, and then measured again."""
        if not self._begun or not self.is_mounted or not self.size.width:
            return
        places = self._arranged()
        if self._show(places):
            places = self._arranged()
            self._show(places)
        if places != self.places:
            self.places = places
            self.first.refresh(layout=True)  # Textual arranges anew only what a child asks for

    def _arranged(self) -> Places:
        return arranged(Asked(self.size.width, self.size.height, self._chosen, self._focus), self)

    def _show(self, places: Places) -> bool:
        """Show or hide the panels as arranged; whether one of them was hidden before."""
        appeared = [panel for name in places if not (panel := self.panel(name)).display]
        for name, panel in self._panels.items():
            panel.display = name in places
        for panel in appeared:
            panel.draw()
        return bool(appeared)

    def lines(self, name: str, width: int) -> int:
        """The lines that a panel wants at a width."""
        return self.panel(name).wanted_lines(width, framed=self.app.size.width >= NARROW)

    def cells(self, name: str) -> int:
        """The cells that a panel wants; a column does not get narrower while one steps."""
        wanted = self.panel(name).wanted_cells(framed=self.app.size.width >= NARROW)
        self._widest[name] = max(wanted, self._widest.get(name, 0))
        return self._widest[name]
