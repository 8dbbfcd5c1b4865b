"""Go's sort.SliceStable: the same order as any stable sort, by the same comparisons one after the other.

Upstream: Go's package sort (insertion sort of blocks, merged in place).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")
BLOCK = 20


def slice_stable(items: Iterable[T], less: Callable[[T, T], bool]) -> list[T]:
    """The items in the order that sort.SliceStable leaves them in."""
    work = _Stable(list(items), less)
    work.run()
    return work.items


class _Stable(Generic[T]):
    """The list being sorted; ranges are [a, b)."""

    __slots__ = ("_less", "items")

    def __init__(self, items: list[T], less: Callable[[T, T], bool]) -> None:
        self.items = items
        self._less = less

    def run(self) -> None:
        """Blocks by insertion, then pairs of blocks, twice as large each time."""
        size, block = len(self.items), BLOCK
        for start in range(0, size, block):
            self._insertion(start, min(start + block, size))
        while block < size:
            for start in range(0, size, 2 * block):
                middle, end = start + block, min(start + 2 * block, size)
                if middle < size:
                    self._merge(start, middle, end)
            block *= 2

    def _below(self, i: int, j: int) -> bool:
        return self._less(self.items[i], self.items[j])

    def _insertion(self, a: int, b: int) -> None:
        items = self.items
        for last in range(a + 1, b):
            at = last
            while at > a and self._below(at, at - 1):
                items[at], items[at - 1] = items[at - 1], items[at]
                at -= 1

    def _merge(self, a: int, middle: int, b: int) -> None:
        """Two sorted neighbours become one; a single element is put in its place."""
        items = self.items
        if middle - a == 1:
            place = self._search(middle, b, lambda at: self._below(at, a))
            items[a:place] = [*items[a + 1 : place], items[a]]
            return
        if b - middle == 1:
            place = self._search(a, middle, lambda at: not self._below(middle, at))
            items[place:b] = [items[middle], *items[place:middle]]
            return
        self._halve(a, middle, b)

    def _halve(self, a: int, middle: int, b: int) -> None:
        """The parts that stand on the wrong side of the middle change places; both halves are merged then."""
        half = (a + b) >> 1
        both = half + middle
        first, end = (both - b, half) if middle > half else (a, middle)
        start = self._search(first, end, lambda at: not self._below(both - 1 - at, at))
        end = both - start
        if start < middle < end:
            self.items[start:end] = [*self.items[middle:end], *self.items[start:middle]]
        if a < start < half:
            self._merge(a, start, half)
        if half < end < b:
            self._merge(half, end, b)

    @staticmethod
    def _search(first: int, end: int, before: Callable[[int], bool]) -> int:
        """The first place of which `before` does not hold, by halves."""
        while first < end:
            at = (first + end) >> 1
            if before(at):
                first = at + 1
            else:
                end = at
        return first
