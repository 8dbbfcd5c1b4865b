"""Rounds of trials that belong together: each round is chosen by what came of the one before."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic

from vcdebug.cli.executors.base import Item, Result
from vcdebug.cli.executors.processes import WorkerPool
from vcdebug.cli.failure import RunFailure, run_or_failure

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

    def end_pool(self) -> None:
        """Workers may go."""
        if self._standing is not None:
            self._standing.end_workers()
