"""Sorting a column: figures by size, names with their numbers in order, what is missing last."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

ASCENDING: Final = "▲"
DESCENDING: Final = "▼"
_UNITS: Final = {
    "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
}  # fmt: skip
_MARKS = " ✓✗★●·▸▾◉○◆▲▼≈<>=~"
_MISSING = ("", "–", "-", "—", "none")
_FIGURE = re.compile(r"([-+]?\d{1,3}(?: \d{3})+|[-+]?\d+)(\.\d+)?\s?([KMGTP]i|[mkMGTP])?(?![\w.])")
_NUMBER = re.compile(r"\d+")

_BETWEEN: Final = "\x1f"
_FIRST: Final = "\x00"
"""Before each number: a text that goes on with one comes before all others that begin alike."""
Figure = tuple[float, str]
"""A value, and the text behind it."""


class Order(NamedTuple):
    """A column, and which end comes first."""

    column: int
    descending: bool = False

    @property
    def mark(self) -> str:
        """What the head of the column shows."""
        return DESCENDING if self.descending else ASCENDING


def next_order(order: Order | None, column: int) -> Order | None:
    """Smallest first, largest first, as it was."""
    if order is None or order.column != column:
        return Order(column)
    return None if order.descending else Order(column, descending=True)


def ordered(indexes: Sequence[int], cell: Callable[[int], str], *, descending: bool) -> list[int]:
    """The rows in the order of a cell; equal ones stay as they stood."""
    places = _places([cell(index) for index in indexes])
    there = list(zip(places, indexes, strict=True))
    figures = [(place, index) for place, index in there if isinstance(place, tuple)]
    names = [(place, index) for place, index in there if isinstance(place, str) and place]
    missing = [index for place, index in there if not place]
    words = _in_order(_natural([text for text, _ in names]), [index for _, index in names], descending=descending)
    rests = _natural([rest for (_, rest), _ in figures])
    sizes = [(value, rest) for ((value, _), _), rest in zip(figures, rests, strict=True)]
    amounts = _in_order(sizes, [index for _, index in figures], descending=descending)
    return [*words, *amounts, *missing] if descending else [*amounts, *words, *missing]


def _in_order(keys: Sequence[Any], indexes: Sequence[int], *, descending: bool) -> list[int]:  # Any: what compares
    return [indexes[at] for at in sorted(range(len(keys)), key=keys.__getitem__, reverse=descending)]


def _places(texts: Sequence[str]) -> list[Figure | str]:
    """Each text's place; where many are alike each is looked at once."""
    distinct = dict.fromkeys(texts)
    if 2 * len(distinct) > len(texts):
        return [_place(text) for text in texts]
    known = {text: _place(text) for text in distinct}
    return [known[text] for text in texts]


def _place(text: str) -> Figure | str:
    """A figure with the text behind it, or the text; empty for a cell that says nothing."""
    bare = text.strip(_MARKS)
    if bare in _MISSING:
        return ""
    found = _FIGURE.match(bare)
    if found is None:
        return bare
    whole, fraction, unit = found.groups()
    value = float(whole.replace(" ", "") + (fraction or "")) * _UNITS.get(unit or "", 1.0)
    return value, bare[found.end() :]


def _natural(texts: Sequence[str]) -> list[str]:
    """Texts that compare as their words and numbers do: all at once, which is much faster than one by one."""
    if not texts:
        return []
    joined = _BETWEEN.join(texts).casefold()
    sizes = dict.fromkeys(map(len, _NUMBER.findall(joined)))
    if len(sizes) <= 1:
        return _NUMBER.sub(rf"{_FIRST}\g<0>", joined).split(_BETWEEN)
    widest = max(sizes)
    return _NUMBER.sub(lambda number: _FIRST + number[0].zfill(widest), joined).split(_BETWEEN)
