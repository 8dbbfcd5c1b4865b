"""Sorting a column: figures by size, names in natural order, missing values last."""

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct, structs
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
    head = structs.replace(columns[order.column], title=f"{columns[order.column].title} {order.order_sign}".strip())
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
        places[figures] = _rank_figures([parsed[index] for index in figures])
    places[names] = len(figures) + natural_places([stripped[index] for index in names])
    if len(distinct) < len(texts):
        index_by_text = {text: index for index, text in enumerate(distinct)}
        places = places[[index_by_text[text] for text in texts]]
    return ColumnRanks(places, missing)


def _rank_figures(figures: Sequence[tuple[str, str, str]]) -> IntArray:
    """The rank of each figure; those of one size are ranked by the rest of their texts."""
    sizes = np.array([float(number.replace(" ", "")) * _UNIT_FACTORS[unit] for number, unit, _ in figures])
    rest_ranks = _rank_rests([rest for _, _, rest in figures])
    order = np.lexsort((rest_ranks, sizes))
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (sizes[order][1:] != sizes[order][:-1]) | (rest_ranks[order][1:] != rest_ranks[order][:-1])
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))
    return places


def _rank_rests(rests: Sequence[str]) -> IntArray:
    distinct = list(dict.fromkeys(rests))
    ranks = dict(zip(distinct, natural_places(distinct).tolist(), strict=True))
    return np.array([ranks[rest] for rest in rests], dtype=np.int64)


# Natural order of names. A key function per text would be Python code per row; arrays compare a column at once.

Bytes: TypeAlias = npt.NDArray[np.uint8]
_TEXT_SEPARATOR: Final = "\x1f"
_SEPARATOR: Final = ord(_TEXT_SEPARATOR)
_ZERO, _NINE, _SPACE = b"09 "
_MAX_DIGITS: Final = _SEPARATOR - 2
"""Maximum count that one byte can hold: such bytes must sort before every character of a name."""
_WORD_BYTES: Final = 8
"""Bytes that are compared at once."""
_WORD_MASKS: Final = np.array(
    [(1 << 64) - (1 << 8 * (_WORD_BYTES - left)) for left in range(_WORD_BYTES + 1)], dtype=np.uint64
)
"""Masks for the last word of a text, by the number of bytes left."""


def natural_places(texts: Sequence[str]) -> IntArray:
    """Number of texts that sort before each text; case and leading zeros are ignored, numbers sort first."""
    if not texts:
        return np.empty(0, dtype=np.int64)
    joined = _TEXT_SEPARATOR.join(texts)
    # A text that contains the separator would count as two texts.
    if joined.count(_TEXT_SEPARATOR) >= len(texts):
        joined = _TEXT_SEPARATOR.join([text.replace(_TEXT_SEPARATOR, " ") for text in texts])
    keys = _prefix_numbers(
        np.frombuffer(f"{joined}{_TEXT_SEPARATOR}".casefold().encode("utf-8", "surrogatepass"), np.uint8)
    )
    ends = np.flatnonzero(keys == _SEPARATOR)
    starts = np.concatenate(([0], ends[:-1] + 1))
    return _compare_places(np.concatenate((keys, np.zeros(_WORD_BYTES, dtype=np.uint8))), starts, ends)


def _prefix_numbers(text_bytes: Bytes) -> Bytes:
    """Replace each number by its length and its digits without leading zeros, so that bytes compare like numbers."""
    if (text_bytes < _SEPARATOR).any():
        text_bytes = np.where(text_bytes < _SEPARATOR, _SPACE, text_bytes).astype(np.uint8)
    digits = (text_bytes >= _ZERO) & (text_bytes <= _NINE)
    number_edges = np.flatnonzero(digits[1:] != digits[:-1]) + 1
    if digits[0]:
        number_edges = np.append(0, number_edges)
    starts, ends = number_edges[::2], number_edges[1::2]
    if not len(starts):
        return text_bytes
    nonzero_digits = np.append(np.flatnonzero(digits & (text_bytes != _ZERO)), len(text_bytes))
    firsts = np.minimum(nonzero_digits[np.searchsorted(nonzero_digits, starts)], ends)
    lengths = ends - firsts
    counts = [np.clip(lengths - low, 0, _MAX_DIGITS) + 1 for low in range(0, int(lengths.max()) or 1, _MAX_DIGITS)]
    return _replace_zeros_by_length(text_bytes, starts, firsts, np.stack(counts, axis=1).astype(np.uint8))


def _replace_zeros_by_length(text_bytes: Bytes, starts: IntArray, firsts: IntArray, lengths: Bytes) -> Bytes:
    """Replace the leading zeros of each number by its length."""
    width = lengths.shape[1]
    growth = width - (firsts - starts)
    shifts = np.cumsum(growth)
    result = np.empty(len(text_bytes) + int(shifts[-1]), dtype=np.uint8)
    text_mask = np.ones(len(result), dtype=bool)
    length_starts = firsts + shifts - width
    for offset in range(width):
        result[length_starts + offset] = lengths[:, offset]
        text_mask[length_starts + offset] = False
    has_zeros = firsts > starts
    if has_zeros.any():
        borders = np.zeros(len(text_bytes), dtype=np.int8)
        borders[starts[has_zeros]], borders[firsts[has_zeros]] = 1, -1
        text_bytes = text_bytes[np.cumsum(borders, dtype=np.int8) == 0]
    result[text_mask] = text_bytes
    return result


def _compare_places(keys: Bytes, starts: IntArray, ends: IntArray) -> IntArray:
    """Rank the texts by words of 8 bytes: the first word of all, then the next word of those that are still equal."""
    places = np.zeros(len(starts), dtype=np.int64)
    tied, positions = np.arange(len(starts)), starts
    while len(tied) > 1 and (positions < ends).any():
        words = _words_at(keys, positions, ends)
        positions = positions + _WORD_BYTES
        if (words == words[0]).all():
            continue
        order = np.lexsort((words, places[tied]))
        tied, positions, ends = tied[order], positions[order], ends[order]
        places[tied], is_alone = _split_by_words(places[tied], words[order])
        tied, positions, ends = tied[~is_alone], positions[~is_alone], ends[~is_alone]
    return places


def _split_by_words(places: IntArray, words: npt.NDArray[np.uint64]) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """(places of sorted texts refined by their next words, mask of texts whose place is final)."""
    is_new_place = np.append(True, places[1:] != places[:-1])
    is_new = is_new_place.copy()
    is_new[1:] |= words[1:] != words[:-1]
    index = np.arange(len(places))
    word_start, place_start = (np.maximum.accumulate(np.where(starts, index, 0)) for starts in (is_new, is_new_place))
    return places + word_start - place_start, is_new & np.append(is_new[1:], True)


def _words_at(keys: Bytes, positions: IntArray, ends: IntArray) -> npt.NDArray[np.uint64]:
    """The next 8 bytes of each text as one number, with zeros after its end."""
    windows = np.lib.stride_tricks.sliding_window_view(keys, _WORD_BYTES)
    words = windows[np.minimum(positions, len(windows) - 1)].view(">u8")[:, 0].astype(np.uint64)
    masked: npt.NDArray[np.uint64] = words & _WORD_MASKS[np.clip(ends - positions, 0, _WORD_BYTES)]
    return masked
