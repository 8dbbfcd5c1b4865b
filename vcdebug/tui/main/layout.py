"""The places of the panels, as numbers and on the screen; docs/screen.md draws the three sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from textual import events, on
from textual.app import ComposeResult
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import Layout, WidgetPlacement
from textual.reactive import reactive
from textual.widget import Widget

from vcdebug.debugger.driver import DebuggerState
from vcdebug.tui.panels import PANELS
from vcdebug.tui.panels import new_panel as new_panel
from vcdebug.tui.panels.base import Panel, panel_keys_in_force
from vcdebug.tui.widgets.bars import PanelTab

FLOW_PANEL: Final = "flow"
MIDDLE_PANELS: Final = ("moment", "equation", "statement")
"""The panels of the current event: what happened, why, and its effects."""
CLUSTER_PANELS: Final = ("jobs", "queues", "nodes")
"""Lists that a wide screen always shows."""
USUAL_LIST: Final = "jobs"
USUAL_TAIL: Final = "effects"
"""The list below the columns of a wide screen, until another one is chosen."""
NARROW_WIDTH: Final = 100
WIDE_WIDTH: Final = 160
"""Below NARROW_WIDTH a list replaces the columns; from WIDE_WIDTH on there are three columns."""
LOW_HEIGHT: Final = 30
"""Below this height a list replaces the columns too."""
MIN_HEIGHT: Final = 3
FOCUSED_PERCENT: Final = 50
"""Percent of a column down to which the focused panel shrinks last."""
FOCUSED_PERCENT_WHEN_SHORT: Final = 60
SHORT_HEIGHT: Final = 22
MIN_FLOW_WIDTH: Final = 20
"""Least width of the flow on a narrow screen."""
PANEL_GAP: Final = 1
"""Cells between the columns of a narrow screen, whose panels have no frame at their sides."""


class PanelSizes(Protocol):
    """The sizes that the panels' contents need, frames included."""

    def wanted_lines(self, name: str, width: int) -> int:
        """Lines at a width in cells."""
        ...

    def wanted_cells(self, name: str) -> int:
        """Cells at which nothing wraps."""
        ...


class PanelPlace(NamedTuple):
    """A rectangle in cells."""

    x: int
    y: int
    width: int
    height: int


class ArrangementRequest(NamedTuple):
    """The size of the screen, and the chosen panels."""

    width: int
    height: int
    chosen: str = USUAL_LIST
    """The list that was chosen last."""
    focus: str = "moment"
    """The focused panel, which shrinks last."""


PanelPlaces = Mapping[str, PanelPlace]


def arrange_panels(asked: ArrangementRequest, sizes: PanelSizes) -> PanelPlaces:
    """The visible panels and their places."""
    if asked.width < NARROW_WIDTH or asked.height < LOW_HEIGHT - 4:
        return _arrange_narrow(asked, sizes)
    return _arrange_wide(asked, sizes) if asked.width >= WIDE_WIDTH else _arrange_usual(asked, sizes)


def _arrange_narrow(asked: ArrangementRequest, sizes: PanelSizes) -> PanelPlaces:
    """Two columns; a focused list takes the whole screen."""
    if asked.focus == asked.chosen:
        return {asked.chosen: PanelPlace(0, 0, asked.width, asked.height)}
    wanted = 36 if asked.focus == FLOW_PANEL else 26
    left = min(max(sizes.wanted_cells(FLOW_PANEL), MIN_FLOW_WIDTH), wanted * asked.width // 80)
    right = PanelPlace(left + PANEL_GAP, 0, asked.width - left - PANEL_GAP, asked.height)
    return {
        FLOW_PANEL: PanelPlace(0, 0, left, asked.height),
        **_arrange_column(MIDDLE_PANELS, right, asked.focus, sizes),
    }


def _arrange_usual(asked: ArrangementRequest, sizes: PanelSizes) -> PanelPlaces:
    chosen, focused = asked.chosen, asked.focus == asked.chosen
    share = (60 if focused else 30) * asked.height // 100
    below = min(max(sizes.wanted_lines(chosen, asked.width), 6), share)
    height = asked.height - below
    left = min(max(sizes.wanted_cells(FLOW_PANEL), 34), 40 * asked.width // 100)
    right = PanelPlace(left, 0, asked.width - left, height)
    return {
        FLOW_PANEL: PanelPlace(0, 0, left, height),
        **_arrange_column(MIDDLE_PANELS, right, asked.focus, sizes),
        chosen: PanelPlace(0, height, asked.width, below),
    }


def _arrange_wide(asked: ArrangementRequest, sizes: PanelSizes) -> PanelPlaces:
    """Three columns: flow, event and cluster; and a list below the event, a wide one below the cluster too."""
    width, height, focus = asked.width, asked.height, asked.focus
    left = min(max(sizes.wanted_cells(FLOW_PANEL), 40), 26 * width // 100)
    wanted = {name: sizes.wanted_cells(name) for name in CLUSTER_PANELS}
    right = min(max(*wanted.values(), 56), 41 * width // 100)
    middle = width - left - right
    tail = asked.chosen if wanted.get(asked.chosen, width) > right else USUAL_TAIL
    upper = [name for name in CLUSTER_PANELS if name != tail]
    wide = sizes.wanted_cells(tail) > middle
    above = max(sum(_wanted_heights(MIDDLE_PANELS, middle, sizes)), sum(_wanted_heights(upper, right, sizes)))
    below = _height_below(asked, tail, width - left, above, sizes) if wide else 0
    events = MIDDLE_PANELS if wide else (*MIDDLE_PANELS, tail)
    return {
        FLOW_PANEL: PanelPlace(0, 0, left, height),
        tail: PanelPlace(left, height - below, width - left, below),
        **_arrange_column(events, PanelPlace(left, 0, middle, height - below), focus, sizes, filler=0 if wide else -1),
        **_arrange_column(upper, PanelPlace(width - right, 0, right, height - below), focus, sizes, filler=-1),
    }


def _height_below(asked: ArrangementRequest, tail: str, width: int, above: int, sizes: PanelSizes) -> int:
    """The height of a list below the columns: the rest, at least a share."""
    share = (60 if asked.focus == tail else 30) * asked.height // 100
    return min(max(sizes.wanted_lines(tail, width), MIN_HEIGHT), max(share, asked.height - above))


def _arrange_column(
    names: Sequence[str], place: PanelPlace, focus: str, sizes: PanelSizes, *, filler: int = 0
) -> dict[str, PanelPlace]:
    """Panels one below the other, as high as their contents; `filler` takes the rest."""
    heights = _fit_heights(
        _wanted_heights(names, place.width, sizes), place.height, names.index(focus) if focus in names else 0
    )
    heights[filler] += max(place.height - sum(heights), 0)  # exact: ints
    places: dict[str, PanelPlace] = {}
    y = place.y
    for name, height in zip(names, heights, strict=True):
        places[name] = PanelPlace(place.x, y, place.width, height)
        y += height
    return places


def _wanted_heights(names: Sequence[str], width: int, sizes: PanelSizes) -> list[int]:
    return [max(sizes.wanted_lines(name, width), MIN_HEIGHT - 1) for name in names]


def _fit_heights(wanted: Sequence[int], room: int, favoured: int) -> list[int]:
    """The wanted heights, reduced to the room: the largest first, the favoured one only down to its share."""
    heights = [min(height, room) for height in wanted]
    share = FOCUSED_PERCENT_WHEN_SHORT if room < SHORT_HEIGHT else FOCUSED_PERCENT
    excess = sum(heights) - room  # exact: ints
    # A line at a time: panels of equal height shrink evenly.
    while excess > 0:
        others = [i for i, height in enumerate(heights) if height > MIN_HEIGHT and i != favoured]
        large = [favoured] if heights[favoured] > share * room // 100 else []
        candidates = [i for i in others if heights[i] > room // len(heights)] or large or others or [favoured]
        most = max(candidates, key=lambda i: heights[i])
        if heights[most] <= 1:
            break
        heights[most] -= 1
        excess -= 1
    return heights


LIST_PANELS: Final = tuple(
    panel.command_name for panel in PANELS if panel.command_name not in (FLOW_PANEL, *MIDDLE_PANELS)
)
"""Panels that are shown where they are asked for."""
_PANEL_VIEWS: Final = {panel.command_name: panel for panel in PANELS}
EMPTY_FRAME_DELAY: Final = 0.25
"""Seconds in which most recordings are loaded, so that they never show empty frames."""


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
    """The container of the panels, which hands each moment to them and arranges them."""

    moment: reactive[DebuggerState | None] = reactive(None, always_update=True, repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.places: PanelPlaces = {}
        self._chosen = USUAL_LIST
        self._focus = MIDDLE_PANELS[0]
        self._widest: dict[str, int] = {}
        self._begun = False
        """Whether panels are drawn yet."""
        self._panels = {name: new_panel(_PANEL_VIEWS[name]) for name in (FLOW_PANEL, *MIDDLE_PANELS)}
        """The panels that exist: others are made on demand, since each takes time to mount."""

    def compose(self) -> ComposeResult:
        yield from self._panels.values()

    def on_mount(self) -> None:
        self.set_timer(EMPTY_FRAME_DELAY, self.show_panels)

    def show_panels(self) -> None:
        """Show the panels, and hide those that the arrangement gives no place."""
        if not self._begun:
            self._begun = True
            self.rearrange_panels()

    def on_resize(self) -> None:
        self._widest.clear()  # widths of another size would hold columns open
        self.rearrange_panels()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Arrange the panels for the focused one, unless the focus has moved on."""
        # The message may arrive after the focus has moved on.
        if isinstance(event.widget, Panel) and event.widget is self.screen.focused:
            self._focus = event.widget.shows.command_name
            if self._focus in LIST_PANELS:
                self._chosen = self._focus
            self.rearrange_panels()

    @on(Panel.Grown)
    def panel_grown(self) -> None:
        """Arrange the panels again: the content of one has grown."""
        self.rearrange_panels()

    def watch_moment(self) -> None:
        """Hand the moment to all panels and arrange them for it."""
        for panel in self._panels.values():
            panel.moment = self.moment
        self._begun |= self.moment is not None
        self.rearrange_panels()

    @property
    def layout(self) -> Layout:
        """The layout by numbers."""
        return ARRANGED_LAYOUT

    @property
    def open_panels(self) -> dict[str, Panel]:
        """The panels that exist, by name."""
        return self._panels

    def get_panel(self, name: str) -> Panel:
        if name not in self._panels:
            panel = self._panels[name] = new_panel(_PANEL_VIEWS[name])
            # set_reactive runs no watcher, which would draw the panel before it is mounted.
            panel.set_reactive(Panel.moment, self.moment)
            panel.display = False
            self.mount(panel)
        return self._panels[name]

    @property
    def first_panel(self) -> Panel:
        return self.get_panel(MIDDLE_PANELS[0])

    def bring_panel(self, name: str) -> Panel | None:
        """Show the panel whose name begins like this; None for none."""
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
        keys = panel_keys_in_force(self.screen)
        return (PanelTab(keys.get(one.command_name, one.key), one.title, one.command_name, one.group) for one in PANELS)

    def rearrange_panels(self) -> None:
        """Place the panels; those that become visible are drawn and then measured again."""
        if not self._begun or not self.is_mounted or not self.size.width:
            return
        places = self._arrange_now()
        # A panel has no size to measure before it was drawn once.
        if self._show_placed(places):
            places = self._arrange_now()
            self._show_placed(places)
        if places != self.places:
            self.places = places
            self.first_panel.refresh(layout=True)  # Textual arranges again only when a child asks

    def _arrange_now(self) -> PanelPlaces:
        return arrange_panels(ArrangementRequest(self.size.width, self.size.height, self._chosen, self._focus), self)

    def _show_placed(self, places: PanelPlaces) -> bool:
        """Show or hide the panels; whether a hidden one is visible now."""
        appeared = [panel for name in places if not (panel := self.get_panel(name)).display]
        for name, panel in self._panels.items():
            panel.display = name in places
        for panel in appeared:
            panel.draw_moment()
        return bool(appeared)

    def wanted_lines(self, name: str, width: int) -> int:
        """The lines that a panel needs at a width."""
        return self.get_panel(name).wanted_lines(width, framed=self.app.size.width >= NARROW_WIDTH)

    def wanted_cells(self, name: str) -> int:
        """The cells that a panel needs; never fewer than before, so that columns do not jump with each step."""
        wanted = self.get_panel(name).wanted_cells(framed=self.app.size.width >= NARROW_WIDTH)
        self._widest[name] = max(wanted, self._widest.get(name, 0))
        return self._widest[name]
