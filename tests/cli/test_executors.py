"""Parallel runs of one function, in this process and in worker processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from itertools import islice
from multiprocessing import active_children
from pathlib import Path

import pytest

from tests.cli.runs import Dies, Interrupts, fails_on_three, process_id_after, square
from vcdebug.cli.batch import choose_executor
from vcdebug.cli.output import RunFailure
from vcdebug.cli.worker_processes import (
    ABANDONED,
    LOST_WORKER,
    MAX_LOST_WORKERS,
    Executor,
    InProcessExecutor,
    Item,
    ProcessExecutor,
    Result,
    RunAnswer,
    TrialRounds,
    WorkerPool,
    gather_answers,
)
from vcdebug.errors import VcdebugError

EXECUTORS = (InProcessExecutor(), ProcessExecutor(2))


def ignore(_: int) -> None:
    """No-op progress callback."""


@pytest.mark.parametrize("where", EXECUTORS, ids=lambda one: type(one).__name__)
def test_results_come_in_the_order_of_the_items_and_each_is_counted(where: Executor) -> None:
    counted: list[int] = []
    gathered = gather_answers(where, square, range(20), counted.append)
    assert [square(item) for item in range(20)] == list(gathered.results.values())
    assert [1] * 20 == counted
    assert ({}, False) == (gathered.failures, gathered.interrupted)


@pytest.mark.parametrize("where", EXECUTORS, ids=lambda one: type(one).__name__)
def test_a_run_that_fails_is_one_line_and_the_others_count(where: Executor) -> None:
    gathered = gather_answers(where, fails_on_three, range(6), ignore)
    assert [0, 1, 2, 5] == list(gathered.results)
    assert [3, 4] == list(gathered.failures)
    assert "three: is empty" == gathered.failures[3].line
    assert gathered.failures[4].line.startswith("ZeroDivisionError: ")


def test_executor_returns_no_results_without_items() -> None:
    assert {} == gather_answers(ProcessExecutor(2), square, [], ignore).results


def test_a_lost_worker_loses_no_run(tmp_path: Path) -> None:
    gathered = gather_answers(ProcessExecutor(2), Dies(tmp_path, 5, 1), range(12), ignore)
    assert list(range(12)) == list(gathered.results.values())
    assert 1 == len(list(tmp_path.iterdir()))


def test_a_run_that_ends_every_worker_fails_alone(tmp_path: Path) -> None:
    gathered = gather_answers(ProcessExecutor(2), Dies(tmp_path, 5, 99), range(8), ignore)
    assert [0, 1, 2, 3, 4, 6, 7] == list(gathered.results.values())
    assert LOST_WORKER == gathered.failures[5]
    assert MAX_LOST_WORKERS == len(list(tmp_path.iterdir()))


@pytest.mark.parametrize("where", EXECUTORS, ids=lambda one: type(one).__name__)
def test_an_interruption_keeps_what_is_done_and_leaves_no_worker(where: Executor) -> None:
    gathered = gather_answers(where, square, Interrupts(after=6), ignore)
    assert gathered.interrupted
    assert list(gathered.results.values()) == [square(number + 1) for number in gathered.results]
    assert 0 < len(gathered.results) <= 6
    assert [] == active_children()


def test_one_worker_or_one_run_needs_no_process() -> None:
    assert isinstance(choose_executor(1, 50, None, print), InProcessExecutor)
    assert isinstance(choose_executor(8, 1, None, print), InProcessExecutor)
    assert isinstance(choose_executor(2, 50, None, print), ProcessExecutor)


class Breaks:
    """An executor that fails after a number of answers."""

    def __init__(self, answers: int) -> None:
        self.answers = answers

    def run_all(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[RunAnswer[Result]]:
        yield from islice(InProcessExecutor().run_all(function, items), self.answers)
        raise VcdebugError("the scheduler has left", where="tcp://127.0.0.1:1")


def test_an_executor_that_breaks_keeps_what_is_done() -> None:
    gathered = gather_answers(Breaks(2), square, range(5), ignore)
    assert {0: 0, 1: 1} == gathered.results
    assert RunFailure("tcp://127.0.0.1:1: the scheduler has left") == gathered.executor_failure


def test_an_executor_that_breaks_before_anything_is_done_is_an_error() -> None:
    with pytest.raises(VcdebugError, match="the scheduler has left"):
        gather_answers(Breaks(0), square, range(5), ignore)


def test_round_ends_between_two_trials_after_an_interruption() -> None:
    tried: list[int] = []

    def trial(number: int) -> int:
        tried.append(number)
        return number

    rounds = TrialRounds(trial, 1, lambda: len(tried) < 2)
    assert [0, 1, None, None] == rounds([0, 1, 2, 3])
    assert [0, 1] == tried


def test_workers_are_given_up_in_the_middle_of_a_trial() -> None:
    pool: WorkerPool[float, None] = WorkerPool(1, time.sleep)
    assert [ABANDONED, ABANDONED] == pool([3600.0, 3600.0], lambda: False)
    pool.end_workers()


def test_trials_go_on_in_this_process_until_workers_have_started() -> None:
    rounds = TrialRounds(process_id_after, 2, expects_slow=True)
    with closing(rounds):
        first = rounds([0.0])
        processes: list[int | None] = []
        while len({os.getpid(), *processes}) < 3 and len(processes) < 3000:
            processes += rounds([0.05, 0.05, 0.05])
    assert first == [os.getpid()]
    own = [process for process in processes if process == os.getpid()]
    assert processes[: len(own)] == own
    assert 3 == len({os.getpid(), *processes})


def test_a_worker_that_has_started_says_so_without_an_answer() -> None:
    pool: WorkerPool[int, int] = WorkerPool(2, square)
    pool.start_workers(2)
    deadline = time.monotonic() + 120
    while not pool.prepare_workers():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert [1, 4, 9] == pool([1, 2, 3])
    pool.end_workers()
