"""Where each panel stands, as numbers: docs/screen.md draws the three sizes.

The flow says where one is, the middle what happened and why, the lists what there is in the cluster. Each gets what
its content needs; what is left over goes to the one that explains most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

FLOW: Final = "flow"
MIDDLE: Final = ("moment", "equation", "statement")
"""What happened, why, and what comes of it."""
CLUSTER: Final = ("jobs", "queues", "nodes")
"""What a wide screen shows all the time."""
USUAL_LIST: Final = "jobs"
USUAL_TAIL: Final = "effects"
"""Below the columns of a wide screen, until another list is asked for."""
NARROW: Final = 100
WIDE: Final = 160
"""Below the first width a list takes the place of the columns, from the second one on there are three."""
LOW: Final = 30
"""Below this height a list takes the place of the columns too."""
LEAST: Final = 3
FAVOURED: Final = 50
"""Percent of a column that the panel with the keys has before others give way further."""
FAVOURED_WHEN_SHORT: Final = 60
SHORT: Final = 22
SLIGHT: Final = 20
"""Cells of the flow on a narrow screen, however little there is in it yet."""
GAP: Final = 1
"""Cells between the columns of a narrow screen, whose panels have no frame at their sides."""


class Wishes(Protocol):
    """What the panels' contents need, frames included."""

    def lines(self, name: str, width: int) -> int:
        """Lines, in a place of so many cells."""
        ...

    def cells(self, name: str) -> int:
        """Cells, where nothing wraps."""
        ...


class Place(NamedTuple):
    """A rectangle in cells."""

    x: int
    y: int
    width: int
    height: int


class Asked(NamedTuple):
    """The size of the place, and which panels are asked for."""

    width: int
    height: int
    chosen: str = USUAL_LIST
    """The list that was asked for last."""
    focus: str = "moment"
    """The panel with the keys; it gives way last."""


Places = Mapping[str, Place]


def arranged(asked: Asked, wishes: Wishes) -> Places:
    """The panels that are seen, and where."""
    if asked.width < NARROW or asked.height < LOW - 4:
        return _narrow(asked, wishes)
    return _wide(asked, wishes) if asked.width >= WIDE else _usual(asked, wishes)


def _narrow(asked: Asked, wishes: Wishes) -> Places:
    """Two columns; a list that is asked for has the whole place while the keys are there."""
    if asked.focus == asked.chosen:
        return {asked.chosen: Place(0, 0, asked.width, asked.height)}
    wanted = 36 if asked.focus == FLOW else 26
    left = min(max(wishes.cells(FLOW), SLIGHT), wanted * asked.width // 80)
    right = Place(left + GAP, 0, asked.width - left - GAP, asked.height)
    return {FLOW: Place(0, 0, left, asked.height), **_column(MIDDLE, right, asked.focus, wishes)}


def _usual(asked: Asked, wishes: Wishes) -> Places:
    """Two columns, and below both of them the list, since lists are wide."""
    chosen, focused = asked.chosen, asked.focus == asked.chosen
    share = (60 if focused else 30) * asked.height // 100
    below = min(max(wishes.lines(chosen, asked.width), 6), share)
    height = asked.height - below
    left = min(max(wishes.cells(FLOW), 34), 40 * asked.width // 100)
    right = Place(left, 0, asked.width - left, height)
    return {
        FLOW: Place(0, 0, left, height),
        **_column(MIDDLE, right, asked.focus, wishes),
        chosen: Place(0, height, asked.width, below),
    }


def _wide(asked: Asked, wishes: Wishes) -> Places:
    """Three columns: the flow, the present event, the cluster; and a list below the event, if wide below both."""
    width, height, focus = asked.width, asked.height, asked.focus
    left = min(max(wishes.cells(FLOW), 40), 26 * width // 100)
    wanted = {name: wishes.cells(name) for name in CLUSTER}
    right = min(max(*wanted.values(), 56), 41 * width // 100)
    middle = width - left - right
    tail = asked.chosen if wanted.get(asked.chosen, width) > right else USUAL_TAIL
    beside = [name for name in CLUSTER if name != tail]
    wide = wishes.cells(tail) > middle
    above = max(sum(_heights_of(MIDDLE, middle, wishes)), sum(_heights_of(beside, right, wishes)))
    below = _below(asked, tail, width - left, above, wishes) if wide else 0
    events = MIDDLE if wide else (*MIDDLE, tail)
    return {
        FLOW: Place(0, 0, left, height),
        tail: Place(left, height - below, width - left, below),
        **_column(events, Place(left, 0, middle, height - below), focus, wishes, filler=0 if wide else -1),
        **_column(beside, Place(width - right, 0, right, height - below), focus, wishes, filler=-1),
    }


def _below(asked: Asked, tail: str, width: int, above: int, wishes: Wishes) -> int:
    """The lines of a list below the columns: what those leave over, at least a share."""
    share = (60 if asked.focus == tail else 30) * asked.height // 100
    return min(max(wishes.lines(tail, width), LEAST), max(share, asked.height - above))


def _column(names: Sequence[str], place: Place, focus: str, wishes: Wishes, *, filler: int = 0) -> dict[str, Place]:
    """One below the other, each as high as its content; one of them takes what is left over."""
    heights = _heights(
        _heights_of(names, place.width, wishes), place.height, names.index(focus) if focus in names else 0
    )
    heights[filler] += max(place.height - sum(heights), 0)  # exact: ints
    places: dict[str, Place] = {}
    y = place.y
    for name, height in zip(names, heights, strict=True):
        places[name] = Place(place.x, y, place.width, height)
        y += height
    return places


def _heights_of(names: Sequence[str], width: int, wishes: Wishes) -> list[int]:
    """What each panel wants."""
    return [max(wishes.lines(name, width), LEAST - 1) for name in names]


def _heights(wanted: Sequence[int], room: int, favoured: int) -> list[int]:
    """What everybody wants, as far as there is room: the largest give way first, the favoured one down to its share."""
    heights = [min(height, room) for height in wanted]
    share = FAVOURED_WHEN_SHORT if room < SHORT else FAVOURED
    excess = sum(heights) - room  # exact: ints
    while excess > 0:
        others = [i for i, height in enumerate(heights) if height > LEAST and i != favoured]
        large = [favoured] if heights[favoured] > share * room // 100 else []
        candidates = [i for i in others if heights[i] > room // len(heights)] or large or others or [favoured]
        most = max(candidates, key=lambda i: heights[i])
        if heights[most] <= 1:
            break
        heights[most] -= 1
        excess -= 1
    return heights
