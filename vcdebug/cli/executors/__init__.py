"""Many runs of one function: in this process, in worker processes, or on the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable

from vcdebug.cli.executors.base import Executor, InProcessExecutor
from vcdebug.cli.executors.processes import ProcessExecutor


def choose_executor(workers: int | None, runs: int, scheduler: str | None, narrate: Callable[[str], None]) -> Executor:
    """A Dask cluster where one is named; else worker processes, as many as can make progress; for one this process."""
    if scheduler is not None:
        from vcdebug.cli.executors.cluster import DaskExecutor

        return DaskExecutor(scheduler, narrate)
    most = min(workers or os.cpu_count() or 1, runs)
    return InProcessExecutor() if most <= 1 else ProcessExecutor(most)
