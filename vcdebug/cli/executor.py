"""Many runs of one function: here, one after the other, or in worker processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

ATTEMPTS = 3
"""Pools that may break before the rest is run here."""


class Executor(Protocol):
    """Runs a picklable function on every item; results come as they are ready, each exactly once."""

    def run(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """All results, in any order."""
        ...


class Here:
    """This process, in order."""

    def run(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        return map(function, items)


class Processes:
    """Worker processes; the items of a worker that dies are run again."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def run(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        left = dict(enumerate(items))
        for _ in range(ATTEMPTS):
            if left:
                yield from self._attempt(function, left)
        yield from map(function, left.values())

    def _attempt(self, function: Callable[[Item], Result], left: dict[int, Item]) -> Iterator[Result]:
        """One pool; what it finishes leaves `left`."""
        pool = ProcessPoolExecutor(min(self._workers, len(left)))
        try:
            futures = {pool.submit(function, item): number for number, item in left.items()}
            for future in as_completed(futures):
                result = future.result()
                del left[futures[future]]
                yield result
        except BrokenProcessPool:
            return
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def processors() -> int:
    """How many runs can make progress at once on this machine."""
    return os.cpu_count() or 1


def executor(workers: int) -> Executor:
    """Worker processes; for a single one this process."""
    return Here() if workers <= 1 else Processes(workers)
