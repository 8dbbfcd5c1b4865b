"""Go's sort.Slice and sort.SliceStable, comparison by comparison: plugins' `less` functions may contradict themselves,
and then the order depends on every step of the algorithm.

Upstream: Go's package sort (pattern-defeating quicksort, insertion sort of blocks).
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Generic, TypeVar

from vcdebug.gomath import int_div

T = TypeVar("T")

INSERTION_LIMIT = 12
SHORT_LENGTH = 50
NINTHER_SWAPS = 12
SHIFT_ATTEMPTS = 5
WORD_MASK = 2**64 - 1


class _PivotHint(Enum):
    """The order of the sampled elements, which the choice of a pivot finds."""

    UNKNOWN = 0
    INCREASING = 1
    DECREASING = 2


def sort_slice(items: Iterable[T], less: Callable[[T, T], bool]) -> list[T]:
    """The items in the order that Go's sort.Slice produces."""
    work = _SliceSort(list(items), less)
    work.quick_sort(0, len(work.items), len(work.items).bit_length())
    return work.items


class _SortedRanges(Generic[T]):
    """The list that is being sorted; ranges are half-open, [a, b)."""

    __slots__ = ("_less", "items")

    def __init__(self, items: list[T], less: Callable[[T, T], bool]) -> None:
        self.items = items
        self._less = less

    def _is_less(self, i: int, j: int) -> bool:
        return self._less(self.items[i], self.items[j])

    def _swap_items(self, i: int, j: int) -> None:
        self.items[i], self.items[j] = self.items[j], self.items[i]

    def _insertion_sort(self, a: int, b: int) -> None:
        for i in range(a + 1, b):
            j = i
            while j > a and self._is_less(j, j - 1):
                self._swap_items(j, j - 1)
                j -= 1


class _SliceSort(_SortedRanges[T]):
    """Pattern-defeating quicksort."""

    __slots__ = ()

    def quick_sort(self, a: int, b: int, limit: int) -> None:
        balanced = partitioned = True
        while b - a > INSERTION_LIMIT:
            if limit == 0:
                self._heap_sort(a, b)
                return
            if not balanced:
                self._break_patterns(a, b)
                limit -= 1
            pivot, hint = self._choose_pivot(a, b)
            if hint is _PivotHint.DECREASING:
                self.items[a:b] = self.items[a:b][::-1]
                pivot, hint = (b - 1) - (pivot - a), _PivotHint.INCREASING
            if balanced and partitioned and hint is _PivotHint.INCREASING and self._partial_insertion_sort(a, b):
                return
            if a > 0 and not self._is_less(a - 1, pivot):
                a = self._partition_equal(a, b, pivot)
                continue
            length = b - a
            middle, partitioned = self._partition_range(a, b, pivot)
            left, right = middle - a, b - middle
            balanced = min(left, right) >= int_div(length, 8)
            if left < right:
                self.quick_sort(a, middle, limit)
                a = middle + 1
            else:
                self.quick_sort(middle + 1, b, limit)
                b = middle
        self._insertion_sort(a, b)

    def _heap_sort(self, a: int, b: int) -> None:
        size = b - a
        for root in range(int_div(size - 1, 2), -1, -1):
            self._sift_down(root, size, a)
        for last in range(size - 1, -1, -1):
            self._swap_items(a, a + last)
            self._sift_down(0, last, a)

    def _sift_down(self, root: int, size: int, first: int) -> None:
        while (child := 2 * root + 1) < size:
            if child + 1 < size and self._is_less(first + child, first + child + 1):
                child += 1
            if not self._is_less(first + root, first + child):
                return
            self._swap_items(first + root, first + child)
            root = child

    def _close_in(self, i: int, j: int, a: int) -> tuple[int, int]:
        """Move i up and j down to the next two elements on the wrong side of the pivot at `a`; returns (i, j)."""
        while i <= j and self._is_less(i, a):
            i += 1
        while i <= j and not self._is_less(j, a):
            j -= 1
        return i, j

    def _partition_range(self, a: int, b: int, pivot: int) -> tuple[int, bool]:
        """Partition [a, b) around the pivot: (its final index, whether the range was already partitioned)."""
        self._swap_items(a, pivot)
        i, j = self._close_in(a + 1, b - 1, a)
        untouched = i > j
        while i <= j:
            self._swap_items(i, j)
            i, j = self._close_in(i + 1, j - 1, a)
        self._swap_items(j, a)
        return j, untouched

    def _partition_equal(self, a: int, b: int, pivot: int) -> int:
        """Partition [a, b) into elements equal to the pivot and greater ones; returns where the greater ones begin."""
        self._swap_items(a, pivot)
        i, j = a + 1, b - 1
        while True:
            while i <= j and not self._is_less(a, i):
                i += 1
            while i <= j and self._is_less(a, j):
                j -= 1
            if i > j:
                return i
            self._swap_items(i, j)
            i, j = i + 1, j - 1

    def _partial_insertion_sort(self, a: int, b: int) -> bool:
        """Sort an almost sorted range with a few shifts; returns whether the range is sorted."""
        i = a + 1
        for _ in range(SHIFT_ATTEMPTS):
            while i < b and not self._is_less(i, i - 1):
                i += 1
            if i == b:
                return True
            if b - a < SHORT_LENGTH:
                return False
            self._swap_items(i, i - 1)
            self._shift_pair(a, i, b)
        return False

    def _shift_pair(self, a: int, i: int, b: int) -> None:
        """Shift the smaller element of a swapped pair left, within the list's bounds, and the greater one right."""
        j = i - 1
        while i - a >= 2 and j >= 1 and self._is_less(j, j - 1):
            self._swap_items(j, j - 1)
            j -= 1
        j = i + 1
        while j < b and self._is_less(j, j - 1):
            self._swap_items(j, j - 1)
            j += 1

    def _break_patterns(self, a: int, b: int) -> None:
        """Swap elements to break a pattern that caused a bad pivot; the random numbers depend only on the length."""
        length = b - a
        state, mask = length, (1 << length.bit_length()) - 1
        middle = a + int_div(length, 4) * 2
        # xorshift: Go's uint has 64 bits, so a left shift drops the higher ones.
        for index in range(middle - 1, middle + 2):
            state ^= state << 13 & WORD_MASK
            state ^= state >> 7
            state ^= state << 17 & WORD_MASK
            other = state & mask
            self._swap_items(index, a + (other - length if other >= length else other))

    def _choose_pivot(self, a: int, b: int) -> tuple[int, _PivotHint]:
        length = b - a
        quarter = int_div(length, 4)
        places = (a + quarter, a + quarter * 2, a + quarter * 3)
        swaps = 0
        if length >= SHORT_LENGTH:
            medians = [self._median_index(place - 1, place, place + 1) for place in places]
            swaps += medians[0][1] + medians[1][1] + medians[2][1]
            places = (medians[0][0], medians[1][0], medians[2][0])
        pivot, pivot_swaps = self._median_index(*places)
        swaps += pivot_swaps
        if swaps == 0:
            return pivot, _PivotHint.INCREASING
        return pivot, _PivotHint.DECREASING if swaps == NINTHER_SWAPS else _PivotHint.UNKNOWN

    def _median_index(self, a: int, b: int, c: int) -> tuple[int, int]:
        """(index of the median, number of swaps that sorting the three takes)."""
        swaps = 0
        if self._is_less(b, a):
            a, b, swaps = b, a, swaps + 1
        if self._is_less(c, b):
            b, c, swaps = c, b, swaps + 1
        if self._is_less(b, a):
            a, b, swaps = b, a, swaps + 1
        return b, swaps


# sort.SliceStable: blocks are sorted by insertion and merged in place, with Go's comparisons in Go's order.

BLOCK_SIZE = 20


def sort_slice_stable(items: Iterable[T], less: Callable[[T, T], bool]) -> list[T]:
    """The items in the order that Go's sort.SliceStable produces."""
    work = _StableSort(list(items), less)
    work.sort_blocks()
    return work.items


class _StableSort(_SortedRanges[T]):
    """Insertion sort of blocks, merged in place."""

    __slots__ = ()

    def sort_blocks(self) -> None:
        """Sort blocks by insertion, then merge pairs of blocks of doubling size."""
        size, block = len(self.items), BLOCK_SIZE
        for start in range(0, size, block):
            self._insertion_sort(start, min(start + block, size))
        while block < size:
            for start in range(0, size, 2 * block):
                middle, end = start + block, min(start + 2 * block, size)
                if middle < size:
                    self._sym_merge(start, middle, end)
            block *= 2

    def _sym_merge(self, a: int, middle: int, b: int) -> None:
        """Merge the neighbouring sorted ranges [a, middle) and [middle, b); a range of one element is inserted."""
        items = self.items
        if middle - a == 1:
            place = self._binary_search(middle, b, lambda index: self._is_less(index, a))
            items[a:place] = [*items[a + 1 : place], items[a]]
            return
        if b - middle == 1:
            place = self._binary_search(a, middle, lambda index: not self._is_less(middle, index))
            items[place:b] = [items[middle], *items[place:middle]]
            return
        self._merge_halves(a, middle, b)

    def _merge_halves(self, a: int, middle: int, b: int) -> None:
        """Rotate the elements on the wrong side of the midpoint, then merge both halves."""
        half = (a + b) >> 1
        total = half + middle
        first, end = (total - b, half) if middle > half else (a, middle)
        start = self._binary_search(first, end, lambda index: not self._is_less(total - 1 - index, index))
        end = total - start
        if start < middle < end:
            self.items[start:end] = [*self.items[middle:end], *self.items[start:middle]]
        if a < start < half:
            self._sym_merge(a, start, half)
        if half < end < b:
            self._sym_merge(half, end, b)

    @staticmethod
    def _binary_search(first: int, end: int, before: Callable[[int], bool]) -> int:
        """The first index from `first` on for which `before` is false, by binary search; `end` if there is none."""
        while first < end:
            middle = (first + end) >> 1
            if before(middle):
                first = middle + 1
            else:
                end = middle
        return first
