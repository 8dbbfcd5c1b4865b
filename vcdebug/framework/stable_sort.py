"""Go's sort.SliceStable: the same order as any stable sort, by the same comparisons one after the other.

Upstream: Go's package sort (insertion sort of blocks, merged in place).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")
BLOCK_SIZE = 20


def sort_slice_stable(items: Iterable[T], less: Callable[[T, T], bool]) -> list[T]:
    """The items in the order that sort.SliceStable leaves them in."""
    work = _StableSort(list(items), less)
    work.sort_blocks()
    return work.items


class _StableSort(Generic[T]):
    """The list being sorted; ranges are [a, b)."""

    __slots__ = ("_less", "items")

    def __init__(self, items: list[T], less: Callable[[T, T], bool]) -> None:
        self.items = items
        self._less = less

    def sort_blocks(self) -> None:
        """Blocks by insertion, then pairs of blocks, twice as large each time."""
        size, block = len(self.items), BLOCK_SIZE
        for start in range(0, size, block):
            self._insertion_sort(start, min(start + block, size))
        while block < size:
            for start in range(0, size, 2 * block):
                middle, end = start + block, min(start + 2 * block, size)
                if middle < size:
                    self._sym_merge(start, middle, end)
            block *= 2

    def _is_less(self, i: int, j: int) -> bool:
        return self._less(self.items[i], self.items[j])

    def _insertion_sort(self, a: int, b: int) -> None:
        items = self.items
        for last in range(a + 1, b):
            at = last
            while at > a and self._is_less(at, at - 1):
                items[at], items[at - 1] = items[at - 1], items[at]
                at -= 1

    def _sym_merge(self, a: int, middle: int, b: int) -> None:
        """Two sorted neighbours become one; a single element is put in its place."""
        items = self.items
        if middle - a == 1:
            place = self._binary_search(middle, b, lambda at: self._is_less(at, a))
            items[a:place] = [*items[a + 1 : place], items[a]]
            return
        if b - middle == 1:
            place = self._binary_search(a, middle, lambda at: not self._is_less(middle, at))
            items[place:b] = [items[middle], *items[place:middle]]
            return
        self._merge_halves(a, middle, b)

    def _merge_halves(self, a: int, middle: int, b: int) -> None:
        """The parts that stand on the wrong side of the middle change places; both halves are merged then."""
        half = (a + b) >> 1
        both = half + middle
        first, end = (both - b, half) if middle > half else (a, middle)
        start = self._binary_search(first, end, lambda at: not self._is_less(both - 1 - at, at))
        end = both - start
        if start < middle < end:
            self.items[start:end] = [*self.items[middle:end], *self.items[start:middle]]
        if a < start < half:
            self._sym_merge(a, start, half)
        if half < end < b:
            self._sym_merge(half, end, b)

    @staticmethod
    def _binary_search(first: int, end: int, before: Callable[[int], bool]) -> int:
        """The first place of which `before` does not hold, by halves."""
        while first < end:
            at = (first + end) >> 1
            if before(at):
                first = at + 1
            else:
                end = at
        return first
