"""What every view is made of: pieces of text with a style name, lines, and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, NamedTuple, overload

from vcdebug.amount_text import format_number, short_resource_text
from vcdebug.debugger.figures import Figure
from vcdebug.model.names import Seq
from vcdebug.model.resource import Resource

Style = Literal["", "title", "strong", "muted", "good", "bad", "warn", "accent", "here"]
"""A meaning; the front end chooses what it looks like. Every meaning also has words or a symbol."""

MAX_CACHED_TABLES = 16
"""Moments whose rows are kept, for each sort of table."""
YES, NO, BEST, HERE, SKIPPED = "✓", "✗", "★", "●", "·"


class Piece(NamedTuple):
    """A stretch of text in one style."""

    text: str
    style: Style = ""


Line = tuple[Piece, ...]


class Row(NamedTuple):
    """One row of a table: a stable key, its cells, and the event that it tells about (0: none)."""

    key: str
    cells: tuple[Piece, ...]
    seq: Seq = 0
    subject: tuple[str, str] = ("", "")
    """(kind, name) of the job, task, node or queue in this row."""


FigureAt = Callable[[Row, int], Figure | None]
"""Which figure of the state a cell shows: by row and column."""


def no_figure(row: Row, column: int) -> Figure | None:
    """For tables whose numbers are no figures of the state."""
    return None


@dataclass(frozen=True, slots=True)
class Column:
    """A column's head; numbers stand right, text that may be long wraps or is shortened first."""

    title: str
    right: bool = False
    flexible: bool = False
    least: int = 0
    """Cells that a flexible column keeps in any case."""
    name: bool = False
    """Names stay whole: a namespace that all of them share gives way first, and the rest of a row goes below."""
    explains: bool = True
    """Whether long text speaks for itself, and may stand below its row without its head; figures do not."""
    spare: int = 0
    """Where there is no room: 0 stays, the largest goes first. Only what is seen elsewhere too may go."""


def plain_columns(*heads: str) -> tuple[Column, ...]:
    """Columns that neither wrap nor give way: a head that ends in `#` stands over numbers."""
    return tuple(Column(head.removesuffix("#"), right=head.endswith("#")) for head in heads)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under heads, with lines before and after; `rows` may be built on demand."""

    title: str
    columns: tuple[Column, ...] = ()
    rows: Sequence[Row] = ()
    head: tuple[Line, ...] = ()
    foot: tuple[Line, ...] = ()
    current: str = ""
    """The key of the row that the present event belongs to."""
    sought: str = ""
    """The key of the row to bring into sight where no row is current."""
    indent: int = 0
    """Spaces before each line below the title, where it is printed."""
    wraps: bool = True
    """Whether long text takes further lines; otherwise it is shortened."""
    legend: int = 0
    """Rows at the beginning whose text wraps in any case."""
    one_line: bool = False
    """Whether each row has one line in any case, the first column as wide as the place allows."""
    depths: Sequence[int] = ()
    """How deep each row stands in a tree."""
    figures: FigureAt = field(default=no_figure, compare=False)
    """Which figure a cell shows: looked up for the cell under the cursor only."""


class RowsOnDemand(Sequence[Row]):
    """Rows of which only the keys exist; each row is made when somebody looks at it."""

    __slots__ = ("_made", "_make", "_size", "keys")

    def __init__(self, keys: Sequence[str], make: Callable[[int], Row]) -> None:
        self.keys = keys
        self._size = len(keys)
        self._make = make
        self._made: dict[int, Row] = {}

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
        row = self._made.get(index)
        if row is None:
            row = self._made[index] = self._make(index)
        return row

    def fresh_row(self, index: int) -> Row:
        """A row for a single look, as a search takes at each of them: it is not kept."""
        return self._made.get(index) or self._make(index)


def position_of(rows: Sequence[Row], key: str) -> int:
    """Where a row stands; -1 if there is none with this key."""
    if isinstance(rows, RowsOnDemand):
        return rows.keys.index(key) if key in rows.keys else -1
    return next((index for index, row in enumerate(rows) if row.key == key), -1)


def make_line(*pieces: Piece | str) -> Line:
    """A line of pieces; bare text has no style."""
    return tuple(Piece(piece) if isinstance(piece, str) else piece for piece in pieces)


def text_of(pieces: Sequence[Piece]) -> str:
    """The bare text."""
    return "".join(piece.text for piece in pieces)


def muted_piece(text: str) -> Piece:
    """Text in the dim style of what matters less."""
    return Piece(text, "muted")


def value_text(value: object) -> str:
    """A plugin's figure of any kind."""
    if isinstance(value, Resource):
        return short_resource_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format_number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {value_text(entry)}" for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(value_text, value))
    return "" if value is None else str(value)


def format_table(table: Table) -> str:
    """The table as text, for files and clipboards."""
    return "\n".join(_iter_plain_lines(table)) + "\n"


def _iter_plain_lines(table: Table) -> Iterator[str]:
    yield table.title
    yield from (text_of(entry).rstrip() for entry in table.head)
    if table.columns:
        lines = [*_plain_heads(table), *(row.cells for row in table.rows)]
        widths = [max((len(cells[i].text) for cells in lines), default=0) for i in range(len(table.columns))]
        rows = (pad_cells([cell.text for cell in cells], table.columns, widths) for cells in lines)
        yield from ("  ".join(row).rstrip() for row in rows)
    yield from (text_of(entry).rstrip() for entry in table.foot)


def _plain_heads(table: Table) -> list[tuple[Piece, ...]]:
    heads = tuple(Piece(column.title) for column in table.columns)
    return [heads] if any(head.text for head in heads) else []


def pad_cells(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> list[str]:
    """Cells as wide as their columns, numbers to the right."""
    return [
        cell.rjust(width) if column.right else cell.ljust(width)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    ]


# Tables inside a page: a small table as lines that stand above the page's own rows.

COLUMN_GAP = "  "


def embed_table(table: Table) -> list[Line]:
    """Title, head lines, columns under their heads, foot lines, and an empty line after them."""
    return [(Piece(table.title, "title"),), *table.head, *_iter_embedded_rows(table), *table.foot, ()]


def _iter_embedded_rows(table: Table) -> Iterator[Line]:
    if not table.rows:
        return
    widths = [
        max(len(column.title), *(len(row.cells[index].text) for row in table.rows))
        for index, column in enumerate(table.columns)
    ]
    if any(column.title for column in table.columns):
        yield _aligned_line([Piece(column.title, "muted") for column in table.columns], table.columns, widths)
    for row in table.rows:
        yield _aligned_line(row.cells, table.columns, widths)


def _aligned_line(cells: Sequence[Piece], columns: Sequence[Column], widths: Sequence[int]) -> Line:
    *texts, last = pad_cells([cell.text for cell in cells], columns, widths)
    pieces = [(Piece(text, cell.style), Piece(COLUMN_GAP)) for text, cell in zip(texts, cells, strict=False)]
    return (*chain.from_iterable(pieces), Piece(last.rstrip(), cells[-1].style))
