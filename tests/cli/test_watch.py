"""`vcdebug watch`: repeated readings of a cluster, with metrics and kept captures."""

from __future__ import annotations

import gc
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.apiserver.clusters import Direct, small_server
from tests.apiserver.server import ApiServer
from tests.capture.small_cluster import PODS, _pod
from tests.capture.test_faults import OPTIONS
from vcdebug.capture.permission import cluster_role
from vcdebug.cli.commands import CommandOutcome
from vcdebug.cli.commands.watch import WatchCommand, watch_cluster
from vcdebug.cli.output import Output
from vcdebug.conformance import ClusterReader
from vcdebug.errors import VcdebugError
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.loader import load_snapshot

POD_GROUPS = KIND_BY_NAME["PodGroup"].api_path
pytestmark = pytest.mark.memory  # each reading of a watch searches all of memory for garbage


class Stopped(Exception):
    """Raised to end the readings of a test."""


class Watching:
    """Runs `watch` against a test server; calls `change` with the number of each finished reading."""

    def __init__(self, server: ApiServer, folder: Path, change: Callable[[int], None], *words: str) -> None:
        parser = ArgumentParser()
        WatchCommand().add_arguments(parser)
        self.args: Namespace = parser.parse_args(["--keep", str(folder), *words])
        self.server, self.folder, self.change = server, folder, change
        self.out, self.err, self.readings = StringIO(), StringIO(), 0

    def run(self) -> None:
        reader = ClusterReader(OPTIONS, lambda: Direct(self.server), sleep=lambda _: None)

        def sleep(_: float) -> None:
            self.readings += 1
            self.change(self.readings)

        with pytest.raises(Stopped):
            watch_cluster(self.args, reader, Output(self.out, self.err), sleep)

    def scrape(self) -> dict[str, dict[tuple[str, ...], float]]:
        """The metrics as Prometheus parses them: sample name -> label values (sorted by label) -> value."""
        port = re.search(r"metrics at port (\d+)", self.err.getvalue())
        assert port is not None
        with urlopen(f"http://127.0.0.1:{port[1]}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        found: dict[str, dict[tuple[str, ...], float]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found.setdefault(sample.name, {})[tuple(sample.labels[name] for name in sorted(sample.labels))] = (
                    sample.value
                )
        return found


def blocked_server() -> ApiServer:
    """The small cluster, with pending pods that request more than a node has."""
    server = small_server()
    for row in range(2):
        pod = _pod(f"waiting-{row}", "waiting", "")
        pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "64"}
        server.store.put_object(PODS, pod)
    return server


def stop_after(readings: int) -> Callable[[int], None]:
    def change(done: int) -> None:
        if done == readings:
            raise Stopped

    return change


def test_two_hundred_readings_of_churn_keep_each_new_cause_once_in_flat_memory(tmp_path: Path) -> None:
    server, sizes = blocked_server(), dict[int, int]()

    def churn(done: int) -> None:
        """Add pods of another scheduler; at reading 120, add a pod that requests too much."""
        server.requests.clear()
        if done in (119, 199):
            gc.collect()
            sizes[done] = len(gc.get_objects())
        if done == 200:
            raise Stopped
        other = _pod(f"other-{done % 7}", "", f"node-{done % 3}")
        other["metadata"].update(namespace="elsewhere", uid=f"uid-{done}", annotations={})
        other["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "100m"}
        server.store.put_object(PODS, other)
        if done == 120:
            large = _pod("large-0", "large", "")
            large["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "64"}
            server.store.put_object(PODS, large)
            group: dict[str, Any] = {"metadata": {"name": "large", "namespace": "team-a", "uid": "g"}}
            group |= {"spec": {"minMember": 1, "queue": "default"}, "status": {"phase": "Inqueue"}}
            server.store.put_object(POD_GROUPS, group)

    watching = Watching(server, tmp_path, churn)
    watching.run()
    kept = [line for line in watching.err.getvalue().splitlines() if line.startswith("kept ")]
    assert sorted(set(kept)) == sorted(kept)
    causes = re.findall(r"new cause (\S+ in queue \w+)", watching.err.getvalue())
    assert ["larger-than-any-node in queue research", "larger-than-any-node in queue default"] == causes
    assert len(list(tmp_path.iterdir())) == 2
    # A leaked recording would add thousands of objects per reading, the test server's history adds a few.
    assert sizes[199] - sizes[119] < 40 * (199 - 119)


def test_metrics_are_read_back_by_a_prometheus_client(tmp_path: Path) -> None:
    scraped = []

    def change(done: int) -> None:
        scraped.append(watching.scrape())
        if done == 2:
            raise Stopped

    watching = Watching(blocked_server(), tmp_path, change, "--metrics", ":0")
    watching.run()
    first, second = scraped
    assert {1.0} == set(first["vcdebug_pending_jobs"].values())
    assert {2.0} == set(first["vcdebug_pending_pods"].values())
    assert [("larger-than-any-node", "research")] == [*first["vcdebug_pending_pods"]]
    assert [1.0, 2.0] == [each["vcdebug_readings_total"][()] for each in scraped]
    assert 0.0 == second["vcdebug_prediction_mismatches_total"][()]
    assert 0.0 <= second["vcdebug_last_reading_age_seconds"][()]


def test_a_prediction_that_failed_is_counted_and_both_captures_are_kept(tmp_path: Path) -> None:
    server = small_server()

    def bind_elsewhere(done: int) -> None:
        if done == 2:
            raise Stopped
        pod = _pod("waiting-0", "waiting", "node-9")
        bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-01T10:00:00Z"}
        pod["status"]["conditions"] = [bound]
        server.store.put_object(PODS, pod)

    watching = Watching(server, tmp_path, bind_elsewhere)
    watching.run()
    assert "prediction failed for team-a/waiting" in watching.err.getvalue()
    assert "team-a/waiting: the scheduler decided differently than the replay" in watching.out.getvalue()
    bound = [
        [pod["spec"].get("nodeName") for pod in load_snapshot(file).objects_of("Pod") if "waiting-0" in str(pod)]
        for file in sorted(tmp_path.iterdir())
    ]
    assert [None] in bound
    assert ["node-9"] in bound


def test_an_eviction_that_repeats_is_kept(tmp_path: Path) -> None:
    server = small_server()
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}

    def evict(done: int) -> None:
        """Even readings get a new pod of the same name; odd readings get its eviction by the scheduler."""
        if done == 4:
            raise Stopped
        pod = _pod("train-0", "train", "node-0")
        pod["metadata"]["uid"] = "uid-train-0" if done == 1 else f"uid-{done // 2}"
        if done % 2:
            pod["metadata"]["deletionTimestamp"] = "2026-11-01T10:00:00Z"
            pod["status"]["conditions"] = [condition]
        server.store.put_object(PODS, pod)

    watching = Watching(server, tmp_path, evict)
    watching.run()
    assert 2 == watching.out.getvalue().count("team-a/train-0 of team-a/train was evicted (unforeseen)")
    assert 1 == watching.err.getvalue().count("team-a/train was evicted again")


def test_a_condition_runs_a_command_once_with_the_capture(tmp_path: Path) -> None:
    told = tmp_path / "told"
    script = f"import os; open({str(told)!r}, 'a').write(os.environ['VCDEBUG_CAPTURE'] + chr(10))"
    words = ("--on", "team-a/waiting is Pending", "--do", f'exec {sys.executable} -c "{script}"')
    watching = Watching(blocked_server(), tmp_path / "kept", stop_after(3), *words)
    watching.run()
    (file,) = told.read_text().split()
    assert Path(file) in (tmp_path / "kept").iterdir()


def test_failed_command_is_reported_and_does_not_end_the_watch(tmp_path: Path) -> None:
    words = ("--on", "team-a/waiting is Pending", "--do", "exec /no/such/program")
    watching = Watching(blocked_server(), tmp_path, stop_after(2), *words)
    watching.run()
    assert 2 == watching.readings
    assert "/no/such/program" in watching.err.getvalue()


def test_watch_with_namespace_explains_only_its_jobs(tmp_path: Path) -> None:
    watching = Watching(blocked_server(), tmp_path, stop_after(1), "--namespace", "team-b")
    watching.run()
    assert ["release v1.15.1 (replayed exactly)"] == [
        line.split(" ", 1)[1] for line in watching.out.getvalue().splitlines()
    ]
    assert [] == list(tmp_path.iterdir())


def test_nothing_is_written_to_the_cluster(tmp_path: Path) -> None:
    server = small_server()
    Watching(server, tmp_path, stop_after(2)).run()
    assert {"GET"} == {request.method for request in server.requests if "accessreviews" not in request.path}


@pytest.mark.parametrize("address", ["nonsense", ":99999", "127.0.0.1:x"])
def test_an_address_that_is_none_is_an_error(address: str, tmp_path: Path) -> None:
    watching = Watching(small_server(), tmp_path, stop_after(1), "--metrics", address)
    with pytest.raises(VcdebugError, match="is not an address"):
        watch_cluster(
            watching.args, ClusterReader(OPTIONS, lambda: pytest.fail("read")), Output(watching.out, watching.err)
        )


def test_the_manifest_grants_what_is_read_and_starts_the_command() -> None:
    documents = list(yaml.safe_load_all(Path("deploy/watch.yaml").read_text(encoding="utf-8")))
    (role,) = [one for one in documents if one["kind"] == "ClusterRole"]
    assert yaml.safe_load(cluster_role("volcano-scheduler-configmap"))["rules"] == role["rules"]
    assert {"get", "list", "watch"} >= {verb for rule in role["rules"] for verb in rule["verbs"]}
    (container,) = next(one for one in documents if one["kind"] == "Deployment")["spec"]["template"]["spec"][
        "containers"
    ]
    assert "watch" == container["args"][0]
    parser = ArgumentParser()
    WatchCommand().add_arguments(parser)
    assert ":9477" in parser.parse_args(container["args"][1:]).metrics


def test_ctrl_c_ends_it_with_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ClusterReader, "capture", interrupt)
    watching = Watching(small_server(), tmp_path, stop_after(1))
    assert CommandOutcome.DONE is WatchCommand().execute(watching.args, Output(watching.out, watching.err))
