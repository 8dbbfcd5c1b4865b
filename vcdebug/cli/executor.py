"""Many runs of one function: what an executor promises, the one that needs no worker, and how answers are gathered."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from vcdebug.cli.output import RunFailure, run_or_failure
from vcdebug.errors import VcdebugError

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
