"""Where a table's text goes: the columns in sight, their widths, and which row each line shows.

A row takes one line. Columns without room are scrolled to sideways, beside the first one, which stays. Only tables of
prose wrap their text, and tables with the rest below the first column.
"""

from collections.abc import Container, Iterator, Sequence
from itertools import accumulate, chain
from typing import Final, NamedTuple

from msgspec import Struct

from vcdebug.amount_text import count_noun
from vcdebug.tui.widgets import text_wrap
from vcdebug.views.pieces import SKIPPED, Piece
from vcdebug.views.table import Row, Table

MAX_WRAPPED_ROWS: Final = 400
"""Rows up to which a table of prose wraps; a larger one shortens its text, so that all rows have one line."""
MIN_PROSE: Final = 12
"""Width to which a column of prose is narrowed before columns are hidden."""
ONE_LINE: Final = 60
"""Width up to which a text that is never cut gets a line of its own before columns stay."""
MIN_TREE_SHARE: Final = 16
"""Width that the second column of a tree gets, if names allow it."""
MIN_TREE_WORDS: Final = 8
"""Width below which the second column of a tree shows signs only."""


REST_INDENT: Final = "    "
REST_GAP: Final = "   "
MAX_REST: Final = 24
"""Maximum width of a hidden column's cell below its row; the longest cell gets the remaining width."""


class PlacedLine(Struct, frozen=True):
    """One line on the screen."""

    row: int
    """Index among the shown rows; -1 for heads and other lines."""
    cells: tuple[Piece, ...]
    """One piece per column in sight; for other lines the pieces of the text."""
    is_heading: bool = False
    is_first: bool = True
    """Whether it is the first line of its row."""
    widths: tuple[int, ...] = ()
    """Widths of the pieces if they differ from the columns' widths, then without gaps; else empty."""


class TableLayout(NamedTuple):
    """A table laid out for one width."""

    columns: tuple[int, ...]
    """Indexes of the visible columns."""
    widths: tuple[int, ...]
    gap: int
    top: tuple[PlacedLine, ...]
    body: tuple[PlacedLine, ...]
    """The lines of all rows if text wraps; empty if each row has one line."""
    bottom: tuple[PlacedLine, ...]
    rows: int
    shared: tuple[str, ...] = ()
    """The common namespace of each column, which is shown only in the column's head."""
    tree: text_wrap.TreeRoom | None = None
    """The room of a tree's rows; None for other tables."""
    shows_hidden_cells: bool = False
    """Whether cells of hidden columns are shown below each row."""

    @property
    def body_size(self) -> int:
        """Number of lines of all rows."""
        return len(self.body) or self.rows

    @property
    def total_lines(self) -> int:
        """Number of all lines, including those above and below the rows."""
        return len(self.top) + self.body_size + len(self.bottom)

    @property
    def head_lines(self) -> int:
        """Number of lines of column heads, which stay visible: 1, or 0 if no column has a title."""
        return len([placed for placed in self.top if placed.is_heading])

    def column_at(self, x: int) -> int | None:
        """Index of the column at screen column `x`; None outside all columns."""
        ends = accumulate(width + self.gap for width in self.widths)
        columns = (column for column, end in zip(self.columns, ends, strict=True) if x < text_wrap.GUTTER_WIDTH + end)
        return next(columns, None) if x >= text_wrap.GUTTER_WIDTH else None

    def unseen_columns(self, column_count: int) -> list[str]:
        """Notes with the number of hidden columns at each side; empty if all are visible."""
        if not self.columns or self.shows_hidden_cells:
            return []
        left, right = (self.columns[1] - 1 if len(self.columns) > 1 else 0), column_count - 1 - self.columns[-1]
        return [*([f"← {left} more"] if left else []), *([f"{count_noun(right, 'more column')} →"] if right else [])]

    def first_line_of(self, row: int) -> int:
        """The first line of a row."""
        if not self.body:
            return len(self.top) + row
        return len(self.top) + next((i for i, placed in enumerate(self.body) if placed.row == row), 0)

    def placed_line(self, index: int, row: Row) -> PlacedLine:
        """The line of a row in a table with one line per row."""
        if self.tree is not None:
            cells, widths = text_wrap.spread_cells(row.cells, self.tree)
            return PlacedLine(index, cells, widths=widths)
        pairs = ((row.cells[i], self.shared[i]) for i in self.columns)
        own = (Piece(cell.text.removeprefix(shared), cell.style) if shared else cell for cell, shared in pairs)
        return PlacedLine(index, tuple(own))


def lay_out(
    table: Table, rows: Sequence[Row], width: int, start: int = 1, *, wraps: bool = True, height: int = 0
) -> TableLayout:
    """Lay out the table for `width` cells, with the first column and those from `start`.

    `height`: lines that are there for cells below their row; no such line is made where they do not all fit.
    """
    if table.is_one_line_per_row:
        return _lay_out_tree(table, rows, width)
    columns = table.columns
    wraps = wraps and table.wraps and len(rows) <= MAX_WRAPPED_ROWS
    heads, shared = [column.title for column in columns], ("",) * len(columns)
    natural = text_wrap.natural_widths(columns, heads, rows, shared)
    if text_wrap.line_width(natural) > width:
        shared = _shared_namespaces(table, rows)
        heads = [
            f"{head} in {common.rstrip('/')}" if common else head for head, common in zip(heads, shared, strict=True)
        ]
        natural = text_wrap.natural_widths(columns, heads, rows, shared)
    least = text_wrap.least_widths(columns, heads, rows if wraps else (), natural)
    if wraps and text_wrap.line_width(least, text_wrap.COLUMN_GAP - 1) > width:
        # Prose is broken within words before columns are hidden.
        least = [min(size, MIN_PROSE) if one.flexible else size for size, one in zip(least, columns, strict=True)]
    if table.rest_below:
        # Columns are hidden, the last ones first, until the texts of the first column take one line, long ones two.
        longest_first = width - text_wrap.GUTTER_WIDTH - text_wrap.COLUMN_GAP - least[1]
        least[0] = max(least[0], min(natural[0], max(natural[0] // 2 + MIN_PROSE, ONE_LINE), longest_first))
    gap = text_wrap.COLUMN_GAP if text_wrap.line_width(least) <= width else text_wrap.COLUMN_GAP - 1
    shown_columns = _columns_in_sight(least, width, start, gap)
    widths = text_wrap.fit_widths(
        [columns[i] for i in shown_columns],
        [natural[i] for i in shown_columns],
        [least[i] for i in shown_columns],
        width - text_wrap.GUTTER_WIDTH,
        gap,
    )
    if len(rows) > text_wrap.SAMPLED_ROWS and columns[shown_columns[-1]].flexible:
        # Rows that were not sampled can be longer: the last column takes what is left.
        widths[-1] += max(width - text_wrap.line_width(widths, gap), 0)
    top, bottom = _lines_around(table, rows, heads, shown_columns, width)
    layout = TableLayout(shown_columns, tuple(widths), gap, top, (), bottom, len(rows), shared)
    if table.rest_below and len(shown_columns) < len(columns):
        body = tuple(_lines_with_rest(layout, table, rows, width - text_wrap.GUTTER_WIDTH))
        if len(top) + len(body) + len(bottom) <= height:
            return layout._replace(body=body, shows_hidden_cells=True)
    wrapped = (0,) if table.rest_below else [i for i in shown_columns if wraps and columns[i].flexible]
    if not wraps and not wrapped:
        return layout
    lines = (_wrapped_row(layout, wrapped, index, row) for index, row in enumerate(rows))
    return layout._replace(body=tuple(chain.from_iterable(lines)))


def _columns_in_sight(least: Sequence[int], width: int, start: int, gap: int) -> tuple[int, ...]:
    """Indexes of the visible columns: all if they fit, else the first one and those from `start` that fit."""
    if text_wrap.line_width(least, gap) <= width or not least:
        return tuple(range(len(least)))
    start = min(max(start, 1), len(least) - 1)
    room = width - text_wrap.GUTTER_WIDTH - least[0]
    ends = accumulate(gap + size for size in least[start:])
    fitting_count = len([end for end in ends if end <= room])
    return (0, *range(start, start + max(fitting_count, 1)))


def _lines_around(
    table: Table, rows: Sequence[Row], heads: Sequence[str], shown_columns: Sequence[int], width: int
) -> tuple[tuple[PlacedLine, ...], tuple[PlacedLine, ...]]:
    """The lines above the rows, and those below."""
    top = [PlacedLine(-1, line) for entry in table.header for line in text_wrap.wrap_line(entry, width)]
    if len(rows) and any(heads[i] for i in shown_columns):
        top.append(PlacedLine(-1, tuple(Piece(heads[i], "muted") for i in shown_columns), is_heading=True))
    bottom = (PlacedLine(-1, line) for entry in table.footer for line in text_wrap.wrap_line(entry, width))
    return tuple(top), tuple(bottom)


def _wrapped_row(layout: TableLayout, wrapped: Container[int], index: int, row: Row) -> Iterator[PlacedLine]:
    """The lines of a row; the cells of the columns in `wrapped` take as many as they need."""
    cells = layout.placed_line(index, row).cells
    cell_lines = [
        text_wrap.wrap_text(cell.text, width) if i in wrapped else [cell.text]
        for i, cell, width in zip(layout.columns, cells, layout.widths, strict=True)
    ]
    for number in range(max(map(len, cell_lines), default=0)):
        texts = (lines[number] if number < len(lines) else "" for lines in cell_lines)
        line = tuple(cell._replace(text=text) for cell, text in zip(cells, texts, strict=True))
        yield PlacedLine(index, line, is_first=not number)


def _lines_with_rest(layout: TableLayout, table: Table, rows: Sequence[Row], room: int) -> Iterator[PlacedLine]:
    """The lines of each row, followed by a line with the titles and cells of hidden columns."""
    unseen = [i for i in range(len(table.columns)) if i not in layout.columns]
    widths = (room, *[0] * (len(layout.columns) - 1))
    for index, row in enumerate(rows):
        yield from _wrapped_row(layout, (0,), index, row)
        filled = [i for i in unseen if row.cells[i].text not in ("", SKIPPED)]
        texts = {i: f"{table.columns[i].title} {row.cells[i].text}" for i in filled}
        longest = max(filled, key=lambda i: len(texts[i]), default=-1)
        short = {i: text_wrap.pad_text(texts[i], MAX_REST, right=False).rstrip() for i in filled if i != longest}
        left = room - len(REST_INDENT) - sum(len(REST_GAP) + len(text) for text in short.values())
        shown = (short.get(i) or text_wrap.pad_text(texts[i], left, right=False).rstrip() for i in filled)
        if filled:
            line = (Piece(REST_INDENT + REST_GAP.join(shown), "muted"), *[Piece("")] * (len(layout.columns) - 1))
            yield PlacedLine(index, line, is_first=False, widths=widths)


def _lay_out_tree(table: Table, rows: Sequence[Row], width: int) -> TableLayout:
    """The layout of a tree: it shortens outcomes, then reduces the indent, then shows signs only."""
    columns, heads = table.columns, [column.title for column in table.columns]
    natural = text_wrap.natural_widths(columns, heads, rows, ("",) * len(columns))
    number_width = natural[2] + text_wrap.COLUMN_GAP
    room = width - text_wrap.GUTTER_WIDTH - number_width
    outcome_width = min(natural[1], max(MIN_TREE_SHARE, room - text_wrap.COLUMN_GAP - natural[0]))
    is_tight = natural[0] > room - text_wrap.COLUMN_GAP - outcome_width
    if is_tight:
        number_width, room = number_width - 1, room + 1
    outcome_width = min(outcome_width, max(room - 1 - min(columns[0].min_width, natural[0]), columns[1].min_width))
    shows_words = outcome_width >= min(natural[1], MIN_TREE_WORDS)
    start = max(room - (outcome_width if shows_words else 1), 1)
    top, bottom = _lines_around(table, rows, heads, (0, 1, 2), width)
    widths = (start, max(room - start, 0), number_width)
    tree = text_wrap.TreeRoom(width - text_wrap.GUTTER_WIDTH, start, number_width, is_tight, shows_words)
    return TableLayout((0, 1, 2), widths, 0, top, (), bottom, len(rows), ("", "", ""), tree)


def _shared_namespaces(table: Table, rows: Sequence[Row]) -> tuple[str, ...]:
    """The namespace that the sampled names of a column share; other names keep theirs."""
    return tuple(
        _common_namespace([row.cells[i].text for row in text_wrap.sample_rows(rows)]) if column.name else ""
        for i, column in enumerate(table.columns)
    )


def _common_namespace(names: Sequence[str]) -> str:
    first_name = next((name for name in names if name.strip()), "")
    namespace, slash, _ = first_name.partition("/")
    prefix = namespace + slash
    return (
        prefix if slash and " " not in prefix and all(name.startswith(prefix) for name in names if name.strip()) else ""
    )
