"""The content of one line of a table as styled texts, which can be compared: equal lines are not redrawn."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from rich.style import Style
from textual.color import Color

from vcdebug.tui.widgets.table_layout import PlacedLine, TableLayout
from vcdebug.tui.widgets.text_wrap import measure_cells, pad_text
from vcdebug.views.table import Column


class Stroke(NamedTuple):
    """A text in one style."""

    text: str
    style: str = ""
    """A name that `style_of_meaning` knows."""
    cell: bool = False
    """Whether it is the cell under the cursor."""


class ShownLine(NamedTuple):
    """The content of a visible line; equal content needs no redraw."""

    strokes: tuple[Stroke, ...] = ()
    selected: bool = False
    """Whether the cursor is on this line."""
    width: int = 0


class Sight(NamedTuple):
    """The visible part of a table."""

    top: int
    width: int
    height: int
    stays: Sequence[int]
    """The lines of the head that stay in sight."""
    around: Sequence[int]
    """The rows of a tree around the first one in sight."""


def row_strokes(placed: PlacedLine, layout: TableLayout, columns: Sequence[Column], chosen: int) -> Iterator[Stroke]:
    """A line of a row or of the heads behind its mark: cells under each other, the chosen column's one marked."""
    gap = 0 if placed.widths else layout.gap
    for index, room, piece in zip(layout.columns, placed.widths or layout.widths, placed.cells, strict=True):
        if gap and index != layout.columns[0]:
            yield Stroke(" " * gap)
        column = columns[index]
        text = pad_text(piece.text, room, right=column.right, name=column.name)
        before, bare, after = text.partition(text.strip()) if index == chosen and text.strip() else ("", text, "")
        # Without the blanks around it: the mark of a chosen cell is an underline.
        for part, is_chosen in ((before, False), (bare, index == chosen), (after, False)):
            if part:
                yield Stroke(part, piece.style, cell=is_chosen)


def fill_line(strokes: Iterable[Stroke], width: int) -> Iterator[Stroke]:
    """A line with spaces up to a width."""
    used = 0
    for stroke in strokes:
        yield stroke
        used += measure_cells(stroke.text) if width else 0
    if used < width:
        yield Stroke(" " * (width - used))


# Styles: a colour of the theme and a font style per meaning.

_FONT_STYLES: Final[Mapping[str, Style]] = {
    "title": Style(bold=True),
    "strong": Style(bold=True),
    "accent": Style(bold=True),
    "here": Style(bold=True),
    "cell": Style(underline=True),
}
_COLOUR_VARIABLES: Final[Mapping[str, str]] = {
    "title": "text-secondary",
    "good": "text-success",
    "bad": "text-error",
    "warn": "text-warning",
    "accent": "text-accent",
    "here": "text-primary",
    "muted": "text-muted",
}
"""Variables of the theme."""
_BACKGROUND_VARIABLES: Final[Mapping[str, str]] = {"cursor": "primary-muted"}


def cell_style(meaning: str, variables: Mapping[str, str], *, selected: bool, chosen: bool) -> Style:
    """The style of a text, to be added to that of the table: on the row under the cursor, and in the chosen cell."""
    names = [name for name, wanted in (("cursor", selected), (meaning, bool(meaning)), ("cell", chosen)) if wanted]
    if selected and Color.parse(variables[_BACKGROUND_VARIABLES["cursor"]]).ansi is not None:
        # Of 16 colours none is sure to be seen on another one.
        return Style.combine([Style(reverse=True), *(_FONT_STYLES.get(name, Style()) for name in names)])
    return Style.combine([Style(), *(style_of_meaning(name, variables) for name in names)])


def style_of_meaning(name: str, variables: Mapping[str, str]) -> Style:
    """The style of a meaning, to be added to that of the line."""
    style = _FONT_STYLES.get(name, Style())
    if name in _COLOUR_VARIABLES:
        style += _colour_style(variables[_COLOUR_VARIABLES[name]], ground=False)
    if name in _BACKGROUND_VARIABLES:
        style += _colour_style(variables[_BACKGROUND_VARIABLES[name]], ground=True)
    return style


@lru_cache(maxsize=64)
def _colour_style(text: str, *, ground: bool) -> Style:
    if text.startswith("auto"):
        return Style(dim=True)  # a share of whatever colour the text has
    colour = Color.parse(text).rich_color
    if ground:
        return Style(bgcolor=colour)
    return Style(dim=True) if colour.is_default else Style(color=colour)
