"""Sorting a column: figures by size, names in natural order, missing values last."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

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


class ColumnOrder(NamedTuple):
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


class ColumnRanks(NamedTuple):
    """The rank of each text of a column: figures by size, then names, then missing values."""

    places: IntArray
    missing: int
    """The rank of missing values."""

    def order_rows(self, indexes: Sequence[int], *, descending: bool) -> list[int]:
        """The rows in order; equal ones keep their order, and missing values are last in both directions."""
        chosen = np.asarray(indexes, dtype=np.int64)
        places = self.places[chosen]
        if descending:
            # Negated ranks are at most 0, so 1 keeps missing values last.
            places = np.where(places == self.missing, 1, -places)
        # A stable sort: equal texts keep the order of the table.
        ordered: list[int] = chosen[np.argsort(places, kind="stable")].tolist()
        return ordered


def rank_texts(texts: Sequence[str]) -> ColumnRanks:
    """Compare the texts of a column once; equal texts are compared together."""
    if not texts:
        return ColumnRanks(np.empty(0, dtype=np.int64), 0)
    distinct = list(dict.fromkeys(texts))
    bare = [text.strip(_LEADING_SIGNS) for text in distinct]
    # One call for the whole column; a text with a line break of its own would be read as two.
    read = _FIGURE_PATTERN.findall("\n".join(bare))
    if len(read) > len(bare):
        read = _FIGURE_PATTERN.findall("\n".join([text.replace("\n", " ") for text in bare]))
    figures = [at for at, found in enumerate(read) if found[0]]
    words = [at for at, found in enumerate(read) if not found[0] and bare[at] not in _MISSING_TEXTS]
    missing = len(distinct)
    places = np.full(len(distinct), missing, dtype=np.int64)
    if figures:
        places[figures] = _rank_figures([read[at] for at in figures])
    places[words] = len(figures) + natural_places([bare[at] for at in words])
    if len(distinct) < len(texts):
        known = {text: at for at, text in enumerate(distinct)}
        places = places[[known[text] for text in texts]]
    return ColumnRanks(places, missing)


def _rank_figures(figures: Sequence[tuple[str, str, str]]) -> IntArray:
    """The rank of each figure; those of one size are ranked by the rest of their texts."""
    sizes = np.array([float(number.replace(" ", "")) * _UNIT_FACTORS[unit] for number, unit, _ in figures])
    behind = _rank_rests([rest for _, _, rest in figures])
    order = np.lexsort((behind, sizes))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (sizes[order][1:] != sizes[order][:-1]) | (behind[order][1:] != behind[order][:-1])
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    return places


def _rank_rests(rests: Sequence[str]) -> IntArray:
    distinct = list(dict.fromkeys(rests))
    known = dict(zip(distinct, natural_places(distinct).tolist(), strict=True))
    return np.array([known[rest] for rest in rests], dtype=np.int64)


# Natural order of names. A key function per text would be Python code per row; arrays compare a column at once.

Bytes: TypeAlias = npt.NDArray[np.uint8]
_TEXT_SEPARATOR: Final = "\x1f"
_SEPARATOR: Final = ord(_TEXT_SEPARATOR)
_ZERO, _NINE, _SPACE = b"09 "
_MAX_DIGITS: Final = _SEPARATOR - 2
"""The most digits that a byte counts: its values sort before every character of a name."""
_WORD_BYTES: Final = 8
"""Bytes that are compared at once."""
_WORD_MASKS: Final = np.array(
    [(1 << 64) - (1 << 8 * (_WORD_BYTES - left)) for left in range(_WORD_BYTES + 1)], dtype=np.uint64
)
"""What counts of a word of which so many bytes are left."""


def natural_places(texts: Sequence[str]) -> IntArray:
    """How many texts come before each: case and leading zeros do not count, and numbers come before words."""
    if not texts:
        return np.empty(0, dtype=np.int64)
    written = _TEXT_SEPARATOR.join(texts)
    # A text that contains the separator would count as two texts.
    if written.count(_TEXT_SEPARATOR) >= len(texts):
        written = _TEXT_SEPARATOR.join([text.replace(_TEXT_SEPARATOR, " ") for text in texts])
    keys = _prefix_numbers(
        np.frombuffer(f"{written}{_TEXT_SEPARATOR}".casefold().encode("utf-8", "surrogatepass"), np.uint8)
    )
    ends = np.flatnonzero(keys == _SEPARATOR)
    starts = np.concatenate(([0], ends[:-1] + 1))
    return _compare_places(np.concatenate((keys, np.zeros(_WORD_BYTES, dtype=np.uint8))), starts, ends)


def _prefix_numbers(written: Bytes) -> Bytes:
    """Each number without leading zeros and behind its length, so that its bytes compare as numbers do."""
    if (written < _SEPARATOR).any():
        written = np.where(written < _SEPARATOR, _SPACE, written).astype(np.uint8)
    digits = (written >= _ZERO) & (written <= _NINE)
    turns = np.flatnonzero(digits[1:] != digits[:-1]) + 1
    if digits[0]:
        turns = np.append(0, turns)
    begins, ends = turns[::2], turns[1::2]
    if not len(begins):
        return written
    counting = np.append(np.flatnonzero(digits & (written != _ZERO)), len(written))
    firsts = np.minimum(counting[np.searchsorted(counting, begins)], ends)
    lengths = ends - firsts
    counted = [np.clip(lengths - low, 0, _MAX_DIGITS) + 1 for low in range(0, int(lengths.max()) or 1, _MAX_DIGITS)]
    return _replace_zeros_by_length(written, begins, firsts, np.stack(counted, axis=1).astype(np.uint8))


def _replace_zeros_by_length(written: Bytes, begins: IntArray, firsts: IntArray, lengths: Bytes) -> Bytes:
    """Each number's leading zeros give way to its length."""
    width = lengths.shape[1]
    grown = width - (firsts - begins)
    shifts = np.cumsum(grown)
    result = np.empty(len(written) + int(shifts[-1]), dtype=np.uint8)
    taken = np.ones(len(result), dtype=bool)
    at = firsts + shifts - width
    for place in range(width):
        result[at + place] = lengths[:, place]
        taken[at + place] = False
    zeros = firsts > begins
    if zeros.any():
        borders = np.zeros(len(written), dtype=np.int8)
        borders[begins[zeros]], borders[firsts[zeros]] = 1, -1
        written = written[np.cumsum(borders, dtype=np.int8) == 0]
    result[taken] = written
    return result


def _compare_places(keys: Bytes, starts: IntArray, ends: IntArray) -> IntArray:
    """Rank the texts by words of 8 bytes: the first word of all, then the next word of those that are still equal."""
    places = np.zeros(len(starts), dtype=np.int64)
    level, at = np.arange(len(starts)), starts
    while len(level) > 1 and (at < ends).any():
        words = _words_at(keys, at, ends)
        at = at + _WORD_BYTES
        if (words == words[0]).all():
            continue
        order = np.lexsort((words, places[level]))
        level, at, ends = level[order], at[order], ends[order]
        places[level], alone = _split_by_words(places[level], words[order])
        level, at, ends = level[~alone], at[~alone], ends[~alone]
    return places


def _split_by_words(places: IntArray, words: npt.NDArray[np.uint64]) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """The places of sorted texts, equal ones ordered by their words, and which are equal to none."""
    another = np.append(True, places[1:] != places[:-1])
    new = another.copy()
    new[1:] |= words[1:] != words[:-1]
    index = np.arange(len(places))
    first, level = (np.maximum.accumulate(np.where(begins, index, 0)) for begins in (new, another))
    return places + first - level, new & np.append(new[1:], True)


def _words_at(keys: Bytes, at: IntArray, ends: IntArray) -> npt.NDArray[np.uint64]:
    """The next bytes of each text as one number; nothing follows its end."""
    windows = np.lib.stride_tricks.sliding_window_view(keys, _WORD_BYTES)
    words = windows[np.minimum(at, len(windows) - 1)].view(">u8")[:, 0].astype(np.uint64)
    masked: npt.NDArray[np.uint64] = words & _WORD_MASKS[np.clip(ends - at, 0, _WORD_BYTES)]
    return masked
