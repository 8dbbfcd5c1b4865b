"""The content of one line of a table as styled texts, which can be compared: equal lines are not redrawn."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.color import Color
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget

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
    bar: tuple[Segment, ...] = ()
    """The cell of the scroll bar; empty if there is no bar."""


class Sight(Struct, frozen=True):
    """The visible part of a table."""

    top: int
    width: int
    height: int
    sticky_lines: Sequence[int]
    """Indexes of the lines above the rows that stay visible."""
    enclosing_rows: Sequence[int]
    """Enclosing rows of the first visible row of a tree, shown at the top."""
    bar: Sequence[Segment]
    """The scroll bar's cell in each line; empty if there is no bar."""


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


class LineStyles:
    """The styles of a widget's strokes, kept until its own style changes."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._base_style = Style()
        """The widget's own style, which Textual derives from all its ancestors."""
        self._style_by_key: dict[tuple[str, bool, bool], Style] = {}

    def forget(self) -> None:
        """The widget's style has changed."""
        self._style_by_key.clear()

    def style_of(self, meaning: str = "", *, selected: bool = False, chosen: bool = False) -> Style:
        """The style of a stroke on the row under the cursor, and of one in the chosen cell."""
        key = meaning, selected, chosen
        style = self._style_by_key.get(key)
        if style is None:
            if not self._style_by_key:
                self._base_style = self._widget.rich_style
            text_style = cell_style(meaning, self._widget.app.theme_variables, selected=selected, chosen=chosen)
            style = self._style_by_key[key] = self._base_style + text_style
        return style


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


class TextLines(Widget):
    """Shows a text line by line; Textual would also wrap it, and note in each style where a selection may begin."""

    _strips: Sequence[Strip] = ()

    def render(self) -> Text:
        """The text, with a line for each line of the widget."""
        return Text()

    def render_lines(self, crop: Region) -> list[Strip]:
        self._strips = ()
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width, style = self.size.width, self.rich_style
        if not self._strips:
            lines = (line.render(self.app.console) for line in self.render().split("\n", allow_blank=True))
            self._strips = [Strip(Segment.apply_style(line, style)).crop_extend(0, width, style) for line in lines]
        return self._strips[y] if y < len(self._strips) else Strip.blank(width, style)


# The scroll bar of a table or list.

MOUSE_EVENTS: Final = (events.MouseEvent, events.Leave, events.MouseCapture, events.MouseRelease)


class LineBar:
    """A scroll bar that a view draws in the last cells of its lines.

    Textual's own is a widget: it is drawn after every layout, and laid out once more where it comes or goes.
    """

    CSS: Final = "overflow: hidden hidden; scrollbar-size: 0 0;"
    """Rules by which a view has no scroll bar of Textual."""

    def __init__(self, view: ScrollView, width: int = 1) -> None:
        self._view = view
        self.width = width
        self.stays = False
        """Whether there is a bar even if all lines are visible."""
        self._is_pointed_at = False
        """Whether the mouse is over the bar."""
        self._grabbed_from: tuple[int, float] | None = None
        """The line of the screen at which the mouse has grabbed the bar, and the first visible line then."""
        self._cells: Sequence[Segment] = ()
        self._look: object = None
        """What the cells were made of."""

    @property
    def text_width(self) -> int:
        """Cells of a line beside the bar."""
        return max(self._view.size.width - self.width, 0)

    def set_content_size(self, size: Size) -> None:
        """Tell the view the size of all lines; a view as high as they are is laid out again if it differs."""
        view = self._view
        if size != view.virtual_size and view.styles.auto_dimensions:
            view.refresh(layout=True)
        view.virtual_size, view.scroll_y = size, view.scroll_y  # the offset is kept within the content

    def cells(self) -> Sequence[Segment]:
        """The bar's cell in each visible line; empty if there is no bar."""
        view, (ground, color) = self._view, self._colors()
        height, line_count = view.size.height, view.virtual_size.height
        if line_count <= height and not self.stays:
            return ()
        look = height, line_count, view.scroll_y, ground, color
        if look != self._look:
            ground = view.background_colors[0] + ground  # which may let it show through
            bar = ScrollBarRender.render_bar(
                size=height,
                virtual_size=line_count,
                window_size=height if height < line_count else 0,
                position=view.scroll_y,
                thickness=self.width,
                back_color=ground.rich_color,
                bar_color=(ground + color).rich_color,
            )
            self._cells, self._look = tuple(bar.segments), look
        return self._cells

    def _colors(self) -> tuple[Color, Color]:
        styles = self._view.styles
        if self._grabbed_from is not None:
            return styles.scrollbar_background_active, styles.scrollbar_color_active
        if self._is_pointed_at:
            return styles.scrollbar_background_hover, styles.scrollbar_color_hover
        return styles.scrollbar_background, styles.scrollbar_color

    def takes_event(self, event: events.Event) -> bool:
        """Follow the mouse; returns whether an event concerns the bar alone."""
        if not isinstance(event, MOUSE_EVENTS):
            return False
        before = self._colors()
        taken = self._follow_mouse(event)
        if self._colors() != before:
            self._view.refresh()
        return taken

    def _follow_mouse(self, event: events.Event) -> bool:
        view, was_grabbed = self._view, self._grabbed_from is not None
        if isinstance(event, events.MouseCapture):
            self._grabbed_from = event.mouse_position.y, view.scroll_y
        elif isinstance(event, events.MouseRelease):
            self._grabbed_from = None
        elif isinstance(event, events.Leave):
            self._is_pointed_at = False
        if not isinstance(event, events.MouseEvent):
            return False
        offset = event.get_content_offset(view)
        self._is_pointed_at = bool(self.cells()) and offset is not None and offset.x >= self.text_width
        if isinstance(event, events.MouseDown) and self._is_pointed_at:
            self._press(event.style.meta.get("@mouse.down"))
        elif isinstance(event, events.MouseUp) and was_grabbed:
            view.release_mouse()
        elif isinstance(event, events.MouseMove) and self._grabbed_from is not None:
            line, first = self._grabbed_from
            lines = (event.screen_y - line) * view.virtual_size.height / view.size.height
            view.scroll_to(y=first + lines, animate=False)
        is_wheel = isinstance(event, events.MouseScrollUp | events.MouseScrollDown)
        return (self._is_pointed_at and not is_wheel) or was_grabbed

    def _press(self, action: object) -> None:
        """Do what Textual has written into the cell."""
        if action == "grab":
            self._view.capture_mouse()
        elif action == "scroll_up":
            self._view.scroll_page_up(animate=False)
        elif action == "scroll_down":
            self._view.scroll_page_down(animate=False)
