"""A tree's rows, one line each: the name whole, then what came of it in words or as a sign, then a number at the edge.

Each row uses its own room: where its three parts are too wide, the number goes first, then the words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vcdebug.tui.widgets.text_wrap import (
    ELLIPSIS_SIGN,
    leading_sign,
    measure_cells,
    shorten_middle,
    tighten_leaf,
    tighten_levels,
)
from vcdebug.views.table import NO, YES, Piece

MAX_LEVELS_ABOVE = 8
"""Levels that are looked through for the rows around those in sight."""

MIN_SHORTENED_WIDTH = 13
"""Cells from which on what came of it is shortened rather than left to its sign."""


class TreeRoom(NamedTuple):
    """What the rows of a tree have in common."""

    width: int
    """Cells of a row."""
    start: int
    """Where the second column begins, unless a row needs it elsewhere."""
    number: int = 0
    """Cells of the number at the edge, and before it."""
    close: bool = False
    """Whether the levels stand close together."""
    words: bool = True
    """Whether there is room for more than a sign of what came of it."""


class TreeRow(NamedTuple):
    """One line: its pieces, and their cells side by side."""

    cells: tuple[Piece, ...]
    widths: tuple[int, ...]


def spread_cells(cells: Sequence[Piece], room: TreeRoom) -> TreeRow:
    """The name, what came of it and the number, as far as they have room in this row."""
    name, came, number = cells
    label = tighten_levels(name.text) if room.close else name.text
    for text, numbered in _shortening_steps(label, came.text, room):
        edge = room.width - (room.number if numbered else 0)
        if measure_cells(label) + (measure_cells(text) + 1 if text else 0) <= edge:
            return _tree_row((name._replace(text=label), came._replace(text=text), number), room, edge)
    label = shorten_middle(tighten_leaf(label), room.width)
    return _tree_row((name._replace(text=label), came._replace(text=""), number), room, room.width)


def _shortening_steps(label: str, came: str, room: TreeRoom) -> Iterator[tuple[str, bool]]:
    """What came of it, and whether the number is there: the first that has room is taken."""
    sign = leading_sign(came)
    if room.words:
        yield from ((came, True), (came, False))
        left = room.width - measure_cells(label) - 1
        if left >= MIN_SHORTENED_WIDTH:
            spared = left - room.number
            yield (
                (_shorten_text(came, spared), True)
                if spared >= MIN_SHORTENED_WIDTH
                else (_shorten_text(came, left), False)
            )
    yield from ((sign, True), (sign, False), ("", False))


def _shorten_text(text: str, width: int) -> str:
    """Up to its first comma, or an answer without who gave it, where that has room; else both of its ends."""
    first, comma, _ = text.partition(",")
    if comma and measure_cells(first) < width:
        return first + ELLIPSIS_SIGN
    said = text[max(text.find(YES), text.find(NO), 0) :]
    return said if measure_cells(said) <= width else shorten_middle(text, width)


def _tree_row(cells: tuple[Piece, Piece, Piece], room: TreeRoom, edge: int) -> TreeRow:
    name, came, number = cells
    size = measure_cells(came.text)
    start = min(room.start, edge - size)
    start = max(start, measure_cells(name.text) + 1) if size else edge
    last = room.width - edge
    return TreeRow((name, came, number if last else Piece("")), (start, edge - start, last))


def enclosing_rows_in_sight(depths: Sequence[int], first: int) -> list[int]:
    """The rows around the ones in sight, of which the first is given: they stay in sight themselves."""
    found: list[int] = []
    for more in range(MAX_LEVELS_ABOVE if first > 0 else 0):
        found = enclosing_rows(depths, first + more)
        if len(found) <= more:
            break
    return found


def enclosing_rows(depths: Sequence[int], row: int) -> list[int]:
    """The rows in which a row of a tree stands, the outermost first."""
    if not 0 <= row < len(depths):
        return []
    found: list[int] = []
    depth = depths[row]
    while row > 0 and depth > 0:
        row -= 1
        if depths[row] < depth:
            depth = depths[row]
            found.append(row)
    return found[::-1]
