"""Parallel runs of one function on a local Dask cluster: a scheduler and two worker processes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import dask
import pytest
from distributed import Client, Future, LocalCluster

from tests.cli.runs import Dies, Interrupts, fails_on_three, square
from tests.cli.transcripts import call
from tests.effort import PATIENCE
from vcdebug.cli.dask_cluster import DaskExecutor
from vcdebug.cli.worker_processes import LOST_WORKER, gather_answers
from vcdebug.errors import missing_extra

NAME = "reclaim-across-queues"
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.fixture(scope="module")
def workplace() -> Iterator[LocalCluster]:
    """A local Dask cluster that never retries a run whose worker died, so that our own retry is tested."""
    settings = {"distributed.comm.timeouts.connect": "2s", "distributed.scheduler.allowed-failures": 0}
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with dask.config.set(settings), LocalCluster(**options) as cluster:
        yield cluster
        cluster.wait_for_workers(2, timeout=PATIENCE)


@pytest.fixture
def address(workplace: LocalCluster) -> str:
    """The address of the scheduler, once both workers are connected."""
    workplace.wait_for_workers(2, timeout=PATIENCE)
    return str(workplace.scheduler_address)


def ignore(_: int) -> None:
    """No-op progress callback."""


def unheard(_: str) -> None:
    """No-op message callback."""


def test_results_come_in_the_order_of_the_items_and_each_is_counted(address: str) -> None:
    counted: list[int] = []
    gathered = gather_answers(DaskExecutor(address, unheard), square, range(40), counted.append)
    assert [square(item) for item in range(40)] == list(gathered.results.values())
    assert [1] * 40 == counted


def test_a_run_that_fails_is_one_line_and_the_others_count(address: str) -> None:
    gathered = gather_answers(DaskExecutor(address, unheard), fails_on_three, range(6), ignore)
    assert [0, 1, 2, 5] == list(gathered.results)
    assert "three: is empty" == gathered.failures[3].line
    assert gathered.failures[4].line.startswith("ZeroDivisionError: ")


def test_a_worker_that_is_killed_midway_loses_no_run(address: str, tmp_path: Path) -> None:
    gathered = gather_answers(DaskExecutor(address, unheard), Dies(tmp_path, 5, 1), range(30), ignore)
    assert list(range(30)) == list(gathered.results.values())
    assert {} == gathered.failures
    assert 1 == len(list(tmp_path.iterdir()))


def test_a_run_that_ends_every_worker_fails_alone(address: str, tmp_path: Path) -> None:
    gathered = gather_answers(DaskExecutor(address, unheard), Dies(tmp_path, 2, 99), range(6), ignore)
    assert [0, 1, 3, 4, 5] == list(gathered.results.values())
    assert LOST_WORKER == gathered.failures[2]


def test_an_interruption_keeps_what_is_done(address: str) -> None:
    gathered = gather_answers(DaskExecutor(address, unheard), square, Interrupts(after=12), ignore)
    assert gathered.interrupted
    assert list(gathered.results.values()) == [square(number + 1) for number in gathered.results]


def test_odds_are_the_same_on_a_dask_cluster(address: str) -> None:
    here = call(["odds", NAME, "-n", "6", "-j", "1", "--json"])
    assert here == call(["odds", NAME, "-n", "6", "--dask", address, "--json"])
    assert 6 == json.loads(here[1])["draws"]


def test_folder_is_explained_the_same_on_a_dask_cluster(address: str) -> None:
    here = call(["explain", str(FIXTURES), "-j", "1"])
    assert here == call(["explain", str(FIXTURES), "--dask", address])
    assert (2, "") == (here[0], here[2])


def test_dask_cluster_receives_only_bytes(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    submit = Client.submit
    sent: list[object] = []

    def submitted(
        client: Client, function: Callable[..., bytes], *arguments: object, **options: object
    ) -> Future[bytes]:
        sent.extend(arguments)
        return submit(client, function, *arguments, **options)

    monkeypatch.setattr(Client, "submit", submitted)
    assert 2 == call(["odds", NAME, "-n", "8", "--dask", address])[0]
    assert {bytes, Future} == {type(argument) for argument in sent}


def test_an_address_without_a_scheduler_is_a_one_line_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vcdebug.cli.dask_cluster.CONNECT_TIMEOUT_SECONDS", 0.2)
    expected = "vcdebug: tcp://127.0.0.1:1: no Dask scheduler responds; give an address such as tcp://host:8786\n"
    assert (1, "", expected) == call(["odds", NAME, "-n", "2", "--dask", "tcp://127.0.0.1:1"])


def test_without_the_extra_a_scheduler_is_one_line_that_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    expected = f"vcdebug: {missing_extra('dask', '--dask')}\n"
    assert "the extra dask is not installed; --dask needs it; run in vcdebug's clone: pip install '.[dask]'" in expected
    assert (1, "", expected) == call(["odds", NAME, "-n", "2", "--dask", "tcp://127.0.0.1:1"])


def test_a_cluster_with_another_version_is_one_line(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vcdebug.cli.dask_cluster.__version__", "9.9")
    code, out, err = call(["odds", NAME, "-n", "2", "--dask", address])
    assert (1, "") == (code, out)
    assert err.startswith(f"vcdebug: {address}: 3 of 3 workers have no vcdebug 9.9; install vcdebug ")


def test_missing_dask_workers_are_waited_for_and_reported() -> None:
    said: list[str] = []
    with LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address="127.0.0.1:0") as empty:

        def hire(line: str) -> None:
            said.append(line)
            empty.scale(1)

        gathered = gather_answers(DaskExecutor(empty.scheduler_address, hire), square, range(3), ignore)
        assert [0, 1, 4] == list(gathered.results.values())
        assert [f"{empty.scheduler_address}: waiting for a worker to connect"] == said
