"""What one line of a table shows: texts in a style each. A line that shows what it showed before is not drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


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
