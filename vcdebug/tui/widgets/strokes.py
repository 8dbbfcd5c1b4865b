"""What one line of a table shows: texts in a style each. A line that shows what it showed before is not drawn again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from vcdebug.tui.widgets.table_layout import INDENT_CELLS, PlacedLine, TableLayout
from vcdebug.tui.widgets.wrapping import measure_cells, pad_text
from vcdebug.views.base import Column


class Stroke(NamedTuple):
    """A text in one style."""

    text: str
    style: str = ""
    """The name of a meaning."""
    cell: bool = False
    """Whether it is the cell under the cursor."""


class ShownLine(NamedTuple):
    """One line of a place: the same text, drawn the same way, at the same offset, needs nothing."""

    strokes: tuple[Stroke, ...] = ()
    selected: bool = False
    """Whether the cursor stands on it."""
    left: int = 0
    """Cells that lie before the left edge."""
    width: int = 0


class Sight(NamedTuple):
    """Which part of a table lies in its place."""

    left: int
    top: int
    width: int
    height: int
    stays: Sequence[int]
    """The lines of the head that stay in sight."""
    around: Sequence[int]
    """The rows of a tree around the first one in sight."""


def row_strokes(placed: PlacedLine, layout: TableLayout, columns: Sequence[Column], chosen: int) -> Iterator[Stroke]:
    """A line of a row or of the heads behind its mark: cells under each other, the chosen column's one marked."""
    if placed.band:
        yield Stroke(" " * INDENT_CELLS)
    if placed.band < 0:
        yield from (Stroke(piece.text, piece.style) for piece in placed.cells)
        return
    band = layout.bands[placed.band]
    gap = 0 if placed.widths else band.gap
    for index, room, piece in zip(band.columns, placed.widths or band.widths, placed.cells, strict=True):
        if gap and index != band.columns[0]:
            yield Stroke(" " * gap)
        column = columns[index]
        yield Stroke(
            pad_text(piece.text, room, right=column.right, name=column.name), piece.style, cell=index == chosen
        )


def fill_line(strokes: Iterable[Stroke], width: int) -> Iterator[Stroke]:
    """A line with spaces up to a width."""
    used = 0
    for stroke in strokes:
        yield stroke
        used += measure_cells(stroke.text) if width else 0
    if used < width:
        yield Stroke(" " * (width - used))
