"""The panels in their places: `arrangement.py` says where, this puts them there and draws what is seen."""

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

# Where each panel stands, as numbers: docs/screen.md draws the three sizes.

FLOW_PANEL: Final = "flow"
MIDDLE_PANELS: Final = ("moment", "equation", "statement")
"""What happened, why, and what comes of it."""
CLUSTER_PANELS: Final = ("jobs", "queues", "nodes")
"""What a wide screen shows all the time."""
USUAL_LIST: Final = "jobs"
USUAL_TAIL: Final = "effects"
"""Below the columns of a wide screen, until another list is asked for."""
NARROW_WIDTH: Final = 100
WIDE_WIDTH: Final = 160
"""Below the first width a list takes the place of the columns, from the second one on there are three."""
LOW_HEIGHT: Final = 30
"""Below this height a list takes the place of the columns too."""
MIN_HEIGHT: Final = 3
FOCUSED_PERCENT: Final = 50
"""Percent of a column that the panel with the keys has before others give way further."""
FOCUSED_PERCENT_WHEN_SHORT: Final = 60
SHORT_HEIGHT: Final = 22
MIN_FLOW_WIDTH: Final = 20
"""Cells of the flow on a narrow screen, however little there is in it yet."""
PANEL_GAP: Final = 1
"""Cells between the columns of a narrow screen, whose panels have no frame at their sides."""


class PanelSizes(Protocol):
    """What the panels' contents need, frames included."""

    def wanted_lines(self, name: str, width: int) -> int:
        """Lines, in a place of so many cells."""
        ...

    def wanted_cells(self, name: str) -> int:
        """Cells, where nothing wraps."""
        ...


class PanelPlace(NamedTuple):
    """A rectangle in cells."""

    x: int
    y: int
    width: int
    height: int


class ArrangementRequest(NamedTuple):
    """The size of the place, and which panels are asked for."""

    width: int
    height: int
    chosen: str = USUAL_LIST
    """The list that was asked for last."""
    focus: str = "moment"
    """The panel with the keys; it gives way last."""


PanelPlaces = Mapping[str, PanelPlace]


def arrange_panels(asked: ArrangementRequest, wishes: PanelSizes) -> PanelPlaces:
    """The panels that are seen, and where."""
    if asked.width < NARROW_WIDTH or asked.height < LOW_HEIGHT - 4:
        return _arrange_narrow(asked, wishes)
    return _arrange_wide(asked, wishes) if asked.width >= WIDE_WIDTH else _arrange_usual(asked, wishes)


def _arrange_narrow(asked: ArrangementRequest, wishes: PanelSizes) -> PanelPlaces:
    """Two columns; a list that is asked for has the whole place while the keys are there."""
    if asked.focus == asked.chosen:
        return {asked.chosen: PanelPlace(0, 0, asked.width, asked.height)}
    wanted = 36 if asked.focus == FLOW_PANEL else 26
    left = min(max(wishes.wanted_cells(FLOW_PANEL), MIN_FLOW_WIDTH), wanted * asked.width // 80)
    right = PanelPlace(left + PANEL_GAP, 0, asked.width - left - PANEL_GAP, asked.height)
    return {
        FLOW_PANEL: PanelPlace(0, 0, left, asked.height),
        **_arrange_column(MIDDLE_PANELS, right, asked.focus, wishes),
    }


def _arrange_usual(asked: ArrangementRequest, wishes: PanelSizes) -> PanelPlaces:
    """Two columns, and below both of them the list, since lists are wide."""
    chosen, focused = asked.chosen, asked.focus == asked.chosen
    share = (60 if focused else 30) * asked.height // 100
    below = min(max(wishes.wanted_lines(chosen, asked.width), 6), share)
    height = asked.height - below
    left = min(max(wishes.wanted_cells(FLOW_PANEL), 34), 40 * asked.width // 100)
    right = PanelPlace(left, 0, asked.width - left, height)
    return {
        FLOW_PANEL: PanelPlace(0, 0, left, height),
        **_arrange_column(MIDDLE_PANELS, right, asked.focus, wishes),
        chosen: PanelPlace(0, height, asked.width, below),
    }


def _arrange_wide(asked: ArrangementRequest, wishes: PanelSizes) -> PanelPlaces:
    """Three columns: the flow, the present event, the cluster; and a list below the event, if wide below both."""
    width, height, focus = asked.width, asked.height, asked.focus
    left = min(max(wishes.wanted_cells(FLOW_PANEL), 40), 26 * width // 100)
    wanted = {name: wishes.wanted_cells(name) for name in CLUSTER_PANELS}
    right = min(max(*wanted.values(), 56), 41 * width // 100)
    middle = width - left - right
    tail = asked.chosen if wanted.get(asked.chosen, width) > right else USUAL_TAIL
    beside = [name for name in CLUSTER_PANELS if name != tail]
    wide = wishes.wanted_cells(tail) > middle
    above = max(sum(_wanted_heights(MIDDLE_PANELS, middle, wishes)), sum(_wanted_heights(beside, right, wishes)))
    below = _height_below(asked, tail, width - left, above, wishes) if wide else 0
    events = MIDDLE_PANELS if wide else (*MIDDLE_PANELS, tail)
    return {
        FLOW_PANEL: PanelPlace(0, 0, left, height),
        tail: PanelPlace(left, height - below, width - left, below),
        **_arrange_column(events, PanelPlace(left, 0, middle, height - below), focus, wishes, filler=0 if wide else -1),
        **_arrange_column(beside, PanelPlace(width - right, 0, right, height - below), focus, wishes, filler=-1),
    }


def _height_below(asked: ArrangementRequest, tail: str, width: int, above: int, wishes: PanelSizes) -> int:
    """The lines of a list below the columns: what those leave over, at least a share."""
    share = (60 if asked.focus == tail else 30) * asked.height // 100
    return min(max(wishes.wanted_lines(tail, width), MIN_HEIGHT), max(share, asked.height - above))


def _arrange_column(
    names: Sequence[str], place: PanelPlace, focus: str, wishes: PanelSizes, *, filler: int = 0
) -> dict[str, PanelPlace]:
    """One below the other, each as high as its content; one of them takes what is left over."""
    heights = _fit_heights(
        _wanted_heights(names, place.width, wishes), place.height, names.index(focus) if focus in names else 0
    )
    heights[filler] += max(place.height - sum(heights), 0)  # exact: ints
    places: dict[str, PanelPlace] = {}
    y = place.y
    for name, height in zip(names, heights, strict=True):
        places[name] = PanelPlace(place.x, y, place.width, height)
        y += height
    return places


def _wanted_heights(names: Sequence[str], width: int, wishes: PanelSizes) -> list[int]:
    """What each panel wants."""
    return [max(wishes.wanted_lines(name, width), MIN_HEIGHT - 1) for name in names]


def _fit_heights(wanted: Sequence[int], room: int, favoured: int) -> list[int]:
    """What everybody wants, as far as there is room: the largest give way first, the favoured one down to its share."""
    heights = [min(height, room) for height in wanted]
    share = FOCUSED_PERCENT_WHEN_SHORT if room < SHORT_HEIGHT else FOCUSED_PERCENT
    excess = sum(heights) - room  # exact: ints
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
