"""A table drawn line by line: its cost follows the screen's height, not the number of rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from vcdebug.amount_text import format_count
from vcdebug.debugger.figures import Figure
from vcdebug.printable import make_line_printable
from vcdebug.tui.widgets.prompt import settled_size
from vcdebug.tui.widgets.row_order import ColumnOrder, mark_order, next_order
from vcdebug.tui.widgets.rows import ShownRows
from vcdebug.tui.widgets.strokes import LineBar, LineStyles, ShownLine, Sight, Stroke, fill_line, row_strokes
from vcdebug.tui.widgets.table_layout import PlacedLine, TableLayout, lay_out
from vcdebug.tui.widgets.text_wrap import GUTTER_WIDTH, enclosing_rows, enclosing_rows_in_sight, wrap_line
from vcdebug.views.pieces import CURSOR, HERE
from vcdebug.views.table import Row, Table

PAUSE_SECONDS = 0.005
"""Pause between two slices of work, in which keys are handled."""


class Grid(ScrollView, can_focus=True, inherit_bindings=False):
    """A table with column heads, cursor, filter and sort order; the row of the current event is marked."""

    ALLOW_SELECT = False
    DEFAULT_CSS = f"""
    Grid {{
        {LineBar.CSS}
        height: 1fr; scrollbar-color: $foreground 40%; scrollbar-background: $background;
        scrollbar-color-hover: $foreground 60%; scrollbar-background-hover: $background;
    }}
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
        Binding("shift+right", "scroll_columns(1)", "more columns to the right", id="table.more-right"),
        Binding("shift+left", "scroll_columns(-1)", "more columns to the left", id="table.more-left"),
        Binding("comma", "sort", "sort by the cursor's column: up, down, as it was", id="table.sort"),
    ]

    virtual_size = settled_size()
    cursor: reactive[int] = reactive(0, always_update=True, repaint=False)
    cursor_column: reactive[int] = reactive(0, repaint=False)

    @dataclass(eq=False, repr=False)
    class Opened(Message):
        """The user asks for the whole text of a cell."""

        table: Table
        row: Row
        column: int

    class Moved(Message):
        """The cursor moved to another row, or other columns may be visible."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Grid.Moved)

    class Filtered(Message):
        """The filter has tested more rows."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.bar = LineBar(self)
        self.table = Table("")
        self.shown = ShownRows()
        self.cursor_without_focus = False
        """Whether the cursor is drawn while another widget has the focus."""
        self.titled = False
        """Whether the first entry above the rows is the title, which stays visible like the column heads."""
        self.first_width = 0
        """The width of the rows at the next layout, so that its frame is drawn once; 0 if Textual alone knows it."""
        self._is_writing = False
        self._rows: Sequence[Row] = ()
        self._layout = lay_out(self.table, (), 20)
        self._laid_out_for = -1
        self._first_column = 1
        """The first visible column after column 0, which is always visible."""
        self._measured: tuple[Sequence[Row], object, TableLayout] | None = None
        """The last layout, with the rows and the shape for which it was made."""
        self._last_sight: Sight | None = None
        self._styles_of_lines = LineStyles(self)
        self._on_terminal: dict[int, ShownLine] = {}
        """The content of each visible line, as it was drawn last."""
        self._is_stale = False
        """Whether a line on the screen may be out of date."""
        self._compared: tuple[object, ...] = ()
        """What the lines were made of when they were last compared with the screen."""

    def set_table(self, table: Table, *, follow: bool = True) -> None:
        """Show a table; the cursor stays on its row, or with `follow` moves to the row of the current event."""
        cursor_key = self.cursor_key()
        is_same_table = table.title == self.table.title
        if table.rows == self.table.rows:
            # Equal rows are replaced by the same object: layout, texts and ranks are cached by identity.
            table = replace(table, rows=self.table.rows)
        if [column.title for column in table.columns] != [column.title for column in self.table.columns]:
            self.shown.order, self._first_column = None, 1
        self.table = table
        self.shown.set_rows(table.rows)
        self._lay_out_rows()
        target = table.current or table.target
        self.cursor = self._position_of(target if target and follow else cursor_key if is_same_table else target)
        if not is_same_table:
            self.scroll_to(0, 0, animate=False)
        self.show_cursor()

    def drop_rows(self) -> None:
        """Forget all rows, which may hold a recording."""
        self._measured, self._compared = None, ()
        self.set_table(replace(self.table, rows=(), current="", target=""))

    def set_filter(self, text: str) -> int:
        """Filter the rows; returns how many pass among those tested so far."""
        cursor_key = self.cursor_key()
        self.shown.set_filter(text)
        self._lay_out_rows()
        self.restore_cursor(cursor_key)
        return len(self._rows)

    def set_order(self, order: ColumnOrder | None) -> None:
        """Sort by a column; None restores the original order."""
        cursor_key = self.cursor_key()
        self.shown.set_order(order)
        self._lay_out_rows()
        self.restore_cursor(cursor_key)

    @property
    def filter_text(self) -> str:
        return self.shown.filter_text

    def filter_words(self) -> list[str]:
        """The filter, how many rows it shows, and a note, such as that it is taken as plain text; empty without one."""
        if not self.filter_text:
            return []
        note = self.shown.filter.note if self.shown.filter is not None else ""
        shown, total = map(format_count, (len(self.shown_rows), len(self.table.rows)))
        more = f"  {note}" if note else ""
        return [f"/{self.filter_text}  {shown} of {total}{more if self.shown.is_done else '…'}"]

    @property
    def shown_rows(self) -> Sequence[Row]:
        return self._rows

    @property
    def cursor_row(self) -> Row | None:
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    @property
    def cursor_head(self) -> str:
        columns = self.table.columns
        return columns[min(self.cursor_column, len(columns) - 1)].title if columns else ""

    @property
    def cursor_figure(self) -> Figure | None:
        """The figure that the cell under the cursor shows; None for a cell without one."""
        row = self.cursor_row
        return None if row is None else self.table.figures(row, min(self.cursor_column, len(row.cells) - 1))

    def _lay_out_rows(self) -> None:
        """Lay out the shown rows; rows that the filter has not tested yet follow between keys."""
        self._rows = self.shown.rows
        self._laid_out_for = -1
        self._update_layout()
        self._check_more_later()

    def _check_more_later(self) -> None:
        if not self._is_writing and not self.shown.is_done and self.is_mounted:
            self._is_writing = True
            self.set_timer(PAUSE_SECONDS, self._write_more)

    def _write_more(self) -> None:
        self._is_writing = False
        cursor_key = self.cursor_key()
        if self.shown.check_more():
            self._lay_out_rows()
            self.post_message(self.Filtered())
        else:
            self._check_more_later()
        # Before that, the row may not be among the shown ones yet.
        if self.shown.is_done:
            self.restore_cursor(cursor_key)

    def cursor_key(self) -> str:
        """The key of the row under the cursor; empty without one."""
        return self.cursor_row.key if self.cursor_row is not None else ""

    def restore_cursor(self, key: str) -> None:
        """Move the cursor to the row with this key, to the first row if it is not shown."""
        self.cursor = self._position_of(key)
        self.show_cursor()

    def _position_of(self, key: str) -> int:
        return max(self.shown.row_position(key), 0) if key else 0

    def _update_layout(self) -> None:
        width = self.first_width or self.bar.text_width
        if width == self._laid_out_for:
            return
        if width <= 0:
            # Textual may draw a widget before it has set its size.
            self._layout = lay_out(self.table, (), 20)
            self.request_redraw()
            return
        self._laid_out_for = width
        self._layout = self._layout_for(width)
        self.bar.set_content_size(Size(width, self._layout.total_lines))
        self.request_redraw()

    @property
    def wraps_rows(self) -> bool:
        """Whether long text wraps; else a row has one line, and Enter shows a cell completely."""
        return True

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of lines, for `height: auto`, or those of the screen; `width` includes the scroll bar."""
        self.first_width = width - self.bar.width
        total_lines = self._layout_for(self.first_width).total_lines
        self.virtual_size = Size(self.first_width, total_lines)
        return min(max(total_lines, 1), viewport.height)

    def _layout_for(self, width: int) -> TableLayout:
        """The layout for a width; the last one is reused while rows, columns and width are the same."""
        table, wraps = self.table, self.wraps_rows
        # The size is asked for where it matters alone: Textual arranges the whole screen if it is not known yet.
        height = self.size.height if table.rest_below else 0
        uses = (table.is_one_line_per_row, table.wraps, table.rest_below, wraps, height, width, self._first_column)
        shape = (*uses, table.columns, table.header, table.footer, self.shown.order)
        if self._measured is None or self._measured[0] is not self._rows or self._measured[1] != shape:
            ordered = mark_order(table, self.shown.order)
            layout = lay_out(ordered, self._rows, width, self._first_column, wraps=wraps, height=height)
            self._measured = self._rows, shape, layout
        return self._measured[2]

    def on_resize(self, event: events.Resize) -> None:
        self._laid_out_for = -1
        self._update_layout()
        self.show_cursor()
        self.post_message(self.Moved())

    def show_cursor(self) -> None:
        """Scroll until the cursor's row is visible; before the size is known nothing is scrolled out of sight."""
        if not self._rows or not self.is_mounted or not self.size.height:
            return
        line = self._layout.first_line_of(self.cursor)
        around = enclosing_rows(self.table.depths, self.cursor) if self._rows is self.table.rows else []
        sticky_count = len(self._sticky_lines()) + min(len(around), self._rows_around_at_most)
        top = 0 if self.cursor == 0 else max(line - sticky_count, 0)
        height = max(1, line - top + (len([placed for placed in self._layout.body if placed.row == self.cursor]) or 1))
        region = Region(0, top, 1, min(height, max(self.size.height, 1)))
        self.scroll_to_region(region, animate=False, force=True)

    def bring_cursor(self) -> bool:
        """Scroll to the cursor's row if it is out of sight, such as below a long head; returns whether it was."""
        line, top = self._layout.first_line_of(self.cursor) if self._rows else 0, self.scroll_offset.y
        if not self._rows or top <= line < top + self.size.height:
            return False
        self.scroll_to(0, line - self.size.height // 2, animate=False)
        return True

    @property
    def allow_vertical_scroll(self) -> bool:
        """Textual asks for a scroll bar of its own."""
        return self.max_scroll_y > 0

    async def on_event(self, event: events.Event) -> None:
        if not self.bar.takes_event(event):
            await super().on_event(event)

    def watch_has_focus(self, _: bool) -> None:
        """Keep the styles, in which no rule asks for the focus."""

    def request_redraw(self) -> None:
        """Redraw changed lines after the current event, so that several changes cause one redraw."""
        self._is_stale, self._last_sight = True, None
        self.check_idle()

    def on_idle(self) -> None:
        """Refresh the regions of lines that differ from what was drawn last."""
        if not self._is_stale:
            return
        self._is_stale = False
        sight = self._current_sight()
        source = (self._measured, self.table.current, self.cursor, self.cursor_column, self.shows_cursor, sight)
        if source == self._compared:
            return
        self._compared = source
        # A step changes a few lines; redrawing all lines would flicker on a slow terminal.
        changed_lines = [y for y in range(sight.height) if self._on_terminal.get(y) != self._shown_line(y)]
        if changed_lines:
            self.refresh(*(Region(0, y, sight.width + self.bar.width, 1) for y in changed_lines))

    def watch_scroll_y(self, _: float, __: float) -> None:
        """Redraw the changed lines after scrolling, since some may show the same as before."""
        self.request_redraw()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles_of_lines.forget()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Lines of the screen; what stays at the top of them is found once, if any of them is drawn again.

        A place of another width is drawn as it is: the message about it comes later, and finds nothing to change.
        """
        self._update_layout()
        self._last_sight = None
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        line = self._on_terminal[y] = self._shown_line(y)
        style_of = self._styles_of_lines.style_of
        segments = [
            Segment(make_line_printable(text), style_of(style, selected=line.is_selected, chosen=cell))
            for text, style, cell in line.strokes
        ]
        ground = style_of()
        return Strip([*Strip(segments).crop_extend(0, line.width, ground), *(line.bar or (Segment(" ", ground),))])

    def _current_sight(self) -> Sight:
        if self._last_sight is None:
            width, height, top = self.bar.text_width, self.size.height, self.scroll_offset.y
            sticky_lines = self._sticky_lines()
            first_row = top + len(sticky_lines) - len(self._layout.top)
            depths = self.table.depths if self._rows is self.table.rows else ()
            enclosing = enclosing_rows_in_sight(depths, first_row, self._rows_around_at_most)
            self._last_sight = Sight(top, width, height, sticky_lines, enclosing, self.bar.cells())
        return self._last_sight

    @property
    def _rows_around_at_most(self) -> int:
        """Maximum number of enclosing rows shown at the top; a low panel needs room for other rows."""
        return max(self.size.height - len(self._sticky_lines()) - 2, 0)

    def _shown_line(self, y: int) -> ShownLine:
        sight = self._current_sight()
        placed = self._placed_line(y)
        bar = tuple(sight.bar[y : y + 1])
        if placed is None:
            return ShownLine((), False, sight.width, bar)
        selected = 0 <= placed.row == self.cursor and self.shows_cursor
        return ShownLine(tuple(self._line_strokes(placed, sight.width)), selected, sight.width, bar)

    def _placed_line(self, y: int) -> PlacedLine | None:
        """The content of a visible line, below the fixed heads."""
        layout, sight = self._layout, self._current_sight()
        line, top_size, sticky_count = sight.top + y, len(layout.top), len(sight.sticky_lines)
        if y < sticky_count and line >= sight.sticky_lines[y]:
            return layout.top[sight.sticky_lines[y]]
        if sticky_count <= y < sticky_count + len(sight.enclosing_rows):
            return self._uniform_line(sight.enclosing_rows[y - sticky_count])
        if line < top_size:
            return layout.top[line]
        line -= top_size
        if line < len(layout.body):
            return layout.body[line]
        if line < layout.body_size:
            return self._uniform_line(line)
        line -= layout.body_size
        return layout.bottom[line] if line < len(layout.bottom) else None

    def _sticky_lines(self) -> Sequence[int]:
        """The fixed lines at the top: a title too long for the frame, and the heads."""
        layout = self._layout
        top_size, head_lines = len(layout.top), layout.head_lines
        title_lines = (
            len(wrap_line(self.table.header[0], self._laid_out_for)) if self.titled and self.table.header else 0
        )
        # A low panel must keep a line for the cursor.
        if title_lines + head_lines >= self.size.height:
            title_lines = 0
        return (*range(title_lines), *range(top_size - head_lines, top_size))

    def _uniform_line(self, line: int) -> PlacedLine:
        """The line of a row in a table whose rows have one line each."""
        return self._layout.placed_line(line, self._rows[line])

    def _line_strokes(self, placed: PlacedLine, width: int) -> Iterator[Stroke]:
        if placed.row < 0 and not placed.is_heading:
            return (Stroke(piece.text, piece.style) for piece in placed.cells)
        selected = 0 <= placed.row == self.cursor and self.shows_cursor
        columns = self.table.columns
        chosen_column = self.cursor_column if selected and len(columns) > 1 else -1
        line = row_strokes(placed, self._layout, columns, chosen_column)
        return fill_line(
            [Stroke(self._gutter_text(placed, selected=selected), "here"), *line], width if selected else 0
        )

    @property
    def shows_cursor(self) -> bool:
        return self.has_focus or self.cursor_without_focus

    def _gutter_text(self, placed: PlacedLine, *, selected: bool) -> str:
        if placed.row < 0 or not placed.is_first:
            return " " * GUTTER_WIDTH
        is_current = bool(self.table.current) and self._rows[placed.row].key == self.table.current
        return f"{CURSOR if selected else ' '}{HERE if is_current else ' '}"

    def watch_cursor(self) -> None:
        """Redraw the rows that the cursor left and entered."""
        self.request_redraw()
        self.post_message(self.Moved())

    def watch_cursor_column(self) -> None:
        self.request_redraw()

    def action_move(self, by: int) -> None:
        """Move the cursor, or scroll where there is no further row."""
        target = self.cursor + by
        if 0 <= target < len(self._rows):
            self.cursor = target
            self.show_cursor()
        else:
            self.scroll_relative(y=by, animate=False)

    def action_move_to(self, row: int) -> None:
        """Move the cursor to the first or the last row."""
        if self._rows:
            self.cursor = row if row >= 0 else len(self._rows) - 1
            self.show_cursor()

    def action_page(self, by: int) -> None:
        if not self._rows:
            self.scroll_relative(y=by * self.size.height, animate=False)
            return
        step = max(1, self.size.height - 2) * by
        self.cursor = min(max(self.cursor + step, 0), len(self._rows) - 1)
        self.show_cursor()

    def action_column(self, by: int) -> None:
        """Move the cursor by `by` columns, and scroll until the column is visible."""
        if self.table.columns:
            self.cursor_column = min(max(self.cursor_column + by, 0), len(self.table.columns) - 1)
            for _ in self.table.columns:
                if self.cursor_column not in self._layout.columns:
                    self.action_scroll_columns(1 if self.cursor_column > self._layout.columns[-1] else -1)
            self.show_cursor()

    def action_scroll_columns(self, by: int) -> None:
        """Scroll the columns sideways; the first one stays visible."""
        first = min(max(self._first_column + by, 1), max(len(self.table.columns) - 1, 1))
        # The last column is visible already.
        if first == self._first_column or (by > 0 and self._layout.columns[-1:] == (len(self.table.columns) - 1,)):
            return
        self._first_column, self._laid_out_for = first, -1
        self._update_layout()
        self.post_message(self.Moved())

    def action_sort(self) -> None:
        """Sort by the cursor's column; again for descending, a third time for the original order."""
        if self.table.columns and self.table.rows:
            self.set_order(next_order(self.shown.order, min(self.cursor_column, len(self.table.columns) - 1)))
            self.post_message(self.Filtered())

    def action_open_cell(self) -> None:
        if self.cursor_row is not None:
            column = min(self.cursor_column, len(self.table.columns) - 1)
            self.post_message(self.Opened(self.table, self.cursor_row, column))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        placed, column = self._placed_line(offset.y), self._layout.column_at(offset.x)
        if column is not None and placed is not None:
            self.cursor_column = column
            if placed.is_heading:
                self.action_sort()
        if placed is None or placed.row < 0:
            return
        is_double_click = placed.row == self.cursor and event.chain > 1
        self.cursor = placed.row
        if is_double_click:
            self.action_open_cell()

    def unseen_columns(self) -> list[str]:
        """Notes with the number of hidden columns at each side; empty if all are visible, or the width is unknown."""
        if not self._rows or self._laid_out_for < 0:
            return []
        return self._layout.unseen_columns(len(self.table.columns))
