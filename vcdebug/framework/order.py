"""Priority queues exactly as Go's heap keeps them, and the order of victims.

Upstream: util/priority_queue, framework/session (BuildVictimsPriorityQueue).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from vcdebug.framework.record import PopEvent, Record, fast_tuple
from vcdebug.model.task import TaskInfo
from vcdebug.releases.scheduling import VICTIM_TIE_BY_JOB_AGE

if TYPE_CHECKING:
    from vcdebug.framework.session import Session

T = TypeVar("T")
LessFunction = Callable[[T, T], bool]


class PriorityQueue(Generic[T]):
    """A binary heap whose comparison is evaluated live; stale order is never repaired, as upstream's is not.
    Upstream: util/priority_queue.NewPriorityQueue.
    """

    __slots__ = ("_items", "_kind", "_less", "_name", "_record")

    def __init__(self, less: LessFunction[T], kind: str, name: Callable[[T], str], record: Record) -> None:
        self._less = less
        self._kind = kind
        self._name = name
        self._record = record
        self._items: list[T] = []

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        """The items as the heap's array holds them."""
        return iter(self._items)

    def push(self, item: T) -> None:
        """Append and sift up. Upstream: util/priority_queue.Push."""
        items, less = self._items, self._less
        items.append(item)
        child = len(items) - 1
        while child > 0:
            parent = (child - 1) >> 1
            if not less(items[child], items[parent]):
                return
            items[child], items[parent] = items[parent], items[child]
            child = parent

    def pop(self) -> T:
        """Swap the first to the end, sift down, and record what left. Upstream: util/priority_queue.Pop."""
        items, less = self._items, self._less
        last = len(items) - 1
        items[0], items[last] = items[last], items[0]
        parent = 0
        while (child := 2 * parent + 1) < last:
            right = child + 1
            if right < last and less(items[right], items[child]):
                child = right
            if not less(items[child], items[parent]):
                break
            items[parent], items[child] = items[child], items[parent]
            parent = child
        item = items.pop()
        self._record.append(fast_tuple(PopEvent, (self._kind, self._name(item), last)))
        return item

    def take_least(self, key: Callable[[T], int]) -> T:
        """Take the item with the least key out, unrecorded: where upstream walks a map instead."""
        least = min(self._items, key=key)
        self._items.remove(least)
        return least

    def extend(self, items: Iterable[T]) -> PriorityQueue[T]:
        """Push one after the other."""
        for item in items:
            self.push(item)
        return self

    def clone(self) -> PriorityQueue[T]:
        """The same array under the same comparison. Upstream: util/priority_queue.Clone."""
        copy = PriorityQueue(self._less, self._kind, self._name, self._record)
        copy._items = list(self._items)
        return copy


def build_victims_queue(ssn: Session, victims: Iterable[TaskInfo], preemptor: TaskInfo) -> PriorityQueue[TaskInfo]:
    """Victims in the order in which they would be evicted.
    Upstream: framework/session_plugins.BuildVictimsPriorityQueue.
    """

    def victim_less(left: TaskInfo, right: TaskInfo) -> bool:
        return evict_before(ssn, left, right, preemptor)

    return task_queue(ssn, victim_less).extend(victims)


def evict_before(ssn: Session, left: TaskInfo, right: TaskInfo, preemptor: TaskInfo) -> bool:
    """Whether `left` is evicted before `right`: orphans first, then by queue, by job, by reverse task order."""
    if left.job == right.job:
        return not ssn.task_order_less(left, right)
    left_job, right_job = ssn.jobs.get(left.job), ssn.jobs.get(right.job)
    if left_job is None or right_job is None:
        if left_job is None and right_job is None:
            return not ssn.task_order_less(left, right)
        return left_job is None
    preemptor_job = ssn.jobs.get(preemptor.job)
    if preemptor_job is not None and left_job.queue != right_job.queue:
        queues = ssn.queues
        return ssn.victim_queue_order_less(queues[left_job.queue], queues[right_job.queue], queues[preemptor_job.queue])
    compared = ssn.job_order_compare(left_job, right_job)
    if compared == 0 and ssn.release.has_older_form(VICTIM_TIE_BY_JOB_AGE):
        return not ssn.job_order_less(left_job, right_job)
    return compared > 0 if compared != 0 else not ssn.task_order_less(left, right)


def task_queue(ssn: Session, less: LessFunction[TaskInfo] | None = None) -> PriorityQueue[TaskInfo]:
    """A heap of tasks in task order, or by another comparison."""
    return PriorityQueue(less or ssn.task_order_less, "task", lambda task: task.key, ssn.record)
