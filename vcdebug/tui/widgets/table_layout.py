"""Where a table's text goes: column widths, wrapped lines, rows over several lines, and which row each line shows.

A table that is wider than its place loses nothing: a namespace that all names share goes into the head, long text
wraps, columns that repeat what is visible elsewhere are omitted, and the rest is printed below the beginning of its
row, under a second line of heads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vcdebug.tui.widgets.text_wrap import (
    COLUMN_GAP,
    GUTTER_WIDTH,
    MIN_FLEXIBLE_WIDTH,
    TreeRoom,
    fit_widths,
    head_min_width,
    line_width,
    measure_cells,
    min_widths,
    natural_widths,
    sample_rows,
    spread_cells,
    wrap_line,
    wrap_text,
)
from vcdebug.views.pieces import Line, Piece
from vcdebug.views.table import Column, Row, Table

INDENT_CELLS = 4
"""Indent of a row's further lines."""
MAX_WRAPPED_ROWS = 400
"""Rows up to which a table wraps long text; a larger one shortens it, so that all rows have equal heights."""
MAX_ANSWER_LINES = 2
"""Lines beyond which a long answer moves below its row, over the whole width."""
MIN_TREE_SHARE = 16
"""Width that the second column of a tree gets, if names allow it."""
MIN_TREE_WORDS = 8
"""Width below which the second column of a tree shows signs only."""
UNBROKEN_WIDTH = 12
"""Width up to which breaking a text is avoided."""
EMPTY_CELLS = ("", "–")
"""Excess cells that do not begin a further line."""


class LineBand(NamedTuple):
    """One line of each row: its columns, and their widths."""

    columns: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()
    gap: int = COLUMN_GAP
    headed: bool = True
    """Whether the columns have their heads in this line."""


class PlacedLine(NamedTuple):
    """One line on the screen."""

    row: int
    """Index among the shown rows; -1 for heads and other lines."""
    cells: tuple[Piece, ...]
    """One piece per column of the band; for other lines the pieces of the text."""
    heads: bool = False
    first: bool = True
    """Whether it is the first line of its row."""
    band: int = 0
    """Index of its band; below 0 for a line of free text."""
    widths: tuple[int, ...] = ()
    """Widths of the pieces, where they differ from the columns; there are no gaps then."""


class TableLayout(NamedTuple):
    """A table laid out for one width."""

    bands: tuple[LineBand, ...]
    top: tuple[PlacedLine, ...]
    body: tuple[PlacedLine, ...]
    """The lines of the first rows, which wrap; of all rows in a small table."""
    bottom: tuple[PlacedLine, ...]
    rows: int
    wrapped: int = 0
    """How many rows wrap; each further one takes a line per band."""
    shared: tuple[str, ...] = ()
    """The shared namespace of each column, which is shown in its head alone."""
    tree: TreeRoom | None = None
    """The room of a tree's rows; None for other tables."""

    @property
    def body_size(self) -> int:
        """Lines of the rows."""
        return len(self.body) + (self.rows - self.wrapped) * len(self.bands)

    @property
    def total_lines(self) -> int:
        """Lines in all."""
        return len(self.top) + self.body_size + len(self.bottom)

    @property
    def columns_width(self) -> int:
        """Cells that the columns take."""
        return max(
            _band_ends(band, number)[-1] if band.columns else GUTTER_WIDTH for number, band in enumerate(self.bands)
        )

    @property
    def column_ends(self) -> list[int]:
        """The cell at which the last column with text ends."""
        return [end for number, band in enumerate(self.bands) for end in _band_ends(band, number)]

    def next_column(self, column: int, by: int) -> int:
        """The next visible column to the right or left; `column` itself where there is none."""
        onward = [i for band in self.bands for i in band.columns if (i - column) * by > 0]
        return min(onward, key=lambda i: abs(i - column), default=column)

    @property
    def left_out_columns(self) -> list[int]:
        """The columns that are left out."""
        placed = {i for band in self.bands for i in band.columns}
        return [i for i in range(len(self.shared)) if self.rows and i not in placed]

    @property
    def head_lines(self) -> int:
        """Lines of the heads, which stay in sight."""
        return len([placed for placed in self.top if placed.heads])

    def first_line_of(self, row: int) -> int:
        """The first line of a row."""
        if row >= self.wrapped:
            return len(self.top) + len(self.body) + (row - self.wrapped) * len(self.bands)
        return len(self.top) + next((i for i, placed in enumerate(self.body) if placed.row == row), 0)

    def line_count(self, row: int) -> int:
        """How many lines a row takes."""
        if row >= self.wrapped:
            return len(self.bands)
        return len([placed for placed in self.body if placed.row == row])

    def column_span(self, column: int) -> tuple[int, int]:
        """Where a column begins, and its width."""
        for number, band in enumerate(self.bands):
            if column in band.columns:
                width = band.widths[band.columns.index(column)]
                return _band_ends(band, number)[band.columns.index(column)] - width, width
        return 0, 1

    def placed_line(self, index: int, row: Row, band: int) -> PlacedLine:
        """One line of a row that takes as many lines as there are bands."""
        if self.tree is not None:
            cells, widths = spread_cells(row.cells, self.tree)
            return PlacedLine(index, cells, widths=widths)
        cells = tuple(_without_prefix(row.cells[i], self.shared[i]) for i in self.bands[band].columns)
        return PlacedLine(index, cells, first=band == 0, band=band)


def unfold_row(
    layout: TableLayout, columns: Sequence[Column], index: int, row: Row, width: int
) -> tuple[PlacedLine, ...]:
    """The lines of a row in full; empty where its usual lines shorten and omit nothing."""
    if layout.tree is not None:
        return ()
    if index < layout.wrapped:
        lines = [placed for placed in layout.body if placed.row == index]
    else:
        lines = [
            line for number in range(len(layout.bands)) for line in _full_lines(layout, columns, index, row, number)
        ]
    lines += [PlacedLine(index, line, first=False, band=-1) for line in _left_out_lines(layout, columns, row, width)]
    return tuple(lines) if len(lines) > layout.line_count(index) else ()


def _full_lines(
    layout: TableLayout, columns: Sequence[Column], index: int, row: Row, number: int
) -> Iterator[PlacedLine]:
    """The lines that the cells of one band take."""
    band = layout.bands[number]
    cells = layout.placed_line(index, row, number).cells
    wrapped = _wrapped_cells(cells, [columns[i] for i in band.columns], band.widths)
    yield from (PlacedLine(index, line, first=not (number or at), band=number) for at, line in enumerate(wrapped))


def _left_out_lines(layout: TableLayout, columns: Sequence[Column], row: Row, width: int) -> list[Line]:
    """The texts of the omitted columns, each after its head."""
    pieces: list[Piece] = []
    for i in layout.left_out_columns:
        if row.cells[i].text not in EMPTY_CELLS:
            head = f"{columns[i].title} " if columns[i].title else ""
            pieces += [Piece(f"  {head}" if pieces else head, "muted"), row.cells[i]]
    return wrap_line(tuple(pieces), width - GUTTER_WIDTH - INDENT_CELLS) if pieces else []


def _band_ends(band: LineBand, number: int) -> list[int]:
    start = GUTTER_WIDTH + (INDENT_CELLS if number else 0)
    return [start + sum(band.widths[: i + 1]) + band.gap * i for i in range(len(band.widths))]


def lay_out(table: Table, rows: Sequence[Row], width: int) -> TableLayout:
    """Lay the table out for `width` cells."""
    measured = _MeasuredTable(table, rows, [column.title for column in table.columns])
    if table.one_line:
        return _lay_out_tree(measured, width)
    if line_width(measured.natural) > width:
        shared = _shared_namespaces(table, rows)
        measured = _MeasuredTable(
            table, rows, [_fold_head(column, common) for column, common in _columns_with_shared(table, shared)], shared
        )
    found = _side_by_side(measured, width)
    if found is None:
        below = _answers_below(measured, width) if measured.wraps else None
        below = below or _without_spare_columns(measured, width)
        return below or measured.lay_out_bands(_pack_bands(measured, width), width)
    if found.wrapped == len(rows) and _tallest_row(found.body) > MAX_ANSWER_LINES:
        below = _answers_below(measured, width)
        found = below if below is not None and below.total_lines <= found.total_lines else found
    return found


def natural_width(table: Table, rows: Sequence[Row]) -> int:
    """The width at which every column fits in one line."""
    heads = [_fold_head(column, "") for column in table.columns]
    return line_width(natural_widths(table.columns, heads, rows, [""] * len(heads)))


class _MeasuredTable:
    """A table with the measured widths of its columns."""

    def __init__(self, table: Table, rows: Sequence[Row], heads: Sequence[str], shared: Sequence[str] = ()) -> None:
        self.table = table
        self.rows = rows
        self.heads = heads
        self.shared = tuple(shared) or ("",) * len(table.columns)
        self.wraps = table.wraps and len(rows) <= MAX_WRAPPED_ROWS
        self.natural = natural_widths(table.columns, heads, rows, self.shared)
        self._wrapped_rows = rows if self.wraps else ()
        self.least = min_widths(table.columns, heads, self._wrapped_rows, self.natural)
        self.unbroken = [
            max(
                [
                    least,
                    *(
                        size
                        for row in self._wrapped_rows
                        if (size := measure_cells(row.cells[i].text)) <= UNBROKEN_WIDTH
                    ),
                ]
            )
            for i, least in enumerate(self.least)
        ]
        """The least widths at which short texts, such as a sign with a number, stay in one line."""

    def lay_out_bands(self, bands: tuple[LineBand, ...], width: int) -> TableLayout:
        """The lines for these bands."""
        table = self.table
        top = [PlacedLine(-1, line) for entry in table.head for line in wrap_line(entry, width)]
        top += _head_lines(self.heads, bands) if len(self.rows) else []
        bottom = tuple(PlacedLine(-1, line) for entry in table.foot for line in wrap_line(entry, width))
        wrapped = len(self.rows) if self.wraps else min(table.legend, len(self.rows))
        body = tuple(self._body_lines(bands, wrapped))
        return TableLayout(bands, tuple(top), body, bottom, len(self.rows), wrapped, self.shared)

    def _body_lines(self, bands: tuple[LineBand, ...], wrapped: int) -> Iterator[PlacedLine]:
        for index, row in enumerate(self.rows[:wrapped] if wrapped < len(self.rows) else self.rows):
            first = True
            for number, line in self._row_lines(row, bands):
                yield PlacedLine(index, line, first=first, band=number)
                first = False

    def _row_lines(self, row: Row, bands: tuple[LineBand, ...]) -> Iterator[tuple[int, tuple[Piece, ...]]]:
        cells = [_without_prefix(cell, self.shared[i]) for i, cell in enumerate(row.cells)]
        if not bands[-1].headed:
            yield from self._with_answer_below(cells, bands)
            return
        for number, band in enumerate(bands):
            if not number or any(cells[i].text not in EMPTY_CELLS for i in band.columns):
                yield from ((number, line) for line in self._wrap_band(cells, band))

    def _with_answer_below(
        self, cells: list[Piece], bands: tuple[LineBand, ...]
    ) -> Iterator[tuple[int, tuple[Piece, ...]]]:
        """The lines of a long answer below its row, over the whole width."""
        (last,) = bands[-1].columns
        room = bands[0].widths[bands[0].columns.index(last)]
        answer = cells[last]
        below = len(wrap_text(answer.text, room)) > MAX_ANSWER_LINES if room else bool(answer.text)
        if below:
            cells = [*cells[:last], Piece(""), *cells[last + 1 :]]
        yield from ((0, line) for line in self._wrap_band(cells, bands[0]))
        if below:
            yield from ((1, (Piece(text, answer.style),)) for text in wrap_text(answer.text, bands[1].widths[0]))

    def _wrap_band(self, cells: Sequence[Piece], band: LineBand) -> list[tuple[Piece, ...]]:
        columns = [self.table.columns[i] for i in band.columns]
        return _wrapped_cells(tuple(cells[i] for i in band.columns), columns, band.widths)


def _columns_with_shared(table: Table, shared: Sequence[str]) -> Iterator[tuple[Column, str]]:
    return zip(table.columns, shared, strict=True)


def _lay_out_tree(measured: _MeasuredTable, width: int) -> TableLayout:
    """The layout of a tree: it shortens outcomes, then reduces the indent, then shows signs only."""
    natural, columns = measured.natural, measured.table.columns
    number = natural[2] + COLUMN_GAP
    room = width - GUTTER_WIDTH - number
    second = min(natural[1], max(MIN_TREE_SHARE, room - COLUMN_GAP - natural[0]))
    close = natural[0] > room - COLUMN_GAP - second
    if close:
        number, room = number - 1, room + 1
    second = min(second, max(room - 1 - min(columns[0].least, natural[0]), columns[1].least))
    words = second >= min(natural[1], MIN_TREE_WORDS)
    start = max(room - (second if words else 1), 1)
    found = measured.lay_out_bands((LineBand((0, 1, 2), (start, max(room - start, 0), number), 0),), width)
    return found._replace(tree=TreeRoom(width - GUTTER_WIDTH, start, number, close, words))


def _side_by_side(measured: _MeasuredTable, width: int, kept: Sequence[int] = ()) -> TableLayout | None:
    """A layout of one line per row, with smaller gaps or broken words if needed; None where it does not fit."""
    shown = kept or range(len(measured.table.columns))
    columns, natural = [measured.table.columns[i] for i in shown], [measured.natural[i] for i in shown]
    shortens = not measured.wraps and line_width(natural) > width
    for least in (measured.unbroken, measured.least):
        for gap in (COLUMN_GAP - 1,) if shortens else (COLUMN_GAP, COLUMN_GAP - 1):
            widths = fit_widths(columns, natural, [least[i] for i in shown], width - GUTTER_WIDTH, gap)
            if line_width(widths, gap) <= width:
                return measured.lay_out_bands((LineBand(tuple(shown), tuple(widths), gap),), width)
    return None


def _without_spare_columns(measured: _MeasuredTable, width: int) -> TableLayout | None:
    """Sets of columns for one line, without those that the row shows elsewhere; larger sets first."""
    columns = measured.table.columns
    for least in sorted({column.spare for column in columns if column.spare}, reverse=True):
        kept = [i for i, column in enumerate(columns) if column.spare < least]
        found = _side_by_side(measured, width, kept)
        if found is not None:
            return found
    return None


def _answers_below(measured: _MeasuredTable, width: int) -> TableLayout | None:
    """A column that explains gives its room to the others, and long answers are printed below their rows: the last such

    column, unless it leaves others tall and another one does better.
    """
    columns = measured.table.columns
    explains = [i for i, column in enumerate(columns) if column.flexible and column.explains and not column.name]
    if not explains or len(columns) == 1:
        return None
    found = _answer_below(measured, width, explains[-1])
    if found is None or len(explains) == 1 or _tallest_row(found.body) <= MAX_ANSWER_LINES + 1:
        return found
    others = (_answer_below(measured, width, i) for i in explains[:-1])
    return min([found, *(each for each in others if each is not None)], key=lambda each: each.total_lines)


def _answer_below(measured: _MeasuredTable, width: int, last: int) -> TableLayout | None:
    columns = measured.table.columns
    for whole in (measured.unbroken, measured.least):
        least = [*whole[:last], max(MIN_FLEXIBLE_WIDTH, head_min_width(measured.heads[last])), *whole[last + 1 :]]
        natural = [*measured.natural[:last], max(width // 3, MIN_FLEXIBLE_WIDTH), *measured.natural[last + 1 :]]
        for gap in (COLUMN_GAP, COLUMN_GAP - 1):
            widths = fit_widths(columns, natural, least, width - GUTTER_WIDTH, gap)
            rest = width - line_width(widths, gap)
            if rest >= 0:
                widths[last] = min(widths[last] + rest, measured.natural[last])
                below = LineBand((last,), (width - GUTTER_WIDTH - INDENT_CELLS,), headed=False)
                return measured.lay_out_bands((LineBand(tuple(range(len(widths))), tuple(widths), gap), below), width)
    return None


def _pack_bands(measured: _MeasuredTable, width: int) -> tuple[LineBand, ...]:
    """Bands of columns; each holds as many as fit at their least widths."""
    groups: list[list[int]] = [[]]
    used = GUTTER_WIDTH
    gap = COLUMN_GAP - 1
    for index, column in enumerate(measured.table.columns):
        need = measured.least[index] if column.flexible or column.name else measured.natural[index]
        if groups[-1] and used + need > width:
            groups.append([])
            used = GUTTER_WIDTH + INDENT_CELLS
        groups[-1].append(index)
        used += need + gap
    return tuple(
        _make_band(measured, group, width - GUTTER_WIDTH - (INDENT_CELLS if number else 0))
        for number, group in enumerate(groups)
    )


def _make_band(measured: _MeasuredTable, group: Sequence[int], room: int) -> LineBand:
    """One line of each row, as wide as there is room for."""
    columns = [measured.table.columns[i] for i in group]
    natural, least = [measured.natural[i] for i in group], [measured.least[i] for i in group]
    widths = fit_widths(columns, natural, least, room, COLUMN_GAP)
    gap = COLUMN_GAP if sum(widths) + COLUMN_GAP * (len(widths) - 1) <= room else COLUMN_GAP - 1
    widths = fit_widths(columns, natural, least, room, gap)
    if len(widths) == 1 and (columns[0].flexible or columns[0].name):
        widths = [min(widths[0], max(room, 1))]
    return LineBand(tuple(group), tuple(widths), gap)


def _tallest_row(body: Sequence[PlacedLine]) -> int:
    return max(Counter(placed.row for placed in body).values(), default=0)


def _shared_namespaces(table: Table, rows: Sequence[Row]) -> tuple[str, ...]:
    """The namespace that the sampled names of a column share; other names keep theirs."""
    return tuple(
        _common_namespace([row.cells[i].text for row in sample_rows(rows)]) if column.name else ""
        for i, column in enumerate(table.columns)
    )


def _common_namespace(names: Sequence[str]) -> str:
    first = next((name for name in names if name.strip()), "")
    space, slash, _ = first.partition("/")
    common = space + slash
    return common if slash and all(name.startswith(common) for name in names if name.strip()) else ""


def _without_prefix(piece: Piece, shared: str) -> Piece:
    return Piece(piece.text.removeprefix(shared), piece.style) if shared else piece


def _fold_head(column: Column, shared: str) -> str:
    """The head's text, with the shared namespace; several words over narrow figures take two lines."""
    if shared:
        return f"{column.title} in {shared.rstrip('/')}"
    words = column.title.split(" ")
    if column.flexible or len(words) == 1:
        return column.title
    halves = [(" ".join(words[:i]), " ".join(words[i:])) for i in range(1, len(words))]
    return "\n".join(min(halves, key=lambda half: max(map(measure_cells, half))))


def _head_lines(heads: Sequence[str], bands: tuple[LineBand, ...]) -> list[PlacedLine]:
    """The heads, aligned to the rows below them."""
    headed = [(number, band) for number, band in enumerate(bands) if band.headed]
    return [
        line
        for number, band in headed
        for line in _band_heads(
            [_break_head(heads[i], w) for i, w in zip(band.columns, band.widths, strict=True)], number
        )
    ]


def _break_head(head: str, width: int) -> list[str]:
    """A head in lines no wider than its column, as far as its words allow."""
    lines = [""]
    for part in head.split("\n"):
        first, *rest = part.split(" ")
        lines.append(first)
        for word in rest:
            if measure_cells(lines[-1]) + 1 + measure_cells(word) <= width:
                lines[-1] += f" {word}"
            else:
                lines.append(word)
    return lines[1:]


def _band_heads(parts: Sequence[list[str]], band: int) -> list[PlacedLine]:
    if not any(any(part) for part in parts):
        return []
    height = max((len(part) for part in parts), default=0)
    lines = zip(*([""] * (height - len(part)) + part for part in parts), strict=True)
    return [PlacedLine(-1, tuple(Piece(text, "muted") for text in line), heads=True, band=band) for line in lines]


def _wrapped_cells(
    cells: tuple[Piece, ...], columns: Sequence[Column], widths: Sequence[int]
) -> list[tuple[Piece, ...]]:
    if all(measure_cells(cell.text) <= width for cell, width in zip(cells, widths, strict=True)):
        return [cells]
    parts = [
        wrap_text(cell.text, width) if column.flexible else [cell.text]
        for cell, column, width in zip(cells, columns, widths, strict=True)
    ]
    height = max(len(part) for part in parts)
    return [
        tuple(Piece(part[i] if i < len(part) else "", cell.style) for part, cell in zip(parts, cells, strict=True))
        for i in range(height)
    ]
