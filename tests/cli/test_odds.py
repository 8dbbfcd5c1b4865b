"""`odds`, and the executors that it runs on."""

from __future__ import annotations

import json
import os
from multiprocessing import parent_process
from pathlib import Path

import pytest

from tests.cli.transcripts import call
from vcdebug.cli.executor import Here, Processes, executor

NAME = "reclaim-across-queues"


def square(number: int) -> int:
    return number * number


class DiesOnce:
    """Ends its worker process on one item, the first time."""

    def __init__(self, mark: Path, item: int) -> None:
        self.mark = mark
        self.item = item

    def __call__(self, number: int) -> int:
        if number == self.item and parent_process() is not None and not self.mark.exists():
            self.mark.touch()
            os._exit(1)
        return number


def test_every_item_is_run_once_wherever_it_runs() -> None:
    items = list(range(20))
    expected = [square(item) for item in items]
    assert expected == list(Here().run(square, items))
    assert expected == sorted(Processes(2).run(square, items))
    assert isinstance(executor(1), Here)


def test_a_lost_worker_loses_no_run(tmp_path: Path) -> None:
    lost = DiesOnce(tmp_path / "died", 5)
    assert list(range(12)) == sorted(Processes(2).run(lost, list(range(12))))
    assert lost.mark.exists()


def test_an_error_of_a_run_is_not_run_again() -> None:
    with pytest.raises(ZeroDivisionError):
        list(Processes(2).run(_fails, [1, 0]))


def _fails(number: int) -> float:
    return 1 / number


def test_worker_processes_come_to_the_same_as_one() -> None:
    one = call(["odds", NAME, "-n", "6", "--workers", "1", "--json"])
    assert one == call(["odds", NAME, "-n", "6", "--workers", "2", "--json"])
    document = json.loads(one[1])
    assert (2, 6) == (one[0], document["draws"])
    assert all(0 <= job["placed"] <= 6 for job in document["jobs"])


def test_people_read_how_often_each_job_is_placed() -> None:
    code, out, err = call(["odds", NAME, "-n", "4", "--workers", "1"])
    assert (2, "") == (code, err)
    assert out.startswith(f"{NAME}: 4 draws, ")
    assert "where draws part" in out


def test_the_number_of_draws_must_be_positive() -> None:
    code, out, err = call(["odds", NAME, "-n", "0"])
    assert (1, "") == (code, out)
    assert "not a positive number" in err
