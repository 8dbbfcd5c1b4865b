"""Answers per node that only the node's own amounts decide: kept for all rows, redone for the rows that changed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import numpy as np

from vcdebug.model.names import IntArray, Row

T = TypeVar("T", bound=np.generic)
ComputeRows = Callable[[IntArray], "np.ndarray[tuple[int, ...], np.dtype[T]]"]
"""Rows → one value per row; several answers to one question lie one below the other."""
ComputeRow = Callable[[Row], "float | tuple[float, ...]"]
"""Row → its value, or values: the same numbers as from an array, without the array's operations."""
MAX_SINGLE_ROWS = 6
"""So many changed rows are redone one by one."""


class _CachedRows(Generic[T]):
    __slots__ = ("by_row", "seen", "values")

    def __init__(self, values: np.ndarray[tuple[int, ...], np.dtype[T]], seen: int) -> None:
        self.values = values
        self.by_row = values.T
        self.seen = seen


class RowCache(Generic[T]):
    """One value per question and row; `changes` is the owner's growing log of rows whose amounts changed."""

    __slots__ = ("_all", "_answers", "_changes")

    def __init__(self, size: int, changes: list[Row]) -> None:
        self._all: IntArray = np.arange(size, dtype=np.int64)
        self._changes = changes
        self._answers: dict[Hashable, _CachedRows[T]] = {}

    def cached_values(
        self, question: Hashable, compute: ComputeRows[T], one: ComputeRow
    ) -> np.ndarray[tuple[int, ...], np.dtype[T]]:
        """Values for all rows; do not write to them, and copy what must not follow later changes."""
        now = len(self._changes)
        answer = self._answers.get(question)
        if answer is None:
            answer = self._answers[question] = _CachedRows(compute(self._all), now)
        elif answer.seen < now:
            rows = dict.fromkeys(self._changes[answer.seen :])
            answer.seen = now
            if len(rows) <= MAX_SINGLE_ROWS:
                for row in rows:
                    answer.by_row[row] = one(row)
            elif 2 * len(rows) > len(self._all):
                answer = self._answers[question] = _CachedRows(compute(self._all), now)
            else:
                changed = np.fromiter(rows, dtype=np.int64, count=len(rows))
                answer.by_row[changed] = compute(changed).T
        return answer.values

    def clear_answers(self) -> None:
        """Start over, for instance when a dimension appears."""
        self._answers.clear()
