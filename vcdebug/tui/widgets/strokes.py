"""The content of one line of a table as styled texts, which can be compared: equal lines are not redrawn."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec import Struct
from rich.style import Style
from textual.color import Color

from vcdebug.tui.widgets.table_layout import PlacedLine, TableLayout
from vcdebug.tui.widgets.text_wrap import GUIDE_SIGNS, TREE_GUIDES, measure_cells, pad_text
from vcdebug.views.table import Column


class Stroke(NamedTuple):
    """A text in one style."""

    text: str
    style: str = ""
    """A name that `style_of_meaning` knows."""
    cell: bool = False
    """Whether the text belongs to the cell under the cursor."""


class ShownLine(Struct, frozen=True):
    """The content of a visible line; equal content needs no redraw."""

    strokes: tuple[Stroke, ...] = ()
    is_selected: bool = False
    """Whether the cursor is on this line."""
    width: int = 0


class Sight(Struct, frozen=True):
    """The visible part of a table."""

    top: int
    width: int
    height: int
    sticky_lines: Sequence[int]
    """Indexes of the lines above the rows that stay visible."""
    enclosing_rows: Sequence[int]
    """Enclosing rows of the first visible row of a tree, shown at the top."""


def row_strokes(placed: PlacedLine, layout: TableLayout, columns: Sequence[Column], chosen: int) -> Iterator[Stroke]:
    """The styled texts of a row or of the heads: cells padded to their columns, the chosen column's cell marked."""
    gap = 0 if placed.widths else layout.gap
    for index, width, piece in zip(layout.columns, placed.widths or layout.widths, placed.cells, strict=True):
        if gap and index != layout.columns[0]:
            yield Stroke(" " * gap)
        column = columns[index]
        text = pad_text(piece.text, width, right=column.right, name=column.name)
        if text and text[0] in GUIDE_SIGNS:
            label = text.lstrip(TREE_GUIDES)
            yield Stroke(text[: len(text) - len(label)], "muted")
            text = label
        before, bare, after = text.partition(text.strip()) if index == chosen and text.strip() else ("", text, "")
        # The chosen cell is underlined, but not the blanks around its text.
        for part, is_chosen in ((before, False), (bare, index == chosen), (after, False)):
            if part:
                yield Stroke(part, piece.style, cell=is_chosen)


def fill_line(strokes: Iterable[Stroke], width: int) -> Iterator[Stroke]:
    """A line with spaces up to a width."""
    used_width = 0
    for stroke in strokes:
        yield stroke
        used_width += measure_cells(stroke.text) if width else 0
    if used_width < width:
        yield Stroke(" " * (width - used_width))


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
    names = [name for name, applies in (("cursor", selected), (meaning, bool(meaning)), ("cell", chosen)) if applies]
    if selected and Color.parse(variables[_BACKGROUND_VARIABLES["cursor"]]).ansi is not None:
        # With 16 colours, no colour is certain to be visible on another one.
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
        return Style(dim=True)  # a share of the text's own colour
    colour = Color.parse(text).rich_color
    if ground:
        return Style(bgcolor=colour)
    return Style(dim=True) if colour.is_default else Style(color=colour)
