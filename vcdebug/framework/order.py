"""Priority queues with the exact element order of Go's heap, and the order of victims.

Upstream: util/priority_queue, framework/session (BuildVictimsPriorityQueue), actions/allocate
(organizeJobWorksheet), actions/utils (organizeEvictionWorksheet).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import cmp_to_key
from typing import Generic, TypeVar

from msgspec import Struct

from vcdebug.framework.columns import HeapLog
from vcdebug.framework.record import PopEvent, Record, fast_tuple
from vcdebug.framework.session import Session
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq, SubJobId
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.releases.scheduling import VICTIM_TIE_BY_JOB_AGE

T = TypeVar("T")
LessFunction = Callable[[T, T], bool]


class PriorityQueue(Generic[T]):
    """A binary heap that calls `less` at each push and pop; a later change of an item's order does not move the item.
    Upstream: util/priority_queue.NewPriorityQueue.
    """

    __slots__ = ("_heap_log", "_items", "_kind", "_less", "_name", "_number", "_record")

    def __init__(
        self, less: LessFunction[T], kind: str, name: Callable[[T], str], record: Record, copied: int | None = None
    ) -> None:
        """`copied` is the number of the heap whose items the caller copies."""
        self._kind = kind
        self._name = name
        self._record = record
        self._less = less
        self._items: list[T] = []
        # Inside a recorded call no events are recorded either.
        self._heap_log = HeapLog() if record.running_call_count else record.heap_log
        self._number = self._heap_log.add_heap(copied)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        """Iterate over the items in the order of the heap's array."""
        return iter(self._items)

    def push(self, item: T) -> None:
        """Add the item and sift it up. Upstream: util/priority_queue.Push."""
        # heapq would compare other pairs: with an inconsistent `less`, as several plugins may have, its order would
        # differ from that of Go's container/heap.
        items, less, answers = self._items, self._less, 1
        items.append(item)
        child = len(items) - 1
        while child > 0:
            parent = (child - 1) >> 1
            if not less(items[child], items[parent]):
                answers <<= 1
                break
            answers = answers << 1 | 1
            items[child], items[parent] = items[parent], items[child]
            child = parent
        self._heap_log.add_row(self._number, len(self._record.events) + 1, answers, self._name(item))

    def pop(self) -> T:
        """Remove and return the first item, and record the pop. Upstream: util/priority_queue.Pop."""
        items, less, answers = self._items, self._less, 1
        last = len(items) - 1
        items[0], items[last] = items[last], items[0]
        parent = 0
        while (child := 2 * parent + 1) < last:
            right = child + 1
            if right < last:
                is_right_first = 1 if less(items[right], items[child]) else 0
                answers = answers << 1 | is_right_first
                child += is_right_first
            if not less(items[child], items[parent]):
                answers <<= 1
                break
            answers = answers << 1 | 1
            items[parent], items[child] = items[child], items[parent]
            parent = child
        item = items.pop()
        self._heap_log.add_row(self._number, len(self._record.events) + 1, answers, None)
        self._record.append(fast_tuple(PopEvent, (self._kind, self._name(item), last)))
        return item

    def take_least(self, key: Callable[[T], int]) -> T:
        """Remove and return the item with the smallest key, unrecorded, where upstream iterates over a map."""
        item = min(self._items, key=key)
        self._items.remove(item)
        return item

    def extend(self, items: Iterable[T]) -> PriorityQueue[T]:
        """Push the items one by one; returns the heap itself."""
        for item in items:
            self.push(item)
        return self

    def clone(self) -> PriorityQueue[T]:
        """A heap with a copy of the array and the same comparison. Upstream: util/priority_queue.Clone."""
        copy = PriorityQueue(self._less, self._kind, self._name, self._record, self._number)
        copy._items = list(self._items)
        return copy


class HeapComparisons:
    """The comparisons of one heap in call order; its pushes and pops are repeated with the logged answers."""

    def __init__(self, log: HeapLog, number: int) -> None:
        self.first_names: list[str] = []
        """The element of each comparison that goes first."""
        self.second_names: list[str] = []
        self.seqs = array("I")
        """The event that follows each comparison."""
        self.ranges: dict[Seq, range] = {}
        """Pop → the comparisons since the previous pop: while an element is popped, the next one is determined."""
        self._answers: Iterator[str] = iter(())
        self._repeat(log, log.rows_of(number))

    def _repeat(self, log: HeapLog, rows: Iterable[int]) -> None:
        heap: PriorityQueue[str] = PriorityQueue(self._answer, "", str, Record())
        begin_of_pop = 0
        for row in rows:
            begin, seq, name = len(self.first_names), log.seqs[row], log.names[row]
            self._answers = iter(f"{log.answers[row]:b}"[1:])
            if name is None:
                heap.pop()
                self.ranges[seq] = range(begin_of_pop, len(self.first_names))
                begin_of_pop = begin
            else:
                heap.push(name)
            self.seqs.extend([seq] * (len(self.first_names) - begin))

    def _answer(self, left: str, right: str) -> bool:
        goes_first = next(self._answers) == "1"
        self.first_names.append(left if goes_first else right)
        self.second_names.append(right if goes_first else left)
        return goes_first


def build_victims_queue(ssn: Session, victims: Iterable[TaskInfo], preemptor: TaskInfo) -> PriorityQueue[TaskInfo]:
    """The victims in a heap in order of eviction. Upstream: framework/session_plugins.BuildVictimsPriorityQueue."""

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
    """An empty heap of tasks, in task order or by `less`."""
    return PriorityQueue(less or ssn.task_order_less, "task", lambda task: task.key, ssn.record)


# Worksheets: the tasks of a job that are left to place, as heaps of sub jobs and of each sub job's tasks.


class Worksheet(Struct, eq=False):
    """A heap of sub jobs, and a heap of tasks for each sub job."""

    sub_jobs: PriorityQueue[SubJobInfo]
    tasks: dict[SubJobId, PriorityQueue[TaskInfo]]

    @property
    def empty(self) -> bool:
        """Whether no sub job with tasks is left. Upstream: actions/allocate.Empty."""
        return not self.sub_jobs

    def clone(self) -> Worksheet:
        """A worksheet with copied heaps of the same objects. Upstream: actions/allocate.Clone."""
        return Worksheet(self.sub_jobs.clone(), {uid: heap.clone() for uid, heap in self.tasks.items()})

    def shallow_copy_from(self, other: Worksheet) -> None:
        """Share the heaps of another worksheet. Upstream: actions/allocate.ShallowCopyFrom."""
        self.sub_jobs, self.tasks = other.sub_jobs, other.tasks


def build_worksheet(ssn: Session, job: JobInfo, placeable: Callable[[TaskInfo], bool]) -> Worksheet:
    """The pending `placeable` tasks of the job; sub jobs that their policy still requires come first.
    Upstream: actions/allocate.organizeJobWorksheet.
    """
    # Computed before the heap is filled: otherwise the questions about sub jobs would be recorded in another order.
    required = _required_sub_jobs(ssn, job)

    def sub_job_less(left: SubJobInfo, right: SubJobInfo) -> bool:
        if (left.uid in required) != (right.uid in required):
            return left.uid in required
        return ssn.sub_job_order_less(left, right)

    sub_jobs: PriorityQueue[SubJobInfo] = PriorityQueue(sub_job_less, "subjob", lambda sj: sj.uid, ssn.record)
    tasks: dict[SubJobId, PriorityQueue[TaskInfo]] = {}
    for sub_job in job.sub_jobs_in_order():
        pending = [*sub_job.tasks_with_status(TaskStatus.PENDING), *_restored_tasks(ssn, sub_job)]
        heap = task_queue(ssn).extend(task for task in pending if placeable(task))
        if heap:
            tasks[sub_job.uid] = heap
            sub_jobs.push(sub_job)
    return Worksheet(sub_jobs, tasks)


def _restored_tasks(ssn: Session, sub_job: SubJobInfo) -> list[TaskInfo]:
    """Tasks that an earlier cycle pipelined and that are still Pipelined there."""
    if not ssn.restored:
        return []
    return [task for task in sub_job.tasks_with_status(TaskStatus.PIPELINED) if task.uid in ssn.restored]


def _required_sub_jobs(ssn: Session, job: JobInfo) -> dict[SubJobId, None]:
    ready_count: dict[str, int] = {}
    unready: list[SubJobInfo] = []
    for sub_job in job.sub_jobs_in_order():
        if ssn.sub_job_ready(job, sub_job):
            ready_count[sub_job.gid] = ready_count.get(sub_job.gid, 0) + 1
        else:
            unready.append(sub_job)
    required: dict[SubJobId, None] = {}

    def compare_sub_jobs(left: SubJobInfo, right: SubJobInfo) -> int:
        return -1 if ssn.sub_job_order_less(left, right) else 1

    for sub_job in sorted(unready, key=cmp_to_key(compare_sub_jobs)):
        if ready_count.get(sub_job.gid, 0) < job.min_sub_jobs.get(sub_job.gid, 0):
            required[sub_job.uid] = None
            ready_count[sub_job.gid] = ready_count.get(sub_job.gid, 0) + 1
    return required
