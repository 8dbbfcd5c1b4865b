"""Pieces of time travel: values looked up one by one, and what a state is made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple, TypeVar

from vcdebug.model.names import NodeName
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
    def ready_count(self) -> int:
        """Bound, Binding, Running, Allocated and Succeeded."""
        return sum(self.status.get(status, 0) for status in READY_STATUSES)

    @property
    def waiting_count(self) -> int:
        """Pipelined."""
        return self.status.get(TaskStatus.PIPELINED, 0)

    @property
    def pending_count(self) -> int:
        """Pending."""
        return self.status.get(TaskStatus.PENDING, 0)

    @property
    def total_count(self) -> int:
        """All tasks."""
        return sum(self.status.values())


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
