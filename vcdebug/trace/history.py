"""Pieces of time travel: one figure's history, values looked up one by one, and what a state is made of."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from vcdebug.model.names import NodeName, Seq
from vcdebug.model.status import TaskStatus
from vcdebug.model.taskset import READY_STATUSES

V = TypeVar("V")


class TaskState(NamedTuple):
    """A task at one moment."""

    status: TaskStatus
    node: NodeName


class JobCounts(NamedTuple):
    """A job's tasks at one moment, as the gang counts them."""

    status: Mapping[TaskStatus, int]
    best_effort_pending: int
    min_available: int

    @property
    def ready(self) -> int:
        """Bound, Binding, Running, Allocated and Succeeded."""
        return sum(self.status.get(status, 0) for status in READY_STATUSES)

    @property
    def waiting(self) -> int:
        """Pipelined."""
        return self.status.get(TaskStatus.PIPELINED, 0)

    @property
    def pending(self) -> int:
        """Pending."""
        return self.status.get(TaskStatus.PENDING, 0)

    @property
    def total(self) -> int:
        """All tasks."""
        return sum(self.status.values())


class History(Generic[V]):
    """One figure's values in order of the events from which they hold."""

    __slots__ = ("seqs", "values")

    def __init__(self) -> None:
        self.seqs = array("I")
        self.values: list[V] = []

    def write(self, seq: Seq, value: V) -> None:
        """The value from `seq` on."""
        self.seqs.append(seq)
        self.values.append(value)

    def at(self, seq: Seq, opening: V) -> V:
        """The value after event `seq`."""
        position = bisect_right(self.seqs, seq)
        return self.values[position - 1] if position else opening

    def changed(self, seq: Seq) -> Seq | None:
        """The last event at or before `seq` that wrote the figure."""
        position = bisect_right(self.seqs, seq)
        return self.seqs[position - 1] if position else None


class LazyMap(Mapping[str, V]):
    """A mapping whose values are looked up one by one."""

    __slots__ = ("_get", "_keys")

    def __init__(self, keys: Collection[str], get: Callable[[str], V]) -> None:
        self._keys = keys
        self._get = get

    def __getitem__(self, key: str) -> V:
        if key not in self._keys:
            raise KeyError(key)
        return self._get(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys
