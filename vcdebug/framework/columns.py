"""Spans, notes, changes and log lines of a cycle, as columns; objects are made on read. Upstream: none."""

from abc import abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import takewhile
from typing import Generic, NamedTuple, TypeVar, overload

import numpy as np

from vcdebug.framework.figures import Value
from vcdebug.model.names import Seq

T = TypeVar("T")


class Level(IntEnum):
    """The nesting level of a span; the debugger steps over, into and out of spans."""

    CYCLE = 0
    ACTION = 1
    QUEUE = 2
    JOB = 3
    TASK = 4
    NODE = 5


class Span:
    """A run of events that belong together, [first, last] by seq, with the index of the enclosing span."""

    __slots__ = ("first", "index", "last", "level", "name", "parent")

    def __init__(self, index: int, level: Level, name: str, first: Seq, parent: int, last: Seq | None = None) -> None:
        self.index = index
        self.level = level
        self.name = name
        self.first = first
        self.last = first - 1 if last is None else last
        self.parent = parent

    @property
    def seq_range(self) -> range:
        """The seq numbers of the span's events."""
        return range(self.first, self.last + 1)


class StateChange(NamedTuple):
    """A change of one figure: the new value holds from event `seq` on.

    kind task: key → (status, node); phase: job → phase; book: (plugin, key) → figures; op: the operation at `seq`
    changed its task, its node and what its figures say.
    """

    seq: Seq
    kind: str
    key: Value
    value: Value


OPERATION = "op"


class Note(NamedTuple):
    """A known quirk of upstream that acted at an event."""

    seq: Seq
    code: str
    text: str


class ColumnSequence(Sequence[T], Generic[T]):
    """A sequence that builds its elements from columns on access."""

    __slots__ = ()

    @abstractmethod
    def _make_element(self, index: int) -> T:
        """Build the element at a valid index."""

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        numbers = range(len(self))[index]
        if isinstance(numbers, int):
            return self._make_element(numbers)
        return [self._make_element(number) for number in numbers]

    def __iter__(self) -> Iterator[T]:
        return map(self._make_element, range(len(self)))


class ChangeLog(ColumnSequence[StateChange]):
    """All state changes in order, as columns: a cycle may have more changes than events."""

    __slots__ = ("_keys", "_values", "kinds", "seqs")

    def __init__(self) -> None:
        self.seqs = array("I")
        self.kinds: list[str] = []
        self._keys: list[Value] = []
        self._values: list[Value] = []

    def append(self, seq: Seq, kind: str, key: object, value: object) -> None:
        """Add a change that holds from event `seq` on."""
        self.seqs.append(seq)
        self.kinds.append(kind)
        self._keys.append(key)
        self._values.append(value)

    def __len__(self) -> int:
        return len(self.seqs)

    def __iter__(self) -> Iterator[StateChange]:
        return map(StateChange, self.seqs, self.kinds, self._keys, self._values)

    def _make_element(self, index: int) -> StateChange:
        return StateChange(self.seqs[index], self.kinds[index], self._keys[index], self._values[index])


class NoteLog(ColumnSequence[Note]):
    """All notes in order; a note's text is formatted on read."""

    __slots__ = ("_values", "_codes", "_seqs", "_texts")

    def __init__(self) -> None:
        self._seqs = array("I")
        self._codes: list[str] = []
        self._texts: list[str] = []
        self._values: list[tuple[object, ...]] = []

    def append(self, seq: Seq, code: str, text: str, values: tuple[object, ...] = ()) -> None:
        """Add a note; `values` fill the placeholders of the text."""
        self._seqs.append(seq)
        self._codes.append(code)
        self._texts.append(text)
        self._values.append(values)

    def __len__(self) -> int:
        return len(self._seqs)

    def _make_element(self, index: int) -> Note:
        text, values = self._texts[index], self._values[index]
        return Note(self._seqs[index], self._codes[index], text.format(*values) if values else text)


class LogPoint(NamedTuple):
    """A log line that upstream prints where the replay records no event."""

    seq: Seq
    """The last event before the line."""
    key: str
    values: tuple[Value, ...]


class LineLog(ColumnSequence[LogPoint]):
    """All log lines in order."""

    __slots__ = ("append", "extend", "rows")

    def __init__(self) -> None:
        self.rows: list[tuple[Seq, str, tuple[object, ...]]] = []
        # Bind the list's own methods: a cycle logs several lines for each task.
        self.append = self.rows.append
        """Appends a tuple (last event before the line, key, values)."""
        self.extend = self.rows.extend

    def close_log(self) -> None:
        """Discard further lines: explanations ask plugins again after the cycle."""
        self.append = self.extend = _discard_line

    def __len__(self) -> int:
        return len(self.rows)

    def _make_element(self, index: int) -> LogPoint:
        return LogPoint(*self.rows[index])


def _discard_line(_row: object) -> None:
    """Discard a line."""


class SpanLog(ColumnSequence[Span]):
    """All spans in the order in which they open. Read them only after the cycle; each read returns the same objects."""

    __slots__ = ("_spans", "_open", "firsts", "lasts", "levels", "names", "parents")

    def __init__(self) -> None:
        self.levels: list[Level] = []
        self.names: list[str] = []
        self.firsts = array("I")
        self.lasts = array("I")
        self.parents = array("i")
        self._open: list[int] = []
        self._spans: dict[int, Span] = {}

    def open_span(self, level: Level, name: str, first: Seq) -> None:
        """Open a span inside the innermost open span."""
        stack = self._open
        self.levels.append(level)
        self.names.append(name)
        self.parents.append(stack[-1] if stack else -1)
        stack.append(len(self.lasts))
        self.firsts.append(first)
        self.lasts.append(first - 1)

    def close_span(self, last: Seq) -> None:
        """Close the innermost open span."""
        self.lasts[self._open.pop()] = last

    def indexes_inside(self, index: int) -> Iterator[int]:
        """The indexes of all spans nested in a span, empty spans included."""
        # Spans are numbered as they open: the nested ones end at the first span with a smaller parent.
        return takewhile(lambda inner: self.parents[inner] >= index, range(index + 1, len(self.lasts)))

    def __len__(self) -> int:
        return len(self.lasts)

    def _make_element(self, index: int) -> Span:
        span = self._spans.get(index)
        if span is None:
            fields = (self.levels[index], self.names[index], self.firsts[index], self.parents[index], self.lasts[index])
            span = self._spans[index] = Span(index, *fields)
        return span


class HeapLog:
    """The pushes and pops of all heaps with the answers of their comparisons, from which each comparison is found."""

    __slots__ = ("_heap_count", "_heaps", "_origins", "answers", "names", "seqs")

    def __init__(self) -> None:
        self.seqs = array("I")
        """The event that follows a push, or that records the pop."""
        self.names: list[str | None] = []
        """The pushed element; None for a pop."""
        self.answers = array("Q")
        """Bits: a first 1, then for each comparison in call order whether its first argument goes first."""
        self._heaps = array("I")
        self._heap_count = 0
        self._origins: dict[int, tuple[int, int]] = {}
        """Copied heap → (the heap that it is a copy of, the number of rows before)."""

    def add_heap(self, copied: int | None = None) -> int:
        """The number of a new heap, which starts with the items of the heap `copied`."""
        number = self._heap_count
        self._heap_count = number + 1
        if copied is not None:
            self._origins[number] = copied, len(self.seqs)
        return number

    def add_row(self, heap: int, seq: Seq, answers: int, name: str | None) -> None:
        """Add a push, or a pop if `name` is None."""
        self._heaps.append(heap)
        self.seqs.append(seq)
        self.answers.append(answers)
        self.names.append(name)

    def heap_popped_at(self, seq: Seq) -> int:
        """The heap of the pop that an event records."""
        # Pushes after the event before have the same number.
        return self._heaps[bisect_right(self.seqs, seq) - 1]

    def rows_of(self, heap: int) -> list[int]:
        """The pushes and pops of a heap in call order, with those of the heap that it is a copy of."""
        copied, count = self._origins.get(heap, (heap, 0))
        own: list[int] = np.flatnonzero(np.asarray(self._heaps) == heap).tolist()
        return own if copied == heap else [*(row for row in self.rows_of(copied) if row < count), *own]
