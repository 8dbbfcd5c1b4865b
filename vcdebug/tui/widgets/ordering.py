"""Sorting a column: figures by size, names with their numbers in order, what is missing last."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

ASCENDING: Final = "▲"
DESCENDING: Final = "▼"
_UNITS: Final = {
    "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
}  # fmt: skip
_MARKS = " ✓✗★●·▸▾◉○◆▲▼≈<>=~"
_MISSING = ("", "–", "-", "—", "none")
_FIGURE = re.compile(r"([-+]?\d{1,3}(?: \d{3})+|[-+]?\d+)(\.\d+)?\s?([KMGTP]i|[mkMGTP])?(?![\w.])")
_NUMBER = re.compile(r"(\d+)")

Place = tuple[int, float, tuple[str | int, ...]]


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
    places = {index: place(cell(index)) for index in indexes}
    there = [index for index in indexes if places[index] is not None]
    missing = [index for index in indexes if places[index] is None]
    there.sort(key=lambda index: places[index] or (0, 0.0, ()), reverse=descending)
    return [*there, *missing]


def place(text: str) -> Place | None:
    """Where a cell belongs; None for one that says nothing."""
    bare = text.strip(_MARKS)
    if bare in _MISSING:
        return None
    figure = _FIGURE.match(bare)
    if figure is not None:
        whole, fraction, unit = figure.groups()
        value = float(whole.replace(" ", "") + (fraction or "")) * _UNITS.get(unit or "", 1.0)
        return 0, value, _natural(bare[figure.end() :])
    return 1, 0.0, _natural(bare)


def _natural(text: str) -> tuple[str | int, ...]:
    parts = _NUMBER.split(text.casefold())
    return tuple(int(part) if index % 2 else part for index, part in enumerate(parts))
