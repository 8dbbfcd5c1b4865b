"""Spans, notes, changes and log lines of a cycle as columns: an object of each is made when it is read.

Upstream: none.
"""

from abc import abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import takewhile
from typing import Generic, NamedTuple, TypeVar, overload

from vcdebug.framework.figures import Value
from vcdebug.model.names import Seq

T = TypeVar("T")


class Level(IntEnum):
    """How deep a span lies; movement steps over, into and out of spans."""

    CYCLE = 0
    ACTION = 1
    QUEUE = 2
    JOB = 3
    TASK = 4
    NODE = 5


class Span:
    """A stretch of events that belong together: [first, last] by seq, and the span it lies in."""

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
        """The numbers of its events."""
        return range(self.first, self.last + 1)


class StateChange(NamedTuple):
    """One figure that changed: it holds from event `seq` on.

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
    """A list whose elements a subclass makes from its columns."""

    __slots__ = ()

    @abstractmethod
    def _make_element(self, index: int) -> T:
        """The element at an index that is there."""

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
    """Changes in order: a cycle may have more of them than events."""

    __slots__ = ("_keys", "_values", "kinds", "seqs")

    def __init__(self) -> None:
        self.seqs = array("I")
        self.kinds: list[str] = []
        self._keys: list[Value] = []
        self._values: list[Value] = []

    def append(self, seq: Seq, kind: str, key: object, value: object) -> None:
        """One more figure that holds from event `seq` on."""
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
    """Notes in order; a text with blanks is put together when it is read."""

    __slots__ = ("_values", "_codes", "_seqs", "_texts")

    def __init__(self) -> None:
        self._seqs = array("I")
        self._codes: list[str] = []
        self._texts: list[str] = []
        self._values: list[tuple[object, ...]] = []

    def append(self, seq: Seq, code: str, text: str, values: tuple[object, ...] = ()) -> None:
        """One more note; `values` fill the blanks of the text."""
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
    """A place without an event where upstream prints a line."""

    seq: Seq
    """The last event before it."""
    key: str
    values: tuple[Value, ...]


class LineLog(ColumnSequence[LogPoint]):
    """Lines in order."""

    __slots__ = ("append", "extend", "rows")

    def __init__(self) -> None:
        self.rows: list[tuple[Seq, str, tuple[object, ...]]] = []
        # The list's own methods on plain tuples: a cycle has several lines for each task.
        self.append = self.rows.append
        """Takes (the last event before it, key, values)."""
        self.extend = self.rows.extend

    def close_log(self) -> None:
        """Ignore further lines: explanations ask plugins again after the cycle."""
        self.append = self.extend = _discard_line

    def __len__(self) -> int:
        return len(self.rows)

    def _make_element(self, index: int) -> LogPoint:
        return LogPoint(*self.rows[index])


def _discard_line(_row: object) -> None:
    """Ignore a line."""


class SpanLog(ColumnSequence[Span]):
    """Spans in order of their beginning; to be read once the cycle is over, and then the same object each time."""

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
        """Open a span inside the one that is open."""
        stack = self._open
        self.levels.append(level)
        self.names.append(name)
        self.parents.append(stack[-1] if stack else -1)
        stack.append(len(self.lasts))
        self.firsts.append(first)
        self.lasts.append(first - 1)

    def close_span(self, last: Seq) -> None:
        """Close the span that was opened last."""
        self.lasts[self._open.pop()] = last

    def indexes_inside(self, index: int) -> Iterator[int]:
        """The places of the spans inside one, empty ones included."""
        # Spans are numbered as they open: the first one with an earlier parent ends the list.
        return takewhile(lambda inner: self.parents[inner] >= index, range(index + 1, len(self.lasts)))

    def __len__(self) -> int:
        return len(self.lasts)

    def _make_element(self, index: int) -> Span:
        span = self._spans.get(index)
        if span is None:
            fields = (self.levels[index], self.names[index], self.firsts[index], self.parents[index], self.lasts[index])
            span = self._spans[index] = Span(index, *fields)
        return span
