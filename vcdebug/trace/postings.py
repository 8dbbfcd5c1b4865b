"""Columns of names with the events that state them, and the lists of event numbers by name that they make.

Everything runs over whole columns: a recording has millions of events, and nobody may wait for its index.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Generic, TypeVar

import numpy as np

from vcdebug.model.names import IntArray, Seq

Seqs = Sequence[Seq]
"""Ascending event numbers."""
EMPTY_SEQS: Seqs = array("I")
_SEQ_BITS = 32
_SEQ_MASK = (1 << _SEQ_BITS) - 1
_EMPTY_COLUMN: IntArray = np.empty(0, dtype=np.int64)


Thing = TypeVar("Thing")


class Numbering(dict[Thing, int], Generic[Thing]):
    """Things numbered in order of appearance: looking up a new one adds it."""

    def __missing__(self, thing: Thing) -> int:
        number = self[thing] = len(self)
        return number

    def numbers_of(self, things: Iterable[Thing], count: int) -> IntArray:
        """The numbers of a whole column."""
        return np.fromiter(map(self.__getitem__, things), dtype=np.int64, count=count)


class Mentions:
    """(event, name) pairs about one kind of thing, gathered column by column."""

    def __init__(self) -> None:
        self._numbers = Numbering[str]()
        self._seqs: list[IntArray] = []
        self._names: list[IntArray] = []

    def add_names(self, seqs: IntArray, names: Iterable[str]) -> None:
        """Events, and the name that each states."""
        self._seqs.append(seqs)
        self._names.append(self._numbers.numbers_of(names, len(seqs)))

    def add_name_lists(self, seqs: IntArray, lists: Sequence[Sequence[str]]) -> None:
        """Events, and the names that each states."""
        lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        self.add_names(np.repeat(seqs, lengths), chain.from_iterable(lists))

    def add_owners(self, owned: Mentions, owners: Mapping[str, str]) -> None:
        """What states a thing of another kind states its owner; some things have none."""
        found = (owners.get(name) for name in owned._numbers)
        table = np.array([-1 if name is None else self._numbers[name] for name in found], dtype=np.int64)
        for seqs, names in zip(owned._seqs, owned._names, strict=True):
            numbers = table[names]
            self._seqs.append(seqs[numbers >= 0])
            self._names.append(numbers[numbers >= 0])

    def build_postings(self) -> Postings:
        """The lists by name."""
        return Postings(self._numbers, list(zip(self._seqs, self._names, strict=True)))


class Postings:
    """Ascending event numbers by name, each once."""

    def __init__(self, numbers: Mapping[str, int], parts: Sequence[tuple[IntArray, IntArray]]) -> None:
        """`parts`: columns of event numbers and of names' numbers."""
        pairs = np.concatenate([_EMPTY_COLUMN, *(names << _SEQ_BITS | seqs for seqs, names in parts)])
        pairs.sort()
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        self._numbers = numbers
        self._seqs = as_seqs(pairs & _SEQ_MASK)
        self._starts = as_seqs(np.searchsorted(pairs, np.arange(len(numbers) + 1) << _SEQ_BITS))

    def seqs_of(self, name: str) -> Seqs:
        """Events that state the name."""
        start, end = self._range_of(name)
        return self._seqs[start:end] if start < end else EMPTY_SEQS

    def last_seq(self, name: str, before: Seq) -> Seq | None:
        """The last event before another one that states the name."""
        start, end = self._range_of(name)
        position = bisect_left(self._seqs, before, start, end)
        return self._seqs[position - 1] if position > start else None

    def latest_seqs(self, before: Seq) -> dict[str, Seq]:
        """The last event before another one that states it, for every name that one does."""
        seqs, starts = np.asarray(self._seqs, dtype=np.int64), np.asarray(self._starts, dtype=np.int64)
        below = np.concatenate([[0], np.cumsum(seqs < before)])[starts]
        positions = starts[:-1] + np.diff(below) - 1
        stated = np.flatnonzero(np.diff(below))
        names = list(self._numbers)
        return {names[n]: seq for n, seq in zip(stated.tolist(), seqs[positions[stated]].tolist(), strict=True)}

    def _range_of(self, name: str) -> tuple[int, int]:
        number = self._numbers.get(name, len(self._starts))
        return (0, 0) if number + 1 >= len(self._starts) else (self._starts[number], self._starts[number + 1])

    def stated_names(self) -> list[str]:
        """Every name that some event states, in order of the first one."""
        starts = self._starts
        stated = (
            (name, starts[number]) for name, number in self._numbers.items() if starts[number] < starts[number + 1]
        )
        return [name for _, name in sorted((self._seqs[start], name) for name, start in stated)]


def as_seqs(numbers: IntArray) -> array[int]:
    """A column as an array of plain integers."""
    return array("I", numbers.astype(np.uint32).tobytes())
