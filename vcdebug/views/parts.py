"""Tables inside a page: a small table as lines that stand above the page's own rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from vcdebug.views.base import Column, Line, Piece, Table, pad_cells

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
