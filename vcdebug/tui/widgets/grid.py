"""A table drawn line by line: its cost follows the screen's height, not the number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from vcdebug.debugger.figures import Figure
from vcdebug.tui.widgets.ordering import Order, next_order
from vcdebug.tui.widgets.rows import ShownRows
from vcdebug.tui.widgets.table_layout import GUTTER, STANDS_IN, Layout, Placed, lay_out, unfolded
from vcdebug.tui.widgets.wrapping import pad, wrap
from vcdebug.views.base import HERE, Row, Table

CURSOR = "›"
MOST_ABOVE = 8
"""Levels of a tree that are looked through for the rows around those in sight."""
PAUSE = 0.005
"""Seconds for keys between two slices of work."""
STYLES = ("title", "strong", "muted", "good", "bad", "warn", "accent", "here")


class Grid(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows under heads, with a cursor, a filter and the row of the present event marked."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"grid--{style}" for style in (*STYLES, "cursor", "cell")}
    DEFAULT_CSS = """
    Grid {
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; scrollbar-gutter: stable; height: 1fr;
        scrollbar-color: $foreground 40%; scrollbar-background: $background;
        scrollbar-color-hover: $foreground 60%; scrollbar-background-hover: $background;
    }
    Grid .grid--title { text-style: bold; color: $text-secondary; }
    Grid .grid--strong { text-style: bold; }
    Grid .grid--muted { text-style: dim; }
    Grid .grid--good { color: $text-success; }
    Grid .grid--bad { color: $text-error; }
    Grid .grid--warn { color: $text-warning; }
    Grid .grid--accent { color: $text-accent; text-style: bold; }
    Grid .grid--here { color: $text-primary; text-style: bold; }
    Grid .grid--cursor { background: $primary-muted; }
    Grid .grid--cell { text-style: underline; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "next row", id="table.down"),
        Binding("up,k", "move(-1)", "previous row", id="table.up"),
        Binding("pagedown,ctrl+d", "page(1)", "page down", id="table.page-down"),
        Binding("pageup,ctrl+u", "page(-1)", "page up", id="table.page-up"),
        Binding("home", "move_to(0)", "first row", id="table.first"),
        Binding("end,G", "move_to(-1)", "last row", id="table.last"),
        Binding("right,l", "column(1)", "next column", id="table.right"),
        Binding("left,h", "column(-1)", "previous column", id="table.left"),
        Binding("enter", "open_cell", "the whole cell; in the first column all about the row", id="table.open"),
        Binding("comma", "sort", "sort by the cursor's column: up, down, as it was", id="table.sort"),
    ]

    cursor: reactive[int] = reactive(0, always_update=True)
    cursor_column: reactive[int] = reactive(0)

    class Opened(Message):
        """The whole of a cell is asked for."""

        def __init__(self, table: Table, row: Row, column: int) -> None:
            super().__init__()
            self.table = table
            self.row = row
            self.column = column

    class Moved(Message):
        """The cursor stands on another row."""

    class Filtered(Message):
        """More rows have been looked at."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.table = Table("")
        self.shown = ShownRows()
        self.cursor_without_focus = False
        """Whether the cursor is seen while somebody types elsewhere."""
        self.titled = False
        """Whether the first entry of the head is the title, which stays in sight as the heads do."""
        self._writing = False
        self._rows: Sequence[Row] = ()
        self._layout = lay_out(self.table, (), 20)
        self._laid_out_for = -1
        self._measured: tuple[tuple[object, ...], Layout] | None = None
        self._base = RichStyle()
        self._unfolded: Sequence[Placed] = ()
        """The lines of the cursor's row, where it has more than the others."""
        self._stays: Sequence[int] = ()
        self._around: Sequence[int] = ()
        self._pens: dict[tuple[str, RichStyle], RichStyle] = {}

    # Content

    def set_table(self, table: Table, *, follow: bool = True) -> None:
        """Show a table; the cursor stays on its row, or follows the present event's."""
        kept = self._kept()
        same = table.title == self.table.title
        if [one.title for one in table.columns] != [one.title for one in self.table.columns]:
            self.shown.order = None
        self.table = table
        self.shown.set_rows(table.rows)
        self._take()
        wanted = table.current or table.sought
        self.cursor = self._find(wanted if wanted and follow else kept if same else wanted)
        if not same:
            self.scroll_to(0, 0, animate=False)
        self.show_cursor()

    def set_filter(self, text: str) -> int:
        """Keep the rows that pass; says how many do, of what has been looked at until now."""
        kept = self._kept()
        self.shown.set_filter(text)
        self._take()
        self._back_to(kept)
        return len(self._rows)

    def set_order(self, order: Order | None) -> None:
        """Sort by a column, or show the rows as they came."""
        kept = self._kept()
        self.shown.set_order(order)
        self._take()
        self._back_to(kept)

    @property
    def filter_text(self) -> str:
        """What the rows are filtered by."""
        return self.shown.filter_text

    @property
    def filter_note(self) -> str:
        """What there is to say about the filter."""
        return self.shown.filter.note if self.shown.filter is not None else ""

    @property
    def writing(self) -> bool:
        """Whether rows are still being looked at."""
        return not self.shown.done

    @property
    def shown_rows(self) -> Sequence[Row]:
        """The rows that pass the filter."""
        return self._rows

    @property
    def cursor_row(self) -> Row | None:
        """The row under the cursor."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    @property
    def cursor_head(self) -> str:
        """The head over the cell under the cursor."""
        columns = self.table.columns
        return columns[min(self.cursor_column, len(columns) - 1)].title if columns else ""

    @property
    def cursor_figure(self) -> Figure | None:
        """The figure of the state that the cell under the cursor shows."""
        row = self.cursor_row
        return None if row is None else self.table.figures(row, min(self.cursor_column, len(row.cells) - 1))

    def _take(self) -> None:
        """Lay the shown rows out; what has not been looked at yet follows between two keys."""
        self._rows = self.shown.rows
        self._laid_out_for = -1
        self._relayout()
        if not self._writing and not self.shown.done and self.is_mounted:
            self._writing = True
            self.set_timer(PAUSE, self._go_on)

    def _go_on(self) -> None:
        self._writing = False
        kept = self._kept()
        self.shown.go_on()
        self._take()
        if self.shown.done:
            self._back_to(kept)
        self.post_message(self.Filtered())

    def _kept(self) -> str:
        return self.cursor_row.key if self.cursor_row is not None else ""

    def _back_to(self, key: str) -> None:
        self.cursor = self._find(key)
        self.show_cursor()

    def _find(self, key: str) -> int:
        return max(self.shown.position(key), 0) if key else 0

    # Geometry

    def _relayout(self, width: int | None = None) -> None:
        width = width if width is not None else self.scrollable_content_region.width
        if width == self._laid_out_for:
            return
        if width <= 0:
            self._layout = lay_out(self.table, (), 20)  # what has no place yet may be drawn before it learns its size
            self._unfolded = ()
            return
        self._laid_out_for = width
        self._layout = self._laid_out(width)
        self._unfold()
        self.refresh()

    def _unfold(self) -> None:
        """What long text of the cursor's row is shortened elsewhere is there in full."""
        row, layout, width = self.cursor_row, self._layout, self._laid_out_for
        if width <= 0:
            return
        self._unfolded = () if row is None else unfolded(layout, self.table.columns, self.cursor, row)
        more = max(len(self._unfolded) - len(layout.bands), 0)
        self.virtual_size = Size(max(layout.width, width) if self._rows else width, layout.height + more)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the content has: lets `height: auto` work."""
        return max(self._laid_out(width).height, 1)

    def _laid_out(self, width: int) -> Layout:
        """The layout for a width; the last one is kept, since a place is measured before it is filled."""
        asked = (self.table, self._rows, self.shown.order, width)
        if self._measured is None or any(one is not other for one, other in zip(self._measured[0], asked, strict=True)):
            self._measured = (asked, lay_out(self._marked(), self._rows, width))
        return self._measured[1]

    def _marked(self) -> Table:
        """The table, the head of the column that it is sorted by marked."""
        order, columns = self.shown.order, self.table.columns
        if order is None or order.column >= len(columns):
            return self.table
        head = replace(columns[order.column], title=f"{columns[order.column].title} {order.mark}".strip())
        return replace(self.table, columns=(*columns[: order.column], head, *columns[order.column + 1 :]))

    def on_resize(self, event: events.Resize) -> None:
        """The width decides how text wraps."""
        self._laid_out_for = -1
        self._relayout()
        self.show_cursor()

    def show_cursor(self) -> None:
        """Scroll so that the cursor's row is on the screen."""
        if not self._rows or not self.is_mounted:
            return
        layout, column = self._layout, self.cursor_column
        line = layout.line_of(self.cursor)
        kept = len(self._staying()) + (len(self._path(self.cursor)) if self._rows is self.table.rows else 0)
        top = 0 if self.cursor == 0 else max(line - kept, 0)
        height = max(1, line - top + (len(self._unfolded) or layout.lines_of(self.cursor)))
        left, span = layout.span(column)
        region = Region(left - GUTTER if column else 0, top, span + GUTTER, min(height, max(self.size.height, 1)))
        self.scroll_to_region(region, animate=False, force=True)

    # Drawing

    def render_lines(self, crop: Region) -> list[Strip]:
        """Lines of the screen; their styles, and what stays at the top, are looked up once."""
        self._base, self._pens = self.rich_style, {}
        self._stays = self._staying()
        first = self.scroll_offset.y + len(self._stays) - len(self._layout.top)
        self._around = self._above(first) if self.table.depths else ()
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self.scrollable_content_region.width
        scroll_x, scroll_y = self.scroll_offset
        placed = self._placed(scroll_y + y, y)
        base = self._base
        if placed is None:
            return Strip.blank(width, base)
        segments = self._segments(placed, base)
        return Strip(segments).crop_extend(scroll_x, scroll_x + width, base)

    def _placed(self, line: int, y: int) -> Placed | None:
        """What a line shows; the heads stay at the top of the place."""
        layout, staying = self._layout, self._stays
        top, heads = len(layout.top), len(staying)
        if y < heads and line >= staying[y]:
            return layout.top[staying[y]]
        if heads <= y < heads + len(self._around):
            return self._uniform(self._around[y - heads])
        if line < top:
            return layout.top[line]
        line -= top
        if self._unfolded:
            inside = line + top - layout.line_of(self.cursor)
            if 0 <= inside < len(self._unfolded):
                return self._unfolded[inside]
            line -= len(self._unfolded) - len(layout.bands) if inside > 0 else 0
        if line < len(layout.body):
            return layout.body[line]
        if line < layout.body_size:
            return self._uniform(line)
        line -= layout.body_size
        return layout.bottom[line] if line < len(layout.bottom) else None

    def _staying(self) -> Sequence[int]:
        """The lines at the top that stay in sight: a title that the frame has no room for, and the heads."""
        layout = self._layout
        top, heads = len(layout.top), layout.head_lines
        title = len(wrap(self.table.head[0], self._laid_out_for)) if self.titled and self.table.head else 0
        if title + heads >= self.size.height:
            title = 0
        return (*range(title), *range(top - heads, top))

    def _above(self, first: int) -> list[int]:
        """The rows around the ones in sight, of which the first is given: they stay in sight themselves."""
        if first <= 0 or self._rows is not self.table.rows:
            return []
        found: list[int] = []
        for more in range(MOST_ABOVE):
            found = self._path(first + more)
            if len(found) <= more:
                break
        return found

    def _path(self, row: int) -> list[int]:
        """The rows in which a row of a tree stands, the outermost first."""
        depths = self.table.depths
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

    def _uniform(self, line: int) -> Placed:
        """A line of a table whose rows all take the same number of lines."""
        layout = self._layout
        row, band = divmod(line - len(layout.body), len(layout.bands))  # exact: ints
        return layout.placed(layout.wrapped + row, self._rows[layout.wrapped + row], band)

    def _segments(self, placed: Placed, base: RichStyle) -> list[Segment]:
        if placed.row < 0 and not placed.heads:
            return [Segment(piece.text, self._style(piece.style, base)) for piece in placed.cells]
        selected = placed.row >= 0 and placed.row == self.cursor
        if selected and self.shows_cursor:
            base = base + self.get_component_rich_style("grid--cursor", partial=True)
        segments = [Segment(self._gutter(placed, selected=selected), self._style("here", base))]
        band = self._layout.bands[placed.band]
        if placed.band:
            segments.append(Segment(" " * STANDS_IN, base))
        gap = 0 if placed.widths else band.gap
        for index, width, piece in zip(band.columns, placed.widths or band.widths, placed.cells, strict=True):
            if gap and index != band.columns[0]:
                segments.append(Segment(" " * gap, base))
            style = self._style(piece.style, base)
            if selected and index == self.cursor_column and self.shows_cursor and len(self.table.columns) > 1:
                style = style + self.get_component_rich_style("grid--cell", partial=True)
            column = self.table.columns[index]
            text = pad(piece.text, width, right=column.right, name=column.name)
            segments.append(Segment(text, style))
        rest = self.scrollable_content_region.width - sum(segment.cell_length for segment in segments)
        if selected and self.shows_cursor and rest > 0:
            segments.append(Segment(" " * rest, base))
        return segments

    @property
    def shows_cursor(self) -> bool:
        """Whether the cursor is drawn."""
        return self.has_focus or self.cursor_without_focus

    def _gutter(self, placed: Placed, *, selected: bool) -> str:
        if placed.row < 0 or not placed.first:
            return " " * GUTTER
        here = bool(self.table.current) and self._rows[placed.row].key == self.table.current
        return f"{CURSOR if selected and self.shows_cursor else ' '}{HERE if here else ' '}"

    def _style(self, name: str, base: RichStyle) -> RichStyle:
        if not name:
            return base
        if (name, base) not in self._pens:
            self._pens[name, base] = base + self.get_component_rich_style(f"grid--{name}", partial=True)
        return self._pens[name, base]

    # Keys and mouse

    def watch_cursor(self) -> None:
        """Redraw."""
        self._unfold()
        self.refresh()
        self.post_message(self.Moved())

    def watch_cursor_column(self) -> None:
        """Redraw."""
        self.refresh()

    def action_move(self, by: int) -> None:
        """Move the cursor; without rows, scroll."""
        if not self._rows:
            self.scroll_relative(y=by, animate=False)
            return
        target = self.cursor + by
        if not 0 <= target < len(self._rows):
            self.scroll_relative(y=by, animate=False)
            return
        self.cursor = target
        self.show_cursor()

    def action_move_to(self, row: int) -> None:
        """Move the cursor to the first or the last row."""
        if self._rows:
            self.cursor = row if row >= 0 else len(self._rows) - 1
            self.show_cursor()

    def action_page(self, by: int) -> None:
        """Move the cursor by a screenful."""
        if not self._rows:
            self.scroll_relative(y=by * self.size.height, animate=False)
            return
        step = max(1, self.size.height - 2) * by
        self.cursor = min(max(self.cursor + step, 0), len(self._rows) - 1)
        self.show_cursor()

    def action_column(self, by: int) -> None:
        """Move the cursor sideways."""
        if self.table.columns:
            self.cursor_column = min(max(self.cursor_column + by, 0), len(self.table.columns) - 1)
            self.show_cursor()

    def action_sort(self) -> None:
        """Sort by the column of the cursor; again, the other way round; once more, as it was."""
        if self.table.columns and self.table.rows:
            self.set_order(next_order(self.shown.order, min(self.cursor_column, len(self.table.columns) - 1)))
            self.post_message(self.Filtered())

    def action_open_cell(self) -> None:
        """Show the whole cell."""
        if self.cursor_row is not None:
            column = min(self.cursor_column, len(self.table.columns) - 1)
            self.post_message(self.Opened(self.table, self.cursor_row, column))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse is; a second click opens."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        placed = self._placed(self.scroll_offset.y + offset.y, offset.y)
        if placed is None or placed.row < 0:
            return
        again = placed.row == self.cursor and event.chain > 1
        self.cursor = placed.row
        if again:
            self.action_open_cell()

    @property
    def hidden_columns(self) -> int:
        """Columns beyond the right edge."""
        edge = self.scroll_offset.x + self.scrollable_content_region.width
        return len([end for end in self._layout.ends if end > edge])
