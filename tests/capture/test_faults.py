"""Faults of connection and server: the user's message, the exit status, the file that is left."""

from __future__ import annotations

import errno
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.apiserver.clusters import DEPLOYMENTS, Direct, small_server
from tests.apiserver.server import ApiServer
from tests.capture.fake_server import ApiReply, serving, status, write_kubeconfig
from tests.capture.small_cluster import CONF, PODS, deployment
from tests.cli.transcripts import call
from vcdebug.capture import CaptureOptions, capture_cluster
from vcdebug.capture.api_client import ConnectionFailed, HttpAnswer, NoAnswer, Query, TooSlow
from vcdebug.errors import CaptureError
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Manifest, Snapshot

OPTIONS = CaptureOptions(first_wait=0.0)
BUDGETS = KIND_BY_NAME["PodDisruptionBudget"].api_path
CONF_FLAG = "--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf"


def quickly(seconds: float) -> None:
    """No-op sleep."""


class Breaking(Direct):
    """A connection that fails `breaks[path]` times on a path."""

    def __init__(self, api: ApiServer, breaks: dict[str, int], *, broken_off: bool = True) -> None:
        super().__init__(api)
        self.breaks = breaks
        self.broken_off = broken_off

    def send(self, method: str, path: str, query: Query, body: Manifest | None = None) -> HttpAnswer:
        if self.breaks.get(path, 0) > 0:
            self.breaks[path] -= 1
            raise ConnectionFailed("connection reset by peer", broken_off=self.broken_off)
        return super().send(method, path, query, body)


def captured(server: ApiServer, transport: Direct | None = None, **options: Any) -> Snapshot:
    return capture_cluster(replace(OPTIONS, **options), transport=transport or Direct(server), sleep=quickly)


def test_a_reset_on_the_first_request_is_tried_again() -> None:
    transport = Breaking(small_server(), {"/version": 1})
    assert (1, 34) == captured(small_server(), transport).flags.server_version


def test_a_server_that_refuses_connections_is_not_asked_again() -> None:
    transport = Breaking(small_server(), {"/version": 1}, broken_off=False)
    with pytest.raises(NoAnswer, match="no response from the API server"):
        captured(small_server(), transport)


def test_an_optional_kind_whose_connection_keeps_breaking_is_skipped_and_noted() -> None:
    snapshot = captured(small_server(), Breaking(small_server(), {BUDGETS: 99}))
    assert [("poddisruptionbudgets.policy", "no response from the API server: connection reset by peer")] == [
        (problem.object, problem.what) for problem in snapshot.problems
    ]
    assert snapshot.provenance is not None
    assert ("PodDisruptionBudget",) == snapshot.provenance.missing


def test_a_server_that_is_gone_is_not_waited_for_kind_by_kind() -> None:
    paths = {kind.api_path: 99 for kind in KIND_BY_NAME.values() if not kind.required}
    with pytest.raises(NoAnswer, match="no response from the API server"):
        captured(small_server(), Breaking(small_server(), paths))


def test_json_that_breaks_off_without_a_length_is_read_again() -> None:
    server = small_server()
    server.scripted[PODS] = [ApiReply(200, '{"kind": "PodList", "items": [{"metad')]
    assert 5 == len(captured(server).objects_of("Pod"))


@dataclass
class Clock:
    """A clock that advances by `step` per call."""

    now: float = 0.0
    step: float = 0.0
    calls: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_a_capture_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(TooSlow, match=r"timed out after 5 s; use a longer --timeout"):
        capture_cluster(
            replace(OPTIONS, deadline=5), transport=Direct(small_server()), sleep=quickly, clock=Clock(step=1.0)
        )


def test_an_answer_that_comes_byte_by_byte_is_given_up(tmp_path: Path) -> None:
    from vcdebug.capture.connection import connect_client

    server = small_server()
    server.singles["/slow"] = {"text": "x" * (3 << 20)}
    with serving(server) as address:
        options = CaptureOptions(kubeconfig=str(write_kubeconfig(tmp_path / "config", address)), deadline=30)
        transport = connect_client(options, Clock(step=20.0))
        with pytest.raises(ConnectionFailed, match="too slow"):
            transport.send("GET", "/slow", ())
        transport.close()


def test_a_request_without_an_answer_does_not_outlive_the_deadline(tmp_path: Path) -> None:
    from vcdebug.capture.connection import connect_client

    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        # One request may take ten minutes, the whole capture only one second.
        config = str(write_kubeconfig(tmp_path / "config", address))
        transport = connect_client(CaptureOptions(kubeconfig=config, deadline=1, timeout=600))
        with pytest.raises(ConnectionFailed, match="timed out"):
            transport.send("GET", "/version", ())
        transport.close()


@pytest.fixture
def server() -> ApiServer:
    return small_server()


@pytest.fixture
def words(server: ApiServer, tmp_path: Path) -> Iterator[list[str]]:
    with serving(server) as address:
        kubeconfig = write_kubeconfig(tmp_path / "config", address)
        yield ["capture", "--kubeconfig", str(kubeconfig), "-o", str(tmp_path / "x.tar.gz")]


@pytest.mark.parametrize("code", [403, 404])
def test_without_the_configuration_strict_is_no_success(
    code: int, server: ApiServer, words: list[str], tmp_path: Path
) -> None:
    path = "/api/v1/namespaces/volcano-system/configmaps/volcano-scheduler-configmap"
    server.scripted[path] = [status(code, "No", "no such thing")] * 2
    exit_code, _, err = call([*words, "--strict"])
    assert 2 == exit_code
    assert "required input is missing: the scheduler's configuration" in err
    assert "using the built-in configuration" in err
    assert load_snapshot(tmp_path / "x.tar.gz").scheduler_conf is None


def test_with_everything_strict_is_a_success(words: list[str]) -> None:
    assert 0 == call([*words, "--strict"])[0]


def test_a_zip_is_refused_before_anything_is_read(server: ApiServer, words: list[str], tmp_path: Path) -> None:
    code, _, err = call([*words[:-1], str(tmp_path / "x.zip")])
    assert (1, True) == (code, "must end in .tar.gz" in err)
    assert [] == server.requests


def test_an_existing_file_is_left_alone(server: ApiServer, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_text("mine", encoding="utf-8")
    assert 1 == call(words)[0]
    assert ("mine", []) == ((tmp_path / "x.tar.gz").read_text(encoding="utf-8"), server.requests)
    assert 0 == call([*words, "--force"])[0]


def test_capture_file_is_readable_by_its_owner_only(words: list[str], tmp_path: Path) -> None:
    assert 0 == call(words)[0]
    assert 0o600 == stat.S_IMODE((tmp_path / "x.tar.gz").stat().st_mode)


def test_full_disk_leaves_no_file(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    code, _, err = call(words)
    assert (1, True) == (code, "No space left on device" in err)
    assert ["config"] == [path.name for path in tmp_path.iterdir()]


def put_scheduler(server: ApiServer, namespace: str, kind: str = "Deployment", *args: str) -> None:
    body = deployment([CONF_FLAG, *args], namespace=namespace)
    server.store.put_object(DEPLOYMENTS if kind == "Deployment" else KIND_BY_NAME[kind].api_path, body)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_second_scheduler_is_noticed_and_may_be_chosen(kind: str, server: ApiServer) -> None:
    put_scheduler(server, "batch", kind, "--default-queue=night")
    snapshot = captured(server)
    assert snapshot.provenance is not None
    assert ("volcano-system/volcano-scheduler", "batch/volcano-scheduler") == snapshot.provenance.schedulers
    assert ["schedulers"] == [problem.object for problem in snapshot.problems if "there are 2:" in problem.what]
    assert "night" == captured(server, scheduler="batch/volcano-scheduler").flags.default_queue


def test_a_scheduler_that_is_a_statefulset_is_found_with_its_flags(server: ApiServer) -> None:
    server.store.delete_object(DEPLOYMENTS, "volcano-system/volcano-scheduler")
    put_scheduler(server, "volcano-system", "StatefulSet", "--default-queue=night")
    snapshot = captured(server)
    assert snapshot.provenance is not None
    assert (("volcano-system/volcano-scheduler",), "night") == (
        snapshot.provenance.schedulers,
        snapshot.flags.default_queue,
    )


def test_error_about_an_unknown_scheduler_lists_the_schedulers(server: ApiServer) -> None:
    with pytest.raises(CaptureError, match="found: volcano-system/volcano-scheduler"):
        captured(server, scheduler="batch/nobody")


def scheduler_pod(name: str, phase: str, started: str, container_started: str = "") -> Manifest:
    running = {"running": {"startedAt": container_started}} if container_started else {}
    statuses = [{"name": "volcano-scheduler", "state": running}] if running else []
    return {
        "metadata": {"name": name, "namespace": "volcano-system", "labels": {"app": "volcano-scheduler"}},
        "spec": {"containers": [{"name": "volcano-scheduler", "args": [CONF_FLAG]}]},
        "status": {"phase": phase, "startTime": started, "containerStatuses": statuses},
    }


def test_a_failed_scheduler_pod_and_a_restart_do_not_count_as_its_start(server: ApiServer) -> None:
    server.store.put_object(PODS, scheduler_pod("old", "Failed", "2026-10-01T00:00:00Z"))
    server.store.put_object(PODS, scheduler_pod("new", "Running", "2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z"))
    assert datetime(2026, 11, 3, tzinfo=UTC) == captured(server).process.started


@pytest.mark.parametrize("flag", ["--plugins-dir=/plugins", "--disable-default-scheduler-config"])
def test_a_flag_that_no_replay_can_follow_is_named(flag: str, server: ApiServer) -> None:
    server.store.delete_object(DEPLOYMENTS, "volcano-system/volcano-scheduler")
    put_scheduler(server, "volcano-system", "Deployment", flag)
    snapshot = captured(server)
    assert [flag.partition("=")[0]] == [problem.object for problem in snapshot.problems]
    assert CONF == snapshot.scheduler_conf
