"""The rows that a table shows: filtered and sorted, a slice at a time where there are many."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Final, Literal, overload

from msgspec import Struct

from vcdebug.linear_pattern import PatternError, TextSearch
from vcdebug.tui.widgets.row_order import ColumnOrder, ColumnRanks, rank_texts
from vcdebug.views.table import Row, RowsOnDemand, position_of

ROWS_AT_ONCE: Final = 400
"""Rows whose text is made before the first result."""
SLICE_SECONDS: Final = 0.02
"""Seconds of work between two keys."""
SHOWING_SECONDS: Final = 0.1
"""Seconds between two times that the rows found so far are shown, which costs more than a slice."""
ROWS_PER_TEST: Final = 1_000
"""Number of rows that are tested between two checks of the time."""
ROWS_PER_CHECK: Final = 64
"""Number of rows that are made between two checks of the time."""


class RowTexts:
    """The text of each row, made in slices: a row of a large table is only built on demand."""

    __slots__ = ("original_texts", "lowered_texts", "rows")

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.original_texts: list[str] = []
        self.lowered_texts: list[str] = []

    @property
    def is_done(self) -> bool:
        """Whether the text of every row is made."""
        return len(self.original_texts) >= len(self.rows)

    def write_all(self, row_count: int) -> None:
        """Make the texts of the rows up to this number."""
        for index in range(len(self.original_texts), min(row_count, len(self.rows))):
            self._write_row(index)

    def write_slice(self) -> None:
        """Make texts for SLICE_SECONDS."""
        deadline = perf_counter() + SLICE_SECONDS
        while not self.is_done and perf_counter() < deadline:
            self.write_all(len(self.original_texts) + ROWS_PER_CHECK)

    def _write_row(self, index: int) -> None:
        # A search visits every row once: rows made on demand would otherwise all stay in the cache.
        row = self.rows.fresh_row(index) if isinstance(self.rows, RowsOnDemand) else self.rows[index]
        text = CELL_SEPARATOR.join([*(cell.text for cell in row.cells), *row.also_found])
        self.original_texts.append(text)
        self.lowered_texts.append(text.lower())

    def column_texts(self, column: int) -> list[str]:
        """The texts of one column; only valid when all rows are made."""
        rows = (text.split(CELL_SEPARATOR, column + 1) for text in self.original_texts)
        return [cells[column] if column < len(cells) else "" for cells in rows]


class FilterHits:
    """The rows that pass a filter, among those whose text is made."""

    __slots__ = ("filter", "indexes", "searched_count", "texts")

    def __init__(self, texts: RowTexts, row_filter: RowFilter, earlier: FilterHits | None = None) -> None:
        self.texts = texts
        self.filter = row_filter
        self.indexes: list[int] = []
        self.searched_count = 0
        # A further letter narrows the filter: only rows that passed so far are tested again.
        if earlier is not None and earlier.texts is texts and row_filter.is_narrower_than(earlier.filter):
            self._check_rows(earlier.indexes)
            self.searched_count = earlier.searched_count
        self.check_written()

    def check_written(self) -> None:
        """Test further rows whose text is made, for SLICE_SECONDS: an expression takes that long for 5,000 rows."""
        deadline = perf_counter() + SLICE_SECONDS
        while self.searched_count < len(self.texts.original_texts):
            end = min(self.searched_count + ROWS_PER_TEST, len(self.texts.original_texts))
            self._check_rows(range(self.searched_count, end))
            self.searched_count = end
            if perf_counter() > deadline:
                break

    def _check_rows(self, indexes: Sequence[int]) -> None:
        if not self.filter.body and not self.filter.inverse:
            self.indexes.extend(indexes)
            return
        texts = self.texts.original_texts if self.filter.matches_case else self.texts.lowered_texts
        self.indexes.extend([indexes[place] for place in self.filter.find([texts[index] for index in indexes])])


class PickedRows(Sequence[Row]):
    """Some rows of a table, by index."""

    __slots__ = ("_ascending", "indexes", "rows")

    def __init__(self, rows: Sequence[Row], indexes: Sequence[int], *, ascending: bool = True) -> None:
        self.rows = rows
        self.indexes = indexes
        self._ascending = ascending

    def __len__(self) -> int:
        return len(self.indexes)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self.rows[row_index] for row_index in self.indexes[index]]
        return self.rows[self.indexes[index]]

    def row_position(self, key: str) -> int:
        """The index of the row with a key; -1 if it is not among them."""
        index = position_of(self.rows, key)
        if index < 0:
            return -1
        # Without an order the indexes ascend, so that the row is found by halving.
        if self._ascending:
            position = bisect_left(self.indexes, index)
            return position if position < len(self.indexes) and self.indexes[position] == index else -1
        return next((position for position, row_index in enumerate(self.indexes) if row_index == index), -1)


class ShownRows:
    """The shown rows of a table and their order; large tables are filtered in slices."""

    __slots__ = ("_filter_hits", "_ranks", "_shown_at", "_texts", "filter", "filter_text", "order", "rows")

    def __init__(self) -> None:
        self.rows: Sequence[Row] = ()
        self.filter_text = ""
        self.filter: RowFilter | None = None
        self.order: ColumnOrder | None = None
        self._texts = RowTexts(())
        self._ranks: dict[int, ColumnRanks] = {}
        self._filter_hits: FilterHits | None = None
        self._shown_at = 0.0

    @property
    def is_done(self) -> bool:
        """Whether all rows are filtered and sorted."""
        hits = self._filter_hits
        return hits is None or (self._texts.is_done and hits.searched_count == len(self._texts.rows))

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Take the rows of another table, or of the same one at another event."""
        # Texts and ranks are cached by the identity of the rows, which the grid keeps where they are equal.
        if self._texts.rows is not rows:
            self._texts, self._filter_hits = RowTexts(rows), None
            self._ranks.clear()
        self._apply_filter()

    def set_filter(self, text: str) -> None:
        """Filter the rows by the text."""
        self.filter_text = text
        self.filter = parse_filter(text) if text else None
        self._apply_filter()

    def set_order(self, order: ColumnOrder | None) -> None:
        """Sort by a column; None restores the original order."""
        self.order = order
        self._apply_filter()

    def check_more(self) -> bool:
        """Filter further rows for SLICE_SECONDS; returns whether it is time to show them."""
        if self._filter_hits is not None:
            self._texts.write_slice()
            self._filter_hits.check_written()
            self.rows = self._picked_rows(self._filter_hits)
        is_due = self.is_done or perf_counter() > self._shown_at + SHOWING_SECONDS
        self._shown_at = perf_counter() if is_due else self._shown_at
        return is_due

    def row_position(self, key: str) -> int:
        """The index of the row with a key; -1 if it is not shown."""
        rows = self.rows
        return rows.row_position(key) if isinstance(rows, PickedRows) else position_of(rows, key)

    def _apply_filter(self) -> None:
        self._shown_at = perf_counter()
        if self.filter is None and self.order is None:
            self._filter_hits, self.rows = None, self._texts.rows
            return
        self._texts.write_all(ROWS_AT_ONCE)
        self._filter_hits = FilterHits(self._texts, self.filter or parse_filter(""), self._filter_hits)
        self.rows = self._picked_rows(self._filter_hits)

    def _picked_rows(self, hits: FilterHits) -> PickedRows:
        """The rows that pass; unsorted until all rows are tested."""
        rows, order = self._texts.rows, self.order
        if self.is_done and order is not None:
            ranks = self._column_ranks(order.column)
            return PickedRows(rows, ranks.order_rows(hits.indexes, descending=order.descending), ascending=False)
        return PickedRows(rows, hits.indexes if self.filter is not None else range(len(rows)))

    def _column_ranks(self, column: int) -> ColumnRanks:
        """The ranks of a column, cached while the rows are the same."""
        if column not in self._ranks:
            self._ranks[column] = rank_texts(self._texts.column_texts(column))
        return self._ranks[column]


# Filters as typed after `/`: an expression, `!` inverts, `~` is fuzzy, an upper-case letter makes case matter.

CELL_SEPARATOR: Final = "\t"
"""Separates the cells in the text of a row."""
PLAIN_TEXT_NOTE: Final = "taken as plain text"
_SPECIAL_SIGNS = re.compile(r"[\\^$.|?*+()\[\]{}]")
_ESCAPED = re.compile(r"\\.")
_FOLLOWING_SIGNS = re.compile(r"[A-Za-z0-9 ._/:-]*")
"""Signs of an expression that stand for one character, whatever is before them."""


class RowFilter(Struct, frozen=True):
    """A predicate over the text of a row."""

    body: str
    kind: Literal["plain", "expression", "fuzzy"]
    inverse: bool
    matches_case: bool
    """Whether case matters; else the text is lowered before the test."""
    search: TextSearch | Callable[[str], bool]
    """Finds texts with the body, or tests one."""
    note: str = ""

    def find(self, texts: Sequence[str]) -> Sequence[int]:
        """The indexes of the texts that pass."""
        if isinstance(self.search, TextSearch):
            found = self.search.find(texts)
        else:
            found = [index for index, text in enumerate(texts) if self.search(text)]
        if not self.inverse:
            return found
        excluded = frozenset(found)
        return [index for index in range(len(texts)) if index not in excluded]

    def is_narrower_than(self, earlier: RowFilter) -> bool:
        """Whether every row that passes this one passes the earlier one too."""
        if self.inverse or earlier.inverse or self.kind != earlier.kind or self.matches_case != earlier.matches_case:
            return False
        if self.kind == "plain":
            return earlier.body in self.body
        if not self.body.startswith(earlier.body):
            return False
        # A match of the longer expression begins with one of the shorter, whose escapes might go on.
        is_longer = "\\" not in earlier.body and _FOLLOWING_SIGNS.fullmatch(self.body, len(earlier.body)) is not None
        return self.kind == "fuzzy" or is_longer


def parse_filter(text: str) -> RowFilter:
    """The filter of a typed line; an invalid expression becomes plain text, with a note."""
    inverse = text.startswith("!")
    body = text[1:] if inverse else text
    fuzzy = body.startswith(("~", "-f "))
    if fuzzy:
        body = body.removeprefix("~").removeprefix("-f ").strip()
    cased = any(letter.isupper() for letter in _ESCAPED.sub("", body))
    if fuzzy:
        return RowFilter(body, "fuzzy", inverse, cased, partial(_holds_letters, body.replace(" ", "")))
    if not _SPECIAL_SIGNS.search(body):
        return _plain_filter(body, inverse, cased)
    try:
        # Not `re`: a typed pattern could backtrack for minutes.
        search = TextSearch(body.replace("\\ ", " ").replace(" ", r"\s"), cased=cased)
    except PatternError:
        return _plain_filter(body, inverse, cased, PLAIN_TEXT_NOTE)
    return RowFilter(body, "expression", inverse, cased, search)


def _holds_letters(letters: str, text: str) -> bool:
    """Whether the text contains the letters in this order, not necessarily adjacent."""
    # `in` consumes the iterator up to the letter, so each search starts after the last one.
    remaining = iter(text)
    return all(letter in remaining for letter in letters)


def _plain_filter(body: str, inverse: bool, cased: bool, note: str = "") -> RowFilter:
    """A filter for plain text, in which a space also matches the separator of two cells."""
    if " " in body:
        pattern = re.compile(re.escape(body).replace("\\ ", r"\s"))
        return RowFilter(body, "plain", inverse, cased, lambda text: pattern.search(text) is not None, note)
    return RowFilter(body, "plain", inverse, cased, lambda text: body in text, note)
