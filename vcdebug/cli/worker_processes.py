"""Runs a function on many items, in this or in worker processes; the run of a worker that dies is repeated."""

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from functools import cached_property, partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from vcdebug.cli.output import RunFailure, run_or_failure
from vcdebug.errors import VcdebugError

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_LOST_WORKERS = 3
"""Number of lost workers after which a run counts as failed."""


class RunAnswer(NamedTuple, Generic[Result]):
    """The result of one item."""

    number: int
    """Index of the item, from 0."""
    result: Result | RunFailure


class Executor(Protocol):
    """Runs a function on every item; both are pickled, and a worker keeps the function between items."""

    def run_all(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[RunAnswer[Result]]:
        """Yield one answer per item in the order of completion; a failed run is an answer too."""
        ...


LOST_WORKER = RunFailure("every worker that ran it exited, possibly out of memory")
"""The result of a run whose worker was lost MAX_LOST_WORKERS times."""


class GatheredRuns(Struct, Generic[Result], frozen=True):
    """All results in the order of the items."""

    results: Mapping[int, Result]
    failures: Mapping[int, RunFailure]
    interrupted: bool = False
    """Whether Ctrl-C ended the batch before all runs were done."""
    executor_failure: RunFailure | None = None
    """Why the executor could not carry out the remaining runs; None if it could."""


def gather_answers(
    executor: Executor, function: Callable[[Item], Result], items: Iterable[Item], count_done: Callable[[int], None]
) -> GatheredRuns[Result]:
    """Run all items and call `count_done` after each; Ctrl-C and a lost cluster keep the results so far."""
    results_by_number: dict[int, Result | RunFailure] = {}
    interrupted, broken = False, None
    try:
        with closing(executor.run_all(function, items)) as answers:
            for answer in answers:
                results_by_number[answer.number] = answer.result
                count_done(1)
    except KeyboardInterrupt:
        interrupted = True
    except VcdebugError as error:
        if not results_by_number:
            raise
        broken = RunFailure(error.format_line())
    results, failures = {}, {}
    for number, result in sorted(results_by_number.items(), key=lambda pair: pair[0]):
        if isinstance(result, RunFailure):
            failures[number] = result
        else:
            results[number] = result
    return GatheredRuns(results, failures, interrupted, broken)


class InProcessExecutor:
    """Runs the items in this process, in order."""

    def run_all(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[RunAnswer[Result]]:
        for number, item in enumerate(items):
            yield RunAnswer(number, run_or_failure(partial(function, item)))


# Not fork: a child would inherit our pipes, and would not see them close when this process ends.
SPAWN_CONTEXT = get_context("spawn")
POLL_SECONDS = 0.1
"""Seconds between two checks whether the remaining results are still wanted."""
ABANDONED = RunFailure("cancelled: its result is no longer needed")


class ProcessExecutor:
    """Worker processes, each busy with one item at a time."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def run_all(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[RunAnswer[Result]]:
        pool = WorkerPool(self._workers, function, items)
        try:
            while pool.put_to_work():
                yield from pool.iter_answers()
        finally:
            pool.end_workers()


class _Task(NamedTuple, Generic[Item]):
    number: int
    item: Item
    workers_lost: int


class _Ready(NamedTuple):
    """A worker's message that it has started, or that it has read its function."""


class _Worker(Generic[Item, Result]):
    """One process and its current task."""

    def __init__(self) -> None:
        self.connection, theirs = SPAWN_CONTEXT.Pipe()
        # The function is sent later: sending a large one blocks until the process has started and reads it.
        self.process = SPAWN_CONTEXT.Process(target=_serve_items, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()  # otherwise the pipe would stay open when the worker dies, and `recv` would never return
        self.task: _Task[Item] | None = None
        self._has_function = False
        self._is_ready = False

    def send_function(self, pickled: bytes) -> None:
        """Send the function, before the first task; this blocks until the process has started."""
        if not self._has_function:
            self._has_function = True
            with suppress(OSError):
                self.connection.send_bytes(pickled)

    def prepare(self, pickled: bytes) -> bool:
        """Send the function if the process has started, without blocking; returns whether it waits for tasks."""
        try:
            while not self._is_ready and self.connection.poll():
                self.connection.recv()
                self._is_ready = self._has_function
                self.send_function(pickled)
        except (EOFError, OSError):
            # A process that has ended is detected when its answer is read.
            self._is_ready = True
        return self._is_ready

    def send_task(self, task: _Task[Item]) -> None:
        """Send a task; a process that has ended is detected when its answer is read."""
        self.task = task
        with suppress(OSError):
            self.connection.send((task.number, task.item))

    def kill_process(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


class WorkerPool(Generic[Item, Result]):
    """Worker processes that serve several rounds of items, so that each unpickles and prepares once."""

    def __init__(self, workers: int, function: Callable[[Item], Result], items: Iterable[Item] = ()) -> None:
        self._most_workers = workers
        self._function = function
        self._fresh = enumerate(items)
        self._again: deque[_Task[Item]] = deque()
        self._workers: list[_Worker[Item, Result]] = []
        self._starting: list[_Worker[Item, Result]] = []
        """Started workers that have no function yet."""

    def __call__(self, items: Sequence[Item], going: Callable[[], bool] = lambda: True) -> list[Result | RunFailure]:
        """One result per item, in order; once `going` returns false, unfinished runs are abandoned."""
        results: dict[int, Result | RunFailure] = {}
        self._fresh = enumerate(items)
        while self.put_to_work():
            results.update((answer.number, answer.result) for answer in self.iter_answers(POLL_SECONDS))
            if not going():
                self.end_workers()
                break
        return [results.get(number, ABANDONED) for number in range(len(items))]

    @cached_property
    def _pickled_function(self) -> bytes:
        return bytes(ForkingPickler.dumps(self._function))

    def start_workers(self, count: int) -> None:
        """Start processes, which import their modules in parallel."""
        self._starting += [_Worker[Item, Result]() for _ in range(count)]

    def prepare_workers(self) -> bool:
        """Send the function to started workers, without blocking; returns whether all of them wait for tasks."""
        ready = [worker.prepare(self._pickled_function) for worker in self._starting]
        return all(ready)

    def put_to_work(self) -> bool:
        """Give every idle worker a task and start missing workers; False when all is done."""
        for worker in self._workers:
            if worker.task is None and (task := self._next_task()) is not None:
                worker.send_task(task)
        fresh: list[_Task[Item]] = []
        while len(self._workers) + len(fresh) < self._most_workers and (task := self._next_task()) is not None:
            fresh.append(task)
        # All workers are started before the first one gets its function, which blocks until the worker reads it.
        self.start_workers(len(fresh) - len(self._starting))
        for task in fresh:
            hired = self._starting.pop()
            self._workers.append(hired)
            hired.send_function(self._pickled_function)
            hired.send_task(task)
        return any(worker.task is not None for worker in self._workers)

    def iter_answers(self, seconds: float | None = None) -> Generator[RunAnswer[Result]]:
        """Wait for at least one worker, at most `seconds`, and yield what is ready."""
        busy = {worker.connection: worker for worker in self._workers if worker.task is not None}
        ready = wait(list(busy), seconds)
        for worker in [worker for connection, worker in busy.items() if connection in ready]:
            task, worker.task = worker.task, None
            if task is None:
                continue
            try:
                message = worker.connection.recv()
            except (EOFError, OSError):
                yield from self._replace_worker(worker, task)
                continue
            if isinstance(message, _Ready):
                worker.task = task
            else:
                yield RunAnswer(task.number, message)

    def end_workers(self) -> None:
        for worker in (*self._workers, *self._starting):
            worker.kill_process()
        self._workers.clear()
        self._starting.clear()

    def _next_task(self) -> _Task[Item] | None:
        if self._again:
            return self._again.popleft()
        fresh = next(self._fresh, None)
        return _Task(*fresh, 0) if fresh is not None else None

    def _replace_worker(self, worker: _Worker[Item, Result], task: _Task[Item]) -> Generator[RunAnswer[Result]]:
        worker.kill_process()
        self._workers.remove(worker)
        times = task.workers_lost + 1
        if times == MAX_LOST_WORKERS:
            yield RunAnswer(task.number, LOST_WORKER)
        else:
            self._again.append(task._replace(workers_lost=times))


def _serve_items(connection: Connection) -> None:
    """The loop of a worker process: receives the function, then items, and sends results."""
    # The terminal sends Ctrl-C to the whole process group; only the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError):
        connection.send(_Ready())
        function = connection.recv()
        connection.send(_Ready())
        while True:
            _, item = connection.recv()
            connection.send(run_or_failure(partial(function, item)))


# Rounds of trials: the results of one round choose the trials of the next.

SLOW_TRIAL_SECONDS = 0.25
"""Duration in seconds of a trial above which starting worker processes saves time."""
LONG_TRIAL_SECONDS = 4.0
"""Duration in seconds of a trial above which waiting for workers that are starting is better than another trial."""


class TrialRounds(Generic[Item, Result]):
    """Runs trials in this process; after a slow trial, in worker processes as soon as these have started."""

    def __init__(
        self,
        trial: Callable[[Item], Result],
        workers: int | None,
        going: Callable[[], bool] = lambda: True,
        *,
        expects_slow: bool = False,
    ) -> None:
        self._trial = trial
        self._workers = workers or os.cpu_count() or 1
        self._should_continue = going
        """Called between trials and while workers run; once it returns false, the remaining trials are skipped."""
        self._pool: WorkerPool[Item, Result] | None = None
        self._has_long_trials = False
        if expects_slow and self._workers > 1:
            self._start_pool()

    def __call__(self, items: Sequence[Item]) -> list[Result | None]:
        """One result per item; None for a trial that failed or was skipped."""
        results: list[Result | RunFailure] = []
        while len(results) < len(items) and not self._uses_workers():
            if not self._should_continue():
                return [*self._successful_results(results), *[None] * (len(items) - len(results))]
            start = time.perf_counter()
            results.append(run_or_failure(partial(self._trial, items[len(results)])))
            seconds = time.perf_counter() - start
            self._has_long_trials = seconds > LONG_TRIAL_SECONDS
            if self._pool is None and self._workers > 1 and seconds > SLOW_TRIAL_SECONDS:
                self._start_pool()
        items_left = items[len(results) :]
        if items_left and self._pool is not None:
            results += self._pool(items_left, self._should_continue)
        return self._successful_results(results)

    def _start_pool(self) -> None:
        self._pool = WorkerPool(self._workers, self._trial)
        self._pool.start_workers(self._workers)

    def _uses_workers(self) -> bool:
        """Whether workers run the remaining trials; until these have started, trials go on in this process."""
        return self._pool is not None and (self._pool.prepare_workers() or self._has_long_trials)

    def _successful_results(self, results: list[Result | RunFailure]) -> list[Result | None]:
        return [None if isinstance(result, RunFailure) else result for result in results]

    def close(self) -> None:
        if self._pool is not None:
            self._pool.end_workers()
