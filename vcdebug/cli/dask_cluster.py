"""Runs a function on the workers of a Dask cluster, whose scheduler handles pickled bytes only."""

from __future__ import annotations

import logging
import pickle
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from pydoc import locate
from threading import Lock
from typing import TYPE_CHECKING, Generic, NamedTuple

from vcdebug import __version__
from vcdebug.cli.output import run_or_failure
from vcdebug.cli.worker_processes import LOST_WORKER, Item, Result, RunAnswer
from vcdebug.errors import VcdebugError, missing_extra

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_TIMEOUT_SECONDS = 10
"""Seconds in which the scheduler must answer."""
RUNS_AHEAD_PER_WORKER = 2
"""Runs queued per worker: enough that no worker idles, few enough that the cluster holds few snapshots."""
RECOMPUTED_STATES = ("lost", "pending")
"""States of a run whose worker left before its result was fetched; the cluster repeats it."""
_ONE_AT_A_TIME = Lock()


class DaskExecutor:
    """Runs items on the Dask cluster at a scheduler's address; the run of a lost worker is repeated."""

    def __init__(self, address: str, narrate: Callable[[str], None]) -> None:
        self._address = address
        self._show_progress = narrate

    def run_all(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[RunAnswer[Result]]:
        with _silence_dask(), _connect_client(self._address) as client:
            _check_versions(client, self._address)
            if not client.nthreads():
                self._show_progress(f"{self._address}: waiting for a worker to connect")
            campaign = _SubmittedRuns(client, self._address, function, items)
            try:
                yield from campaign.iter_answers()
            finally:
                campaign.cancel_runs()


class _Task(NamedTuple, Generic[Item]):
    number: int
    item: Item
    runs_alone: bool
    """Whether this run is the only one, so that it is the cause if its worker is lost again."""


class _SubmittedRuns(Generic[Item, Result]):
    """The runs of one call of `run_all`."""

    def __init__(self, client: Client, address: str, function: Callable[[Item], Result], items: Iterable[Item]) -> None:
        from distributed import as_completed

        self._client = client
        self._address = address
        self._pickled_function = pickle.dumps(function)
        self._function = self._submit_function()
        self._new_items = enumerate(items)
        self._tasks: dict[Future[bytes], _Task[Item]] = {}
        self._completed = as_completed(loop=client.loop)
        self._suspected_tasks: list[_Task[Item]] = []

    def iter_answers(self) -> Generator[RunAnswer[Result]]:
        """Yield all answers; runs whose workers were lost repeatedly come last, each alone on the cluster."""
        self._fill_workers()
        yield from self._iter_arriving()
        for suspect in self._suspected_tasks:
            self._function = self._submit_function()
            self._submit_task(suspect._replace(runs_alone=True))
            yield from self._iter_arriving()

    def cancel_runs(self) -> None:
        """Cancel the runs that are not done."""
        self._client.cancel([self._function, *self._tasks], force=True)

    def _submit_function(self) -> Future[bytes]:
        """Submit the function as a task: unlike scattered data, Dask recomputes a task if its worker is lost."""
        return self._client.submit(return_function, self._pickled_function, pure=False)

    def _fill_workers(self) -> None:
        """Submit further items up to the limit of the current workers."""
        workers: int = sum(self._client.nthreads().values())
        limit = RUNS_AHEAD_PER_WORKER * max(1, workers) + 1
        for number, item in islice(self._new_items, max(0, limit - len(self._tasks))):
            self._submit_task(_Task(number, item, runs_alone=False))

    def _iter_arriving(self) -> Generator[RunAnswer[Result]]:
        """Yield answers until no run is left; each finished run is replaced by a new one."""
        for future in self._completed:
            if future.status in RECOMPUTED_STATES:
                self._completed.add(future)
                continue
            task = self._tasks.pop(future)
            answer = self._read_answer(future, task)
            if answer is None:
                self._suspected_tasks.append(task)
            else:
                yield answer
            self._fill_workers()

    def _submit_task(self, task: _Task[Item]) -> None:
        data = pickle.dumps(task.item)
        future = self._client.submit(run_item, self._function, data, pure=False, priority=-task.number)
        self._tasks[future] = task
        self._completed.add(future)

    def _read_answer(self, future: Future[bytes], task: _Task[Item]) -> RunAnswer[Result] | None:
        """The answer; None if workers were lost repeatedly, which another run may have caused."""
        from distributed.scheduler import KilledWorker

        if future.status == "finished":
            return RunAnswer(task.number, pickle.loads(future.result()))
        if future.status != "error":
            raise VcdebugError("lost the connection to the Dask scheduler", where=self._address)
        error = future.exception()
        if not isinstance(error, KilledWorker):
            raise VcdebugError(f"a Dask worker failed: {type(error).__name__}: {error}", INSTALL_HINT)
        return RunAnswer(task.number, LOST_WORKER) if task.runs_alone else None


def _check_versions(client: Client, address: str) -> None:
    """Raise VcdebugError unless scheduler and workers have this version of vcdebug."""
    # A function of the standard library: one of ours cannot be unpickled where vcdebug is missing. The metadata of an
    # installed package would not do: those of a checkout are as old as its installation.
    name = "vcdebug.__version__"
    workers: dict[str, object] = client.run(locate, name, on_error="return")
    versions = [*workers.values(), client.run_on_scheduler(locate, name)]
    mismatches = [installed for installed in versions if installed != __version__]
    if mismatches:
        raise VcdebugError(
            f"{len(mismatches)} of {len(versions)} workers have no vcdebug {__version__}", INSTALL_HINT, address
        )


INSTALL_HINT = f"install vcdebug {__version__} on the machines of the scheduler and the workers"


def return_function(function: bytes) -> bytes:
    """Return the pickled function, which so becomes a result that workers fetch once."""
    return function


def run_item(function: bytes, item: bytes) -> bytes:
    """Run one pickled item on a worker; returns the pickled result or RunFailure."""
    # One run at a time: Dask uses threads, which would share the interpreter and double the memory.
    with _ONE_AT_A_TIME:
        return pickle.dumps(run_or_failure(lambda: _unpack_function(function)(pickle.loads(item))))


@lru_cache(maxsize=1)
def _unpack_function(function: bytes) -> Callable[[object], object]:
    """The unpickled function; cached, so that its own caches last from run to run."""
    unpacked: Callable[[object], object] = pickle.loads(function)
    return unpacked


@contextmanager
def _connect_client(address: str) -> Iterator[Client]:
    """A client of the cluster; raises VcdebugError if no scheduler answers."""
    try:
        from distributed import Client
    except ImportError as error:
        raise missing_extra("dask", "--dask") from error
    try:
        client = Client(address, timeout=CONNECT_TIMEOUT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise VcdebugError("no Dask scheduler responds", "give an address such as tcp://host:8786", address) from error
    with client:
        yield client


@contextmanager
def _silence_dask() -> Iterator[None]:
    """Suppress Dask's log and warnings about lost workers, which vcdebug reports in one line."""
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="distributed")
            yield
    finally:
        logging.disable(logging.NOTSET)
