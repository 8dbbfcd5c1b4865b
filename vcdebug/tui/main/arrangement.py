"""Where each panel stands, as numbers: docs/screen.md draws the three sizes.

The flow says where one is, the middle what happened and why, the lists what there is in the cluster. Each gets what
its content needs; what is left over goes to the one that explains most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

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
