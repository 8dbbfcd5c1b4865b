"""Sorting a column: figures by size, names with their numbers in order, what is missing last."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from vcdebug.model.names import IntArray
from vcdebug.views.base import Table

ASCENDING: Final = "▲"
DESCENDING: Final = "▼"
_UNITS: Final = {
    "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
}  # fmt: skip
_MARKS = " ✓✗★●·▸▾◉○◆▲▼≈<>=~"
_MISSING = frozenset(("", "–", "-", "—", "none"))
_FIGURE = re.compile(r"([-+]?\d{1,3}(?: \d{3})+|[-+]?\d+)(\.\d+)?\s?([KMGTP]i|[mkMGTP])?(?![\w.])")
_NUMBERS = re.compile(r"([0-9]+)")
_BETWEEN: Final = "\x1f"
_DIGITS_FIRST: Final = {ord(digit): place for place, digit in enumerate("0123456789")}
"""A text that goes on with a number comes before all others that begin alike."""
_BEGINS: Final = frozenset("0123456789+-")
"""What a figure may begin with."""


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


def marked(table: Table, order: Order | None) -> Table:
    """The table, the head of the column that it is sorted by marked."""
    columns = table.columns
    if order is None or order.column >= len(columns):
        return table
    head = replace(columns[order.column], title=f"{columns[order.column].title} {order.mark}".strip())
    return replace(table, columns=(*columns[: order.column], head, *columns[order.column + 1 :]))


class Ranks(NamedTuple):
    """Where each text of a column stands among all: figures by size, then names, then what is missing."""

    places: IntArray
    missing: int
    """The place of what is missing."""

    def order(self, indexes: Sequence[int], *, descending: bool) -> list[int]:
        """Some rows in the order of the column; equal ones stay as they stood, what is missing stands last."""
        chosen = np.asarray(indexes, dtype=np.int64)
        places = self.places[chosen]
        if descending:
            places = np.where(places == self.missing, 1, -places)
        ordered: list[int] = chosen[np.argsort(places, kind="stable")].tolist()
        return ordered


def ranked(texts: Sequence[str]) -> Ranks:
    """Compare the texts of a column once; those that are alike are looked at together."""
    distinct = list(dict.fromkeys(texts))
    bare = [text.strip(_MARKS) for text in distinct]
    like_figures = [at for at, text in enumerate(bare) if text[:1] in _BEGINS]
    figures = {at: found for at in like_figures if (found := _FIGURE.match(bare[at])) is not None}
    words = [at for at, text in enumerate(bare) if at not in figures and text not in _MISSING]
    rests = _natural([bare[at][found.end() :] for at, found in figures.items()])
    sizes = [(_value(found), rest) for found, rest in zip(figures.values(), rests, strict=True)]
    missing = len(distinct)
    places = np.full(len(distinct), missing, dtype=np.int64)
    places[list(figures)] = _ranks(sizes, 0)
    places[words] = _ranks(_natural([bare[at] for at in words]), len(figures))
    if len(distinct) < len(texts):
        known = {text: at for at, text in enumerate(distinct)}
        places = places[[known[text] for text in texts]]
    return Ranks(places, missing)


def _ranks(keys: Sequence[Any], first: int) -> list[int]:  # Any: what compares
    """The place of each key among all of them; what compares as equal has the same one."""
    known = {key: place for place, key in enumerate(sorted(dict.fromkeys(keys)), first)}
    return [known[key] for key in keys]


def _value(found: re.Match[str]) -> float:
    whole, fraction, unit = found.groups()
    return float(whole.replace(" ", "") + (fraction or "")) * _UNITS.get(unit or "", 1.0)


def _natural(texts: Sequence[str]) -> list[str]:
    """Texts that compare as their words and numbers do: all at once, which is much faster than one by one."""
    if not texts:
        return []
    parts = _NUMBERS.split(_BETWEEN.join(texts).casefold())
    numbers = parts[1::2]
    widest = max(map(len, numbers), default=0)
    if any(len(number) != widest for number in numbers):
        parts[1::2] = [number.zfill(widest) for number in numbers]
    return "".join(parts).translate(_DIGITS_FIRST).split(_BETWEEN)
