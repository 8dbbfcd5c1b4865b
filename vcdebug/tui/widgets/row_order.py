"""Sorting a column: figures by size, names in natural order, missing values last."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from vcdebug.model.names import IntArray
from vcdebug.views.pieces import SIGNS
from vcdebug.views.table import Table

ASCENDING: Final = "↑"
DESCENDING: Final = "↓"
_UNIT_FACTORS: Final = {
    "": 1.0, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip
_LEADING_SIGNS = f"{''.join(SIGNS)} ≈<>=~"
_MISSING_TEXTS = frozenset(("", "–", "-", "—", "none"))
_FIGURE_PATTERN: Final = re.compile(
    r"^([-+]?[0-9]{1,3}(?: [0-9]{3})+(?:\.[0-9]+)?|[-+]?[0-9]+(?:\.[0-9]+)?)[^\S\n]?([KMGTPE]i|[mkMGTP])?(?![\w.])(.*)$"
    r"|^.*$",
    re.MULTILINE,
)
"""A figure, its unit and the rest of the text; other texts match the last group."""


class ColumnOrder(Struct, frozen=True):
    """A column and a direction."""

    column: int
    descending: bool = False

    @property
    def order_sign(self) -> str:
        """The sign in the head of the column."""
        return DESCENDING if self.descending else ASCENDING


def next_order(order: ColumnOrder | None, column: int) -> ColumnOrder | None:
    """The next order of a column: ascending, descending, then none."""
    if order is None or order.column != column:
        return ColumnOrder(column)
    return None if order.descending else ColumnOrder(column, descending=True)


def mark_order(table: Table, order: ColumnOrder | None) -> Table:
    """The table with a sign in the head of the sorted column."""
    columns = table.columns
    if order is None or order.column >= len(columns):
        return table
    head = replace(columns[order.column], title=f"{columns[order.column].title} {order.order_sign}".strip())
    return replace(table, columns=(*columns[: order.column], head, *columns[order.column + 1 :]))


class ColumnRanks(Struct, frozen=True):
    """The rank of each text of a column: figures by size, then names, then missing values."""

    places: IntArray
    missing: int
    """The rank of missing values."""

    def order_rows(self, indexes: Sequence[int], *, descending: bool) -> list[int]:
        """The rows in order; equal ones keep their order, and missing values are last in both directions."""
        row_indexes = np.asarray(indexes, dtype=np.int64)
        places = self.places[row_indexes]
        if descending:
            # Negated ranks are at most 0, so 1 keeps missing values last.
            places = np.where(places == self.missing, 1, -places)
        # A stable sort: equal texts keep the order of the table.
        ordered: list[int] = row_indexes[np.argsort(places, kind="stable")].tolist()
        return ordered


def rank_texts(texts: Sequence[str]) -> ColumnRanks:
    """Compare the texts of a column once; equal texts are compared together."""
    if not texts:
        return ColumnRanks(np.empty(0, dtype=np.int64), 0)
    distinct = list(dict.fromkeys(texts))
    stripped = [text.strip(_LEADING_SIGNS) for text in distinct]
    # One match for the whole column, joined by line breaks; a text with a line break would count as two.
    parsed = _FIGURE_PATTERN.findall("\n".join(stripped))
    if len(parsed) > len(stripped):
        parsed = _FIGURE_PATTERN.findall("\n".join([text.replace("\n", " ") for text in stripped]))
    figures = [index for index, groups in enumerate(parsed) if groups[0]]
    names = [index for index, groups in enumerate(parsed) if not groups[0] and stripped[index] not in _MISSING_TEXTS]
    missing = len(distinct)
    places = np.full(len(distinct), missing, dtype=np.int64)
    if figures:
        rests = _natural_keys([parsed[index][2] for index in figures])
        sizes = (float(parsed[i][0].replace(" ", "")) * _UNIT_FACTORS[parsed[i][1]] for i in figures)
        # Figures of one size are in the order of the texts behind them.
        places[figures] = _rank_keys(list(zip(sizes, rests, strict=True)))
    places[names] = len(figures) + natural_places([stripped[index] for index in names])
    if len(distinct) < len(texts):
        index_by_text = {text: index for index, text in enumerate(distinct)}
        places = places[[index_by_text[text] for text in texts]]
    return ColumnRanks(places, missing)


# Natural order of names: case and leading zeros are ignored, and numbers sort first, by their size.

_TEXT_SEPARATOR: Final = "\x1f"
_CONTROL_CHARACTERS: Final = dict.fromkeys(range(ord(" ")), " ")
_USUAL_DIGITS: Final = 18


def natural_places(texts: Sequence[str]) -> IntArray:
    """Number of texts that sort before each text in natural order."""
    return _rank_keys(_natural_keys(texts))


def _natural_keys(texts: Sequence[str]) -> list[str]:
    """A text per text; compared character by character, these are in natural order."""
    # Control characters mark numbers and separate texts: in a name, which may have any character, they are spaces.
    if not "".join(texts).isprintable():
        texts = [text.translate(_CONTROL_CHARACTERS) for text in texts]
    # One substitution for the whole column: a call per text takes much longer.
    keys = re.sub("[0-9]+", _number_key, _TEXT_SEPARATOR.join(texts).casefold()).split(_TEXT_SEPARATOR)
    return keys if texts else []


def _number_key(match: re.Match[str]) -> str:
    """The digits of a number padded to the same length, those of a longer number after their count."""
    digits = match[0].lstrip("0")
    return "\0" + digits.zfill(_USUAL_DIGITS) if len(digits) <= _USUAL_DIGITS else f"\1{len(digits):018}{digits}"


def _rank_keys(keys: Sequence[str] | Sequence[tuple[float, str]]) -> IntArray:
    """Number of keys that are smaller than each key."""
    places = [0] * len(keys)
    place, last = 0, None
    for number, index in enumerate(sorted(range(len(keys)), key=keys.__getitem__)):
        if keys[index] != last:
            place, last = number, keys[index]
        places[index] = place
    return np.array(places, dtype=np.int64)
