"""Where a table's text goes: column widths, wrapped lines, and which row each line shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from vcdebug.views.base import Column, Line, Piece, Row, Table

GAP = 2
GUTTER = 2
NARROWEST = 8
LONG_WORD = 26
WRAPPED_ROWS = 400
"""Tables up to this size wrap long text; larger ones have one line per row and shorten it."""
SAMPLED_ROWS = 100


class Placed(NamedTuple):
    """One line on the screen."""

    row: int
    """Index among the shown rows; -1 for a line that is no row."""
    cells: tuple[Piece, ...]
    """One per column for a row or the heads, else the pieces of a line."""
    heads: bool = False
    first: bool = True
    """Whether it is the first line of its row."""


class Layout(NamedTuple):
    """A table laid out for one width."""

    widths: tuple[int, ...]
    top: tuple[Placed, ...]
    body: tuple[Placed, ...] | None
    """None where every row takes exactly one line."""
    bottom: tuple[Placed, ...]
    rows: int

    @property
    def body_size(self) -> int:
        """Lines of the rows."""
        return self.rows if self.body is None else len(self.body)

    @property
    def height(self) -> int:
        """Lines in all."""
        return len(self.top) + self.body_size + len(self.bottom)

    @property
    def width(self) -> int:
        """Cells that the columns take."""
        return _total(self.widths)

    def line_of(self, row: int) -> int:
        """The first line of a row."""
        if self.body is None:
            return len(self.top) + row
        return len(self.top) + next((i for i, placed in enumerate(self.body) if placed.row == row), 0)


def lay_out(table: Table, rows: Sequence[Row], width: int) -> Layout:
    """Fit the table into `width` cells; columns that cannot shrink further make it wider, and then nothing wraps."""
    heads = [column.title for column in table.columns]
    natural = _natural(heads, rows)
    if _total(natural) > width:
        heads = [_folded(column) for column in table.columns]
        natural = _natural(heads, rows)
    wraps = table.wraps and len(rows) <= WRAPPED_ROWS
    widths = _fit(table.columns, natural, _least(table.columns, rows if wraps else ()), width - GUTTER)
    if wraps and _total(widths) > width:
        wraps, widths = False, natural
    top = [Placed(-1, line) for entry in table.head for line in wrap(entry, width)]
    top += _head_lines(heads) if len(rows) else []
    bottom = tuple(Placed(-1, line) for entry in table.foot for line in wrap(entry, width))
    body = tuple(_body(table.columns, rows, widths)) if wraps else None
    return Layout(tuple(widths), tuple(top), body, bottom, len(rows))


def _body(columns: Sequence[Column], rows: Sequence[Row], widths: Sequence[int]) -> Iterator[Placed]:
    for index, row in enumerate(rows):
        for number, cells in enumerate(_wrapped_cells(row.cells, columns, widths)):
            yield Placed(index, cells, first=number == 0)


def _folded(column: Column) -> str:
    """A head of several words over narrow figures takes a line for each."""
    return column.title if column.flexible else column.title.replace(" ", "\n")


def _head_lines(heads: Sequence[str]) -> list[Placed]:
    """The heads, standing on the rows below them."""
    parts = [head.split("\n") for head in heads]
    height = max((len(part) for part in parts), default=0)
    if not any(heads):
        return []
    lines = zip(*([""] * (height - len(part)) + part for part in parts), strict=True)
    return [Placed(-1, tuple(Piece(text, "muted") for text in line), heads=True) for line in lines]


def _total(widths: Sequence[int]) -> int:
    return GUTTER + sum(widths) + GAP * max(len(widths) - 1, 0)


def _natural(heads: Sequence[str], rows: Sequence[Row]) -> list[int]:
    step = max(1, len(rows) // SAMPLED_ROWS)
    widths = [max(cell_len(part) for part in head.split("\n")) for head in heads]
    for index in range(0, len(rows), step):
        for i, cell in enumerate(rows[index].cells):
            widths[i] = max(widths[i], cell_len(cell.text))
    return widths


def _least(columns: Sequence[Column], rows: Sequence[Row]) -> list[int]:
    """No column that wraps gets narrower than its longest word, within reason."""
    return [
        max([NARROWEST, column.least, *(min(_longest_word(row.cells[i].text), LONG_WORD) for row in rows)])
        if column.flexible
        else 0
        for i, column in enumerate(columns)
    ]


def _longest_word(text: str) -> int:
    return max((cell_len(word) for word in text.split()), default=0)


def _fit(columns: Sequence[Column], natural: list[int], least: list[int], width: int) -> list[int]:
    """Take from the widest flexible column until the row fits."""
    widths = list(natural)
    excess = sum(widths) + GAP * max(len(widths) - 1, 0) - width
    while excess > 0:
        candidates = [i for i, column in enumerate(columns) if column.flexible and widths[i] > least[i]]
        if not candidates:
            break
        widest = max(candidates, key=lambda i: widths[i])
        rival = max((widths[i] for i in candidates if i != widest), default=0)
        cut = max(1, min(excess, widths[widest] - max(rival, least[widest])))
        widths[widest] -= cut
        excess -= cut
    return widths


def _wrapped_cells(
    cells: tuple[Piece, ...], columns: Sequence[Column], widths: Sequence[int]
) -> list[tuple[Piece, ...]]:
    if all(cell_len(cell.text) <= width for cell, width in zip(cells, widths, strict=True)):
        return [cells]
    parts = [
        _wrap_text(cell.text, width) if column.flexible else [cell.text]
        for cell, column, width in zip(cells, columns, widths, strict=True)
    ]
    height = max(len(part) for part in parts)
    return [
        tuple(Piece(part[i] if i < len(part) else "", cell.style) for part, cell in zip(parts, cells, strict=True))
        for i in range(height)
    ]


def _wrap_text(text: str, width: int) -> list[str]:
    """Break at spaces where possible; continuation lines keep the indent."""
    if cell_len(text) <= width:
        return [text]
    indent = " " * min(len(text) - len(text.lstrip()) + 2, width // 2)
    lines: list[str] = []
    rest = text
    while cell_len(rest) > width:
        fitting = rest[:width]
        space = fitting.rfind(" ", len(indent) + 1)
        dash = fitting.rfind("-", len(indent) + 1) + 1
        cut = space if space > width // 3 else dash if dash > width // 3 else width
        lines.append(rest[:cut].rstrip())
        rest = indent + rest[cut:].lstrip()
    return [*lines, rest]


def wrap(line: Line, width: int) -> list[Line]:
    """A line of pieces broken at spaces into lines of at most `width` cells."""
    if width <= 0 or cell_len("".join(piece.text for piece in line)) <= width:
        return [line]
    lines: list[Line] = []
    current: list[Piece] = []
    used = 0
    for word in (Piece(text, piece.style) for piece in line for text in _words(piece.text)):
        size = cell_len(word.text)
        if used and used + cell_len(word.text.rstrip()) > width:
            lines.append(tuple(current))
            current, used = [Piece("  ")], 2
            word = Piece(word.text.lstrip(), word.style)
            size = cell_len(word.text)
        current.append(word)
        used += size
    return [*lines, tuple(current)]


def _words(text: str) -> list[str]:
    """Words with the spaces after them; leading spaces are a word of their own."""
    words: list[str] = []
    for part in text.split(" "):
        words.append(part + " ")
    words[-1] = words[-1][:-1]
    return [word for word in words if word]


def pad(text: str, width: int, *, right: bool) -> str:
    """Exactly `width` cells, shortened with an ellipsis."""
    size = cell_len(text)
    if size > width:
        return set_cell_size(text, max(width - 1, 0)) + ("…" if width else "")
    return " " * (width - size) + text if right else text + " " * (width - size)
