"""Sorting a column: figures by size, names with their numbers in order, what is missing last."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from vcdebug.model.names import IntArray
from vcdebug.tui.widgets.natural_order import natural_places
from vcdebug.views.base import Table

ASCENDING: Final = "▲"
DESCENDING: Final = "▼"
_UNIT_FACTORS: Final = {
    "": 1.0, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip
_LEADING_SIGNS = " ✓✗★●·▸▾◉○◆▲▼≈<>=~"
_MISSING_TEXTS = frozenset(("", "–", "-", "—", "none"))
_FIGURE_PATTERN: Final = re.compile(
    r"^([-+]?[0-9]{1,3}(?: [0-9]{3})+(?:\.[0-9]+)?|[-+]?[0-9]+(?:\.[0-9]+)?)[^\S\n]?([KMGTPE]i|[mkMGTP])?(?![\w.])(.*)$"
    r"|^.*$",
    re.MULTILINE,
)
"""A line that begins with a figure, its unit and what stands behind them, or any other line."""


class ColumnOrder(NamedTuple):
    """A column, and which end comes first."""

    column: int
    descending: bool = False

    @property
    def order_sign(self) -> str:
        """What the head of the column shows."""
        return DESCENDING if self.descending else ASCENDING


def next_order(order: ColumnOrder | None, column: int) -> ColumnOrder | None:
    """Smallest first, largest first, as it was."""
    if order is None or order.column != column:
        return ColumnOrder(column)
    return None if order.descending else ColumnOrder(column, descending=True)


def mark_order(table: Table, order: ColumnOrder | None) -> Table:
    """The table, the head of the column that it is sorted by marked."""
    columns = table.columns
    if order is None or order.column >= len(columns):
        return table
    head = replace(columns[order.column], title=f"{columns[order.column].title} {order.order_sign}".strip())
    return replace(table, columns=(*columns[: order.column], head, *columns[order.column + 1 :]))


class ColumnRanks(NamedTuple):
    """Where each text of a column stands among all: figures by size, then names, then what is missing."""

    places: IntArray
    missing: int
    """The place of what is missing."""

    def order_rows(self, indexes: Sequence[int], *, descending: bool) -> list[int]:
        """Some rows in the order of the column; equal ones stay as they stood, what is missing stands last."""
        chosen = np.asarray(indexes, dtype=np.int64)
        places = self.places[chosen]
        if descending:
            places = np.where(places == self.missing, 1, -places)
        ordered: list[int] = chosen[np.argsort(places, kind="stable")].tolist()
        return ordered


def rank_texts(texts: Sequence[str]) -> ColumnRanks:
    """Compare the texts of a column once; those that are alike are looked at together."""
    if not texts:
        return ColumnRanks(np.empty(0, dtype=np.int64), 0)
    distinct = list(dict.fromkeys(texts))
    bare = [text.strip(_LEADING_SIGNS) for text in distinct]
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
    """How many figures are smaller, those of one size as what stands behind them."""
    sizes = np.array([float(number.replace(" ", "")) * _UNIT_FACTORS[unit] for number, unit, _ in figures])
    behind = _rank_rests([rest for _, _, rest in figures])
    order = np.lexsort((behind, sizes))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (sizes[order][1:] != sizes[order][:-1]) | (behind[order][1:] != behind[order][:-1])
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    return places


def _rank_rests(rests: Sequence[str]) -> IntArray:
    """Where what stands behind each figure comes among all that does."""
    distinct = list(dict.fromkeys(rests))
    known = dict(zip(distinct, natural_places(distinct).tolist(), strict=True))
    return np.array([known[rest] for rest in rests], dtype=np.int64)
