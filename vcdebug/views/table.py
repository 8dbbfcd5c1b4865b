"""The parts of every view: pieces of styled text, lines, tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from typing import NamedTuple, overload

from msgspec import Struct

from vcdebug.debugger.figures import Figure
from vcdebug.model.names import Seq
from vcdebug.views.pieces import Line, Piece, muted_lines, muted_piece, text_of

MAX_CACHED_TABLES = 16
"""Events whose rows are cached, per kind of table."""


class Row(NamedTuple):
    """A row: a key that is the same at every event, its cells, and the event that it leads to (0: none)."""

    key: str
    cells: tuple[Piece, ...]
    seq: Seq = 0
    subject: tuple[str, str] = ("", "")
    """(kind, name) of the row's job, task, node or queue."""
    also_found: tuple[str, ...] = ()
    """Texts by which a filter finds the row besides its cells."""


FigureAt = Callable[[Row, int], Figure | None]
"""The figure that a cell shows, by row and index of the column."""


def no_figure(row: Row, column: int) -> Figure | None:
    """The FigureAt of tables without figures of the state."""
    return None


class Column(Struct, frozen=True):
    """A column: `right` aligns numbers, `flexible` text wraps or is shortened first.

    The most important columns come first, since the last ones are hidden first.
    """

    title: str
    right: bool = False
    flexible: bool = False
    min_width: int = 0
    """The minimum width of a flexible column."""
    name: bool = False
    """Whether the cells are names: a common namespace is dropped, and names are shortened in the middle."""


_COLUMN_HEAD = re.compile(r"(.*?)(#?)(@?)(?:(~)(\d*))?")


def table_columns(*heads: str) -> tuple[Column, ...]:
    """Columns by their heads: one that ends in `#` is of numbers, in `@` of names, in `~` of flexible text.

    `~16` keeps at least 16 characters of the text.
    """
    found = [match for head in heads if (match := _COLUMN_HEAD.fullmatch(head)) is not None]
    return tuple(
        Column(title, right=bool(number), flexible=bool(flexible), min_width=int(least or 0), name=bool(name))
        for title, number, name, flexible, least in (match.groups() for match in found)
    )


class Table(Struct, frozen=True):
    """Rows under heads, with lines above and below; `rows` may be RowsOnDemand."""

    title: str
    columns: tuple[Column, ...] = ()
    rows: Sequence[Row] = ()
    header: tuple[Line, ...] = ()
    footer: tuple[Line, ...] = ()
    current: str = ""
    """The key of the event's row."""
    target: str = ""
    """The key of the row to scroll to if no row is current."""
    indent: int = 0
    """Spaces before each printed line below the title."""
    wraps: bool = True
    """Whether long text wraps if there is room for more lines, as on a page, instead of being shortened."""
    rest_below: bool = False
    """Whether the first column is never cut: it wraps, columns give way to it, and the cells of those that do not fit
    are shown on a line below the row, if the height allows it."""
    is_one_line_per_row: bool = False
    """Whether each row has one line, in which the first column takes all free width."""
    depths: Sequence[int] = ()
    """The depth of each row of a tree."""
    summary: str = ""
    """The content in a few words, for a place that shows one line; the title if empty."""
    is_quoted: bool = False
    """Whether the rows are the scheduler's own lines, in which jobs keep the names of their PodGroups."""
    figures: FigureAt = no_figure
    """The figure of a cell; called for the cell under the cursor only."""


def empty_table(title: str, words: str, thing: str = "", following: Seq | None = None) -> Table:
    """A table with one line for a panel without content; the line leads to the next event with content."""
    if following is None:
        return Table(title, footer=muted_lines(words))
    row = Row("next", (muted_piece(f"{words}; next {thing} at {following}: t goes there"),), following)
    return Table(title, (Column("", flexible=True),), (row,))


class RowsOnDemand(Sequence[Row]):
    """A sequence whose rows are built on first access, since a panel of 100,000 rows draws only about 50."""

    __slots__ = ("_changed", "_longest", "_make_row", "_row_by_index", "_size", "keys")

    def __init__(self, keys: Sequence[str], make: Callable[[int], Row]) -> None:
        self.keys = keys
        self._size = len(keys)
        self._make_row = make
        self._row_by_index: dict[int, Row] = {}
        self._changed: tuple[object, RowsOnDemand] | None = None
        self._longest: dict[str, int] = {}

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._size))]
        if index < 0:
            index += self._size
        if not 0 <= index < self._size:
            raise IndexError(index)
        row = self._row_by_index.get(index)
        # Cached, since a panel asks for the same rows at every key press.
        if row is None:
            row = self._row_by_index[index] = self._make_row(index)
        return row

    def fresh_row(self, index: int) -> Row:
        """Build the row without caching it, for searches that visit every row once."""
        return self._row_by_index.get(index) or self._make_row(index)

    def longest_key(self, prefix: str) -> int:
        """The length of the longest key without the prefix, found once: each layout asks for it."""
        if prefix not in self._longest:
            self._longest[prefix] = max(map(len, map(str.removeprefix, self.keys, repeat(prefix))), default=0)
        return self._longest[prefix]

    def map_rows(self, change: Callable[[Row], Row], name: object) -> RowsOnDemand:
        """Rows that `change` makes from these; the same object as long as `name` is equal."""
        # A panel keeps layouts and ranks by the identity of its rows.
        if self._changed is None or self._changed[0] != name:
            self._changed = name, RowsOnDemand(self.keys, lambda index: change(self.fresh_row(index)))
        return self._changed[1]


def position_of(rows: Sequence[Row], key: str) -> int:
    """The index of the row with a key; -1 without one."""
    if isinstance(rows, RowsOnDemand):
        return rows.keys.index(key) if key in rows.keys else -1
    return next((index for index, row in enumerate(rows) if row.key == key), -1)


COLUMN_GAP = "  "


def format_table(table: Table) -> str:
    """The table as plain text, ending in a newline."""
    lines = (*table.header, *_aligned_lines(table), *table.footer)
    return "\n".join([table.title, *(text_of(line).rstrip() for line in lines)]) + "\n"


def embed_table(table: Table) -> list[Line]:
    """A small table as lines for the head of a page, with an empty line at the end."""
    rows = _aligned_lines(table) if table.rows else ()
    return [(Piece(table.title, "title"),), *table.header, *rows, *table.footer, ()]


def _aligned_lines(table: Table) -> Iterator[Line]:
    """The heads, if there are any, and the rows, padded to their columns."""
    heads = tuple(muted_piece(column.title) for column in table.columns)
    lines = [*([heads] if any(head.text for head in heads) else []), *(row.cells for row in table.rows)]
    widths = [max((len(cells[i].text) for cells in lines), default=0) for i in range(len(heads))]
    for cells in lines if heads else ():
        *texts, last = pad_cells([cell.text for cell in cells], table.columns, widths)
        pieces = [(Piece(text, cell.style), Piece(COLUMN_GAP)) for text, cell in zip(texts, cells, strict=False)]
        yield (*chain.from_iterable(pieces), Piece(last.rstrip(), cells[-1].style))


def pad_cells(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> list[str]:
    """The cells padded to the widths, numbers on the left."""
    return [
        cell.rjust(width) if column.right else cell.ljust(width)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    ]
