"""Worker processes on this machine; the run of one that ends is given to another."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Generic, NamedTuple, Protocol, TypeVar

from vcdebug.cli.output import RunFailure, run_or_failure
from vcdebug.errors import VcdebugError

# Many runs of one function: what an executor promises, the one that needs no worker, and how answers are gathered.

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_LOST_WORKERS = 3
"""Workers that one run may cost before it counts as failed."""


class RunAnswer(NamedTuple, Generic[Result]):
    """What came of one item."""

    number: int
    """Its place among the items, from 0."""
    result: Result | RunFailure


class Executor(Protocol):
    """Runs a function on every item; both travel pickled, and a worker keeps the function from one item to the next."""

    def run_all(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[RunAnswer[Result]]:
        """One answer per item, as they are ready; a failed run is an answer, and a lost worker's run is done again."""
        ...


LOST_WORKER = RunFailure("each worker that took it ended, perhaps for want of memory")
"""A run that nobody survives."""


@dataclass(frozen=True, slots=True)
class GatheredRuns(Generic[Result]):
    """All answers in the order of the items, whatever was ready first."""

    results: Mapping[int, Result]
    failures: Mapping[int, RunFailure]
    interrupted: bool = False
    """Whether somebody did not want to wait for the rest."""
    broken: RunFailure | None = None
    """Why the executor itself could not do the rest."""


def gather_answers(
    executor: Executor, function: Callable[[Item], Result], items: Iterable[Item], done: Callable[[int], None]
) -> GatheredRuns[Result]:
    """Run everything and tell `done` of each answer; Ctrl-C and a lost cluster keep what there is."""
    found: dict[int, Result | RunFailure] = {}
    interrupted, broken = False, None
    try:
        with closing(executor.run_all(function, items)) as answers:
            for answer in answers:
                found[answer.number] = answer.result
                done(1)
    except KeyboardInterrupt:
        interrupted = True
    except VcdebugError as error:
        if not found:
            raise
        broken = RunFailure(error.format_line())
    results, failures = {}, {}
    for number, result in sorted(found.items(), key=lambda pair: pair[0]):
        if isinstance(result, RunFailure):
            failures[number] = result
        else:
            results[number] = result
    return GatheredRuns(results, failures, interrupted, broken)


class InProcessExecutor:
    """This process, in order."""

    def run_all(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[RunAnswer[Result]]:
        for number, item in enumerate(items):
            yield RunAnswer(number, run_or_failure(partial(function, item)))


# A fresh interpreter inherits no thread, no lock and no pipe of ours: a worker notices when we are gone.
SPAWN_CONTEXT = get_context("spawn")
POLL_SECONDS = 0.1
"""Seconds between two looks whether the rest is still wanted."""
ABANDONED = RunFailure("given up: nobody waits for it any more")


class ProcessExecutor:
    """Worker processes, each busy with one item at a time."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def run_all(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[RunAnswer[Result]]:
        crew = _Crew(function, items)
        try:
            while crew.put_to_work(self._workers):
                yield from crew.iter_answers()
        finally:
            crew.end_workers()


class WorkerPool(Generic[Item, Result]):
    """Workers that stay for several rounds of items, so that each of them prepares once."""

    def __init__(self, workers: int, function: Callable[[Item], Result]) -> None:
        self._workers = workers
        self._crew = _Crew[Item, Result](function, ())

    def __call__(self, items: Sequence[Item], going: Callable[[], bool] = lambda: True) -> list[Result | RunFailure]:
        """One result per item, in their order; what is under way when it is not wanted any more is given up."""
        found: dict[int, Result | RunFailure] = {}
        self._crew.refill_items(items)
        while self._crew.put_to_work(self._workers):
            found.update((answer.number, answer.result) for answer in self._crew.iter_answers(POLL_SECONDS))
            if not going():
                self._crew.end_workers()
                break
        return [found.get(number, ABANDONED) for number in range(len(items))]

    def end_workers(self) -> None:
        """The workers may go."""
        self._crew.end_workers()


class _Task(NamedTuple, Generic[Item]):
    number: int
    item: Item
    workers_lost: int


class _Worker(Generic[Item, Result]):
    """One process and the task that it has."""

    def __init__(self, function: Callable[[Item], Result]) -> None:
        self.connection, theirs = SPAWN_CONTEXT.Pipe()
        self.process = SPAWN_CONTEXT.Process(target=_serve_items, args=(function, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.task: _Task[Item] | None = None

    def give_task(self, task: _Task[Item]) -> None:
        """Hand over a task; a process that has just ended shows when its answer is read."""
        self.task = task
        try:
            self.connection.send((task.number, task.item))
        except OSError:
            return

    def kill_process(self) -> None:
        """Do not wait for what it is doing."""
        self.process.kill()
        self.process.join()
        self.connection.close()


class _Crew(Generic[Item, Result]):
    """The workers of one run, and what is left to do."""

    def __init__(self, function: Callable[[Item], Result], items: Iterable[Item]) -> None:
        self._function = function
        self._fresh = enumerate(items)
        self._again: deque[_Task[Item]] = deque()
        self._workers: list[_Worker[Item, Result]] = []

    def refill_items(self, items: Iterable[Item]) -> None:
        """Further items, numbered from 0 again; only once all before are done."""
        self._fresh = enumerate(items)

    def put_to_work(self, most: int) -> bool:
        """Give every idle worker a task, hire while there are more; False when all is done."""
        for worker in self._workers:
            if worker.task is None and (task := self._next_task()) is not None:
                worker.give_task(task)
        while len(self._workers) < most and (task := self._next_task()) is not None:
            hired = _Worker(self._function)
            self._workers.append(hired)
            hired.give_task(task)
        return any(worker.task is not None for worker in self._workers)

    def iter_answers(self, seconds: float | None = None) -> Generator[RunAnswer[Result]]:
        """Of at least one worker, or the loss of one; of nobody once so long has passed."""
        busy = {worker.connection: worker for worker in self._workers if worker.task is not None}
        ready = wait(list(busy), seconds)
        for worker in [worker for connection, worker in busy.items() if connection in ready]:
            task, worker.task = worker.task, None
            if task is None:
                continue
            try:
                yield RunAnswer(task.number, worker.connection.recv())
            except (EOFError, OSError):
                yield from self._replace_worker(worker, task)

    def end_workers(self) -> None:
        """End every worker, busy or not."""
        for worker in self._workers:
            worker.kill_process()
        self._workers.clear()

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


def _serve_items(function: Callable[[Item], Result], connection: Connection) -> None:
    """A worker's life: items in, answers out; Ctrl-C is for the one who waits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            _, item = connection.recv()
        except EOFError:
            return
        connection.send(run_or_failure(partial(function, item)))


# Rounds of trials that belong together: each round is chosen by what came of the one before.

SLOW_TRIAL_SECONDS = 0.25
"""Seconds that a trial takes here from which on worker processes pay for their start."""


class TrialRounds(Generic[Item, Result]):
    """Runs trials here; hires worker processes once it has seen that a trial takes long."""

    def __init__(
        self, trial: Callable[[Item], Result], workers: int | None, going: Callable[[], bool] = lambda: True
    ) -> None:
        self._trial = trial
        self._workers = workers or os.cpu_count() or 1
        self._going = going
        """Asked between trials, and while workers are at it: what is not done when it says no is left."""
        self._standing: WorkerPool[Item, Result] | None = None

    def __call__(self, wanted: Sequence[Item]) -> list[Result | None]:
        """One result per item, None for a trial that failed or was left."""
        done: list[Result | RunFailure] = []
        while self._standing is None and len(done) < len(wanted):
            if not self._going():
                return [*self._successful_results(done), *[None] * (len(wanted) - len(done))]
            start = time.perf_counter()
            done.append(run_or_failure(partial(self._trial, wanted[len(done)])))
            if self._workers > 1 and time.perf_counter() - start > SLOW_TRIAL_SECONDS:
                self._standing = WorkerPool(self._workers, self._trial)
        rest = wanted[len(done) :]
        if rest and self._standing is not None:
            done += self._standing(rest, self._going)
        return self._successful_results(done)

    def _successful_results(self, done: list[Result | RunFailure]) -> list[Result | None]:
        return [None if isinstance(one, RunFailure) else one for one in done]

    def close(self) -> None:
        """Workers may go."""
        if self._standing is not None:
            self._standing.end_workers()
