"""How wide the columns of a table want to be, how narrow they may get, and who gives way to whom."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.tui.widgets.text_wrap import measure_cells
from vcdebug.views.table import Column, Row, RowsOnDemand

COLUMN_GAP = 2
GUTTER_WIDTH = 2
MIN_FLEXIBLE_WIDTH = 8
MAX_WORD_WIDTH = 40
SAMPLED_ROWS = 100
SAMPLE_JITTER = 7
"""Distances between sampled rows differ by so many, since rows of several kinds may take turns."""


def line_width(widths: Sequence[int], gap: int = COLUMN_GAP) -> int:
    """The cells of a line, the mark before it included."""
    return GUTTER_WIDTH + sum(widths) + gap * max(len(widths) - 1, 0)


def sample_rows(rows: Sequence[Row]) -> list[Row]:
    """Some rows of each kind: a large table is not looked through for its widths."""
    step = max(1, len(rows) // SAMPLED_ROWS)
    apart = min(step, SAMPLE_JITTER)
    return [rows[index + number % apart] for number, index in enumerate(range(0, len(rows) - apart + 1, step))]


def natural_widths(
    columns: Sequence[Column], heads: Sequence[str], rows: Sequence[Row], shared: Sequence[str]
) -> list[int]:
    """Cells in which nothing has to wrap."""
    widths = [max(measure_cells(part) for part in head.split("\n")) for head in heads]
    widths = [max(width, 0 if one.flexible else one.least) for width, one in zip(widths, columns, strict=True)]
    looked_at = sample_rows(rows)
    for row in looked_at:
        for i, cell in enumerate(row.cells):
            size = measure_cells(cell.text)
            if shared[i] and cell.text.startswith(shared[i]):
                size -= len(shared[i])
            widths[i] = max(widths[i], size)
    if isinstance(rows, RowsOnDemand) and len(rows) > len(looked_at):
        _widen_names(widths, columns, rows, looked_at, shared)
    return widths


def _widen_names(
    widths: list[int], columns: Sequence[Column], rows: RowsOnDemand, looked_at: Sequence[Row], shared: Sequence[str]
) -> None:
    """Rows that nobody has made yet are known by their keys: where these are the names, the longest counts."""
    for i, column in enumerate(columns):
        if column.name and all(row.cells[i].text == row.key for row in looked_at):
            cut = shared[i]
            names = [key.removeprefix(cut) for key in rows.keys] if cut else rows.keys
            widths[i] = max(widths[i], max(map(len, names), default=0))


def min_widths(
    columns: Sequence[Column], heads: Sequence[str], rows: Sequence[Row], natural: Sequence[int]
) -> list[int]:
    """No column that wraps gets narrower than its longest word, head included; names do not wrap."""
    return [
        natural[i]
        if column.name and not column.flexible
        else max(
            [
                MIN_FLEXIBLE_WIDTH,
                column.least,
                head_min_width(heads[i]),
                *(_longest_word(row.cells[i].text) for row in rows),
            ]
        )
        if column.flexible
        else 0
        for i, column in enumerate(columns)
    ]


def head_min_width(head: str) -> int:
    """The longest word of a head."""
    return max((measure_cells(word) for word in head.split()), default=0)


def _longest_word(text: str) -> int:
    """The longest word."""
    return min(max((measure_cells(word) for word in text.split()), default=0), MAX_WORD_WIDTH)


def fit_widths(columns: Sequence[Column], natural: list[int], least: list[int], width: int, gap: int) -> list[int]:
    """Take from the widest flexible column until the row fits; names give way last."""
    widths = list(natural)
    excess = sum(widths) + gap * max(len(widths) - 1, 0) - width
    while excess > 0:
        candidates = [i for i, column in enumerate(columns) if column.flexible and widths[i] > least[i]]
        candidates = [i for i in candidates if not columns[i].name] or candidates
        if not candidates:
            break
        widest = max(candidates, key=lambda i: widths[i])
        rival = max((widths[i] for i in candidates if i != widest), default=0)
        cut = max(1, min(excess, widths[widest] - max(rival, least[widest])))
        widths[widest] -= cut
        excess -= cut
    return widths
