"""The places of the panels, as numbers and on the screen; docs/screen.md draws the three sizes.

The places follow from the size of the terminal alone: what a panel holds, and which one has the focus, moves none.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import cached_property
from typing import Final, NamedTuple, Self

from msgspec import Struct
from textual import events
from textual.app import ComposeResult
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import Layout, WidgetPlacement
from textual.reactive import reactive
from textual.widget import Widget

from vcdebug.debugger.driver import DebuggerState
from vcdebug.tui.panels import new_panel
from vcdebug.tui.panels.base import Panel, panel_keys_in_force
from vcdebug.tui.widgets.bars import PanelTab, Tabs
from vcdebug.views.panels import PANEL_VIEWS, PANELS

FLOW_PANEL: Final = "flow"
MIDDLE_PANELS: Final = ("moment", "equation", "statement")
"""The panels of the current event: what happened, why, and its effects."""
CLUSTER_PANELS: Final = ("jobs", "queues", "nodes")
"""Lists that a large screen always shows."""
TABS: Final = "tabs"
"""The place of the tabs, directly above the dock that they switch."""

LINES_AROUND: Final = 4
"""Header, timeline and footer."""
MIN_FOLD_HEIGHT: Final = 18
"""Height from which a small screen has a line for the titles of equation and statement."""


class PanelPlace(NamedTuple):
    """A rectangle in cells."""

    x: int
    y: int
    width: int
    height: int


PanelPlaces = Mapping[str, PanelPlace]


def is_ruled(place: PanelPlace) -> bool:
    """Whether the panel there has a rule at its left."""
    return place.x > 0 and place.height > 1


class ScreenClass(Struct, frozen=True):
    """A class of terminal sizes, with the panels that it always shows; the dock shows one other panel."""

    least_width: int
    least_height: int
    """Lines of the panels, without header, timeline and footer."""
    fixed_panels: tuple[str, ...]
    default_panel: str
    """The panel in the dock until the user opens another one."""


SMALL: Final = ScreenClass(0, 0, MIDDLE_PANELS[:1], FLOW_PANEL)
MEDIUM: Final = ScreenClass(100, 28, (FLOW_PANEL, *MIDDLE_PANELS), "jobs")
LARGE: Final = ScreenClass(160, 44, (FLOW_PANEL, *MIDDLE_PANELS, *CLUSTER_PANELS), "effects")


def screen_class(width: int, height: int) -> ScreenClass:
    """The largest class that fits."""
    fitting = (size for size in (LARGE, MEDIUM) if width >= size.least_width and height >= size.least_height)
    return next(fitting, SMALL)


def arrange_panels(
    width: int, height: int, docked: str, *, overview: bool = False, of_class: ScreenClass | None = None
) -> PanelPlaces:
    """Places of panels and tabs by name; the overview also takes the places of equation and statement."""
    of_class = of_class or screen_class(width, height)
    if of_class is SMALL:
        dock = max(7 + (height - 20) // 2, 3)
        return _arrange_small(width, height, dock, docked)
    arrange = _arrange_medium if of_class is MEDIUM else _arrange_large
    return arrange(width, height, docked, overview=overview)


def _arrange_small(width: int, height: int, dock: int, docked: str) -> PanelPlaces:
    """The event above, the dock below the tabs; of equation and statement only the titles, in one line."""
    moment, equation, statement = MIDDLE_PANELS
    folded = height >= MIN_FOLD_HEIGHT
    moment_height, half_width = height - dock - 1 - folded, width * 6 // 10
    titles = {
        equation: PanelPlace(0, moment_height, half_width, 1),
        statement: PanelPlace(half_width, moment_height, width - half_width, 1),
    }
    return {
        moment: PanelPlace(0, 0, width, moment_height),
        **(titles if folded else {}),
        TABS: PanelPlace(0, moment_height + folded, width, 1),
        docked: PanelPlace(0, moment_height + folded + 1, width, dock),
    }


def _arrange_medium(width: int, height: int, docked: str, *, overview: bool) -> PanelPlaces:
    """Two columns, and the dock below both."""
    flow = min(width * 4 // 10, 48)
    dock = _interpolate(height - 28, 8, 7, 10) + max(height - 36, 0) // 2
    upper = height - dock - 2
    lower = _interpolate(height - 28, 8, 5, 6), 4
    return {
        FLOW_PANEL: PanelPlace(0, 0, flow, upper),
        **_arrange_middle(PanelPlace(flow, 0, width - flow, upper), lower, overview=overview),
        TABS: PanelPlace(0, upper, width, 2),
        docked: PanelPlace(0, upper + 2, width, dock),
    }


def _arrange_large(width: int, height: int, docked: str, *, overview: bool) -> PanelPlaces:
    """Three columns, and the dock below the event and the cluster."""
    flow, right = (_interpolate(width - 160, 40, least, most) for least, most in ((44, 56), (40, 60)))
    dock = _interpolate(height - 44, 12, 13, 19) + max(height - 56, 0) // 2
    upper = height - dock - 2
    lower = _interpolate(height - 44, 12, 6, 8), 6
    lists = _interpolate(height - 44, 12, 8, 10)
    heights = (lists, lists, upper - 2 * lists)
    places = {
        FLOW_PANEL: PanelPlace(0, 0, flow, height),
        **_arrange_middle(PanelPlace(flow, 0, width - flow - right, upper), lower, overview=overview),
        TABS: PanelPlace(flow, upper, width - flow, 2),
        docked: PanelPlace(flow, upper + 2, width - flow, dock),
    }
    for number, name in enumerate(CLUSTER_PANELS):
        places[name] = PanelPlace(width - right, number * lists, right, heights[number])
    return places


def _arrange_middle(place: PanelPlace, lower_heights: tuple[int, int], *, overview: bool) -> dict[str, PanelPlace]:
    """Moment above equation and statement, whose heights are `lower_heights`; the overview takes all three places."""
    moment, equation, statement = MIDDLE_PANELS
    if overview:
        return {moment: place}
    moment_height = place.height - sum(lower_heights)  # exact: ints
    return {
        moment: place._replace(height=moment_height),
        equation: PanelPlace(place.x, moment_height, place.width, lower_heights[0]),
        statement: PanelPlace(place.x, moment_height + lower_heights[0], place.width, lower_heights[1]),
    }


def _interpolate(steps: int, over: int, least: int, most: int) -> int:
    """A value from `least` (at step 0) to `most` (from step `over` on), in proportion to `steps`."""
    return least + (most - least) * min(max(steps, 0), over) // over


EMPTY_FRAME_DELAY: Final = 0.5
"""Delay in seconds before a frame without a recording is drawn; most recordings load faster."""


class ArrangedLayout(Layout):
    """A Textual layout that places panels by their container's `places`."""

    name = "arranged"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> list[WidgetPlacement]:
        """One placement per visible panel."""
        assert isinstance(parent, MainLayout)
        places = parent.places
        return [
            WidgetPlacement(Region(*places[name]), NULL_OFFSET, NULL_SPACING, child)
            for child in children
            if (name := child.id or "") in places
        ]


ARRANGED_LAYOUT: Final = ArrangedLayout()


class MainLayout(Widget):
    """The container of panels and tabs: places the panels and passes each debugger state to them."""

    moment: reactive[DebuggerState | None] = reactive(None, always_update=True, repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.places: PanelPlaces = {}
        self.tabs = Tabs(id=TABS)
        self.tabs.help_texts = {panel.command_name: panel.help for panel in PANELS}
        self._tabs_of: ScreenClass | None = None
        """The size class for which the tabs were made."""
        self._docked = ""
        """The last opened panel that is not always shown."""
        self.zoomed = ""
        """The panel that is shown alone; empty for none."""
        self._begun = False
        """Whether panels are drawn yet."""
        self.frame_delay = ExitStack()
        """Closed when the first frame may be drawn: one without a recording would cost as much as the one with it."""
        self.panels: dict[str, Panel] = {}
        """The panels that exist: others are made on demand, since each takes time to mount."""

    def compose(self) -> ComposeResult:
        """The panels of the first frame, and the tabs."""
        for name, place in self._find_places().items():
            if name != TABS:
                panel = self._make_panel(name)
                # Textual applies its styles again to a widget whose class changes.
                panel.set_class(is_ruled(place), "-ruled")
                yield panel
        yield self.tabs

    def on_mount(self) -> None:
        self.frame_delay.enter_context(self.app.batch_update())
        self.set_timer(EMPTY_FRAME_DELAY, self.show_panels)

    def on_unmount(self) -> None:
        self.frame_delay.close()

    def show_panels(self) -> None:
        """Show the panels, and hide those that the arrangement gives no place."""
        if not self._begun:
            self._begun = True
            self.rearrange_panels()
        self.frame_delay.close()

    def on_resize(self) -> None:
        self.rearrange_panels()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Draw again; a layout draws what it moves, and not all panels because one is added."""
        return super().refresh(*regions, repaint=repaint and not layout, layout=layout, recompose=recompose)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Show the focused panel in the dock, unless the focus has moved on."""
        # The message may arrive after the focus has moved on.
        if isinstance(event.widget, Panel) and event.widget is self.screen.focused:
            self._dock_panel(event.widget.shows.command_name)

    def watch_moment(self) -> None:
        """Pass the new state to all panels and arrange them for it."""
        self._begun |= self.moment is not None
        if self._begun:
            self._size_panels(self._find_places())
        for panel in self.panels.values():
            panel.moment = self.moment
        self.rearrange_panels()
        if self.moment is not None:
            self.frame_delay.close()

    @property
    def layout(self) -> Layout:
        """The Textual layout that uses `places`."""
        return ARRANGED_LAYOUT

    def get_panel(self, name: str) -> Panel:
        if name not in self.panels:
            panel = self._make_panel(name)
            # set_reactive runs no watcher, which would draw the panel before it is mounted.
            panel.set_reactive(Panel.moment, self.moment)
            panel.display = False
            self.mount(panel)
        return self.panels[name]

    def _make_panel(self, name: str) -> Panel:
        panel = self.panels[name] = new_panel(PANEL_VIEWS[name])
        panel.key_in_force = self._panel_keys.get(name, panel.shows.key)
        return panel

    @cached_property
    def _panel_keys(self) -> Mapping[str, str]:
        """The keys of the panels; they stay as they are at the start."""
        return panel_keys_in_force(self.screen)

    def bring_panel(self, name: str) -> Panel | None:
        """Show the panel with this prefix (4 letters suffice); returns the panel, or None without one."""
        match = next((panel for panel in PANEL_VIEWS if name and panel.startswith(name.lower()[:4])), None)
        if match is None:
            return None
        self._begun = True
        self._dock_panel(match)
        return self.get_panel(match)

    def _dock_panel(self, name: str) -> None:
        """Put a panel into the dock unless it has a place of its own."""
        if name not in self.screen_class.fixed_panels:
            self._docked = name
        self.rearrange_panels()

    @property
    def screen_class(self) -> ScreenClass:
        """The class of the terminal's size, which is known before the size of the panels."""
        width, height = self.app.size
        return screen_class(width, height - LINES_AROUND)

    @property
    def docked_panel(self) -> str:
        """Name of the panel in the dock; the usual one if the last opened panel has its own place at this size."""
        of_class = self.screen_class
        return of_class.default_panel if not self._docked or self._docked in of_class.fixed_panels else self._docked

    def zoom_panel(self, name: str) -> None:
        """Show a panel alone; an empty name shows all of them again."""
        self.zoomed = name
        self.rearrange_panels()

    def panel_tabs(self) -> Iterable[PanelTab]:
        """The panels that the dock can show."""
        keys, always = self._panel_keys, self.screen_class.fixed_panels
        for panel in PANELS:
            if panel.command_name not in always:
                yield PanelTab(keys.get(panel.command_name, panel.key), panel.title, panel.command_name, panel.group)

    def rearrange_panels(self) -> None:
        """Place the panels; those that become visible are drawn."""
        if not self._begun or not self.is_mounted:
            return
        places = self._find_places()
        self._show_placed(places)
        if self._tabs_of is not self.screen_class:
            self._tabs_of, self.tabs.tabs = self.screen_class, tuple(self.panel_tabs())
        self.tabs.active = self.docked_panel
        if places != self.places:
            self.places = places
            self.tabs.refresh(layout=True)  # Textual arranges again only when a child asks

    def _find_places(self) -> PanelPlaces:
        """The places for the current state."""
        width, height = self.app.size
        # The first frame is arranged before Textual has set this widget's size.
        size = self.size if self.size.width else Size(width, max(height - LINES_AROUND, 0))
        if self.zoomed:
            return {self.zoomed: PanelPlace(0, 0, *size)}
        overview = self.moment is None or self.moment.at_overview
        return arrange_panels(*size, self.docked_panel, overview=overview, of_class=self.screen_class)

    def _size_panels(self, places: PanelPlaces) -> None:
        """Tell the panels their sizes, so that none is drawn again when Textual reports them."""
        for name, place in places.items():
            if name in self.panels:
                panel = self.panels[name]
                panel.frame_size = Size(place.width, place.height)
                panel.first_width = place.width - is_ruled(place) - panel.bar.width

    def _show_placed(self, places: PanelPlaces) -> None:
        """Show the panels that have a place, and hide the others."""
        placed = {name: self.get_panel(name) for name in places if name != TABS}
        self._size_panels(places)
        for name, panel in self.panels.items():
            panel.display = name in placed
        for name, panel in placed.items():
            panel.set_class(is_ruled(places[name]), "-ruled")
            if panel.frame_size != panel.drawn_size:
                panel.draw_moment()
