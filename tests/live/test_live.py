"""The documented lines about live clusters against a real API server, scheduler and controllers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.live.cluster import CONF, PACKED, RELEASE, Cluster, wait_for
from tests.live.running import finish, resident_megabytes, run, screen_until, start
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot

CYCLES = int(os.environ.get("VCDEBUG_LIVE_CYCLES", "10"))
"""Judged cycles, quiet ones and as many busy ones; 50 take about ten minutes."""
READINGS = int(os.environ.get("VCDEBUG_LIVE_READINGS", "30"))
DIFFERS, INCONCLUSIVE = 2, 3
"""Exit codes of `verify`."""
MAX_GROWTH = 40.0
"""Megabytes by which `watch` may grow after its first readings."""


@contextmanager
def churning(cluster: Cluster, *, strangers: bool, pause: float = 1.5) -> Iterator[None]:
    """Jobs of both ranks come and go for the time of the block."""
    ends, cluster.strangers = threading.Event(), strangers

    def submit_and_delete() -> None:
        number = 0
        while not ends.wait(pause):
            number += 1
            rank = cluster.draws.choice(["low", "high"])
            cluster.submit(f"job-{number}", cluster.draws.randint(1, 4), str(cluster.draws.randint(1, 3)), rank)
            if number > 5:
                cluster.delete("scheduling.volcano.sh/v1beta1", "PodGroup", "team-a", f"job-{number - 5}")
                for row in range(4):
                    cluster.delete("v1", "Pod", "team-a", f"job-{number - 5}-{row}")

    thread = threading.Thread(target=submit_and_delete, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join(10)
        cluster.strangers = False


def captured(file: str | Path) -> Recording:
    return replay_cycle(load_snapshot(Path(file)))


def full_cluster(cluster: Cluster) -> None:
    """Fill the nodes with jobs of low rank: 42 CPUs in all."""
    for row in range(5):
        cluster.submit(f"low-{row}", 4, "2", least=1)
    wait_for(lambda: all(cluster.is_bound(f"team-a/low-{row}-3") for row in range(5)), "low jobs are bound")


def test_a_volcano_job_without_pods_is_awaited(cluster: Cluster, tmp_path: Path) -> None:
    command = ["capture", "--until", "team-a/train is Pending", "--every", "1s", "-o", str(tmp_path / "night")]
    awaiting = start(cluster, *command)
    time.sleep(4)
    cluster.submit_volcano_job("train", 40, "4")
    code, out, err = finish(awaiting)
    assert (0, True) == (code, "team-a/train is not admitted" in err), err
    assert not [pod for pod in cluster.pods("team-a") if pod["metadata"]["name"].startswith("train")]
    code, said, _ = run(cluster, "explain", out.strip(), "team-a/train")
    assert said.startswith("team-a/train is ")
    assert "team-a/train" in screen_until(cluster, "team-a/train", "open", str(tmp_path / "night"))


def test_a_change_is_awaited_by_watches_not_by_captures(cluster: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "night"
    awaiting = start(cluster, "capture", "--until", "team-a/late is Pending", "-o", str(folder))
    wait_for(lambda: list(folder.glob("*.tar.gz")), "the first capture")
    time.sleep(6)
    cluster.submit("late", 1, "20")
    code, _, err = finish(awaiting, 50)
    assert (0, 2) == (code, len(list(folder.iterdir()))), err


@pytest.mark.parametrize("follow", [(), ("--follow",)])
def test_the_debugger_opens_a_cluster(cluster: Cluster, follow: tuple[str, ...]) -> None:
    cluster.submit("train", 2, "20")
    assert "team-a/train" in screen_until(cluster, "team-a/train", "open", "--context", "live", *follow)


def test_the_cluster_before_an_eviction_and_before_a_bind(cluster: Cluster, tmp_path: Path) -> None:
    full_cluster(cluster)
    cluster.submit("urgent", 2, "4", "high", "team-b")
    wait_for(lambda: cluster.is_bound("team-b/urgent-1"), "the job of high rank is bound", 120)
    gone = sorted({f"low-{row}-{pod}" for row in range(5) for pod in range(4)} - names(cluster, "team-a"))
    victim, file = f"team-a/{gone[0]}", tmp_path / "eviction.tar.gz"
    code, _, err = run(cluster, "capture", "--before-eviction", victim, "-o", str(file))
    assert (0, False) == (code, "no longer shows" in err), err
    assert victim in {effect.task for effect in cycle_effects(captured(file)).evicted}
    file = tmp_path / "bind.tar.gz"
    cluster.upgrade_scheduler("v1.13.0")
    code, _, err = run(cluster, "capture", "--before-bind", "team-b/urgent-0", "-o", str(file))
    assert (0, False) == (code, "no longer shows" in err), err
    cluster.upgrade_scheduler(RELEASE)
    assert "team-b/urgent-0" in {effect.task for effect in cycle_effects(captured(file)).bound}
    assert RELEASE in str(load_snapshot(file).release), "the release is that of the earlier state"


def names(cluster: Cluster, namespace: str) -> set[str]:
    return {pod["metadata"]["name"] for pod in cluster.pods(namespace)}


def test_a_compacted_state_is_said(cluster: Cluster, tmp_path: Path) -> None:
    cluster.submit("train", 1)
    wait_for(lambda: cluster.is_bound("team-a/train-0"), "the pod is bound")
    cluster.submit("later", 1)
    time.sleep(6)  # watch caches of the API server hold what etcd has forgotten for a while
    cluster.compact()
    code, _, err = run(cluster, "capture", "--before-bind", "team-a/train-0", "-o", str(tmp_path / "x.tar.gz"))
    assert (0, True) == (code, "the current cluster is captured, after the bind of team-a/train-0" in err), err


@pytest.mark.parametrize("strangers", [False, True], ids=["quiet", "busy"])
def test_no_cycle_is_a_false_alarm(cluster: Cluster, strangers: bool) -> None:
    with churning(cluster, strangers=strangers):
        code, cycles = judged_cycles(cluster, CYCLES)
    words = [job["verdict"] for cycle in cycles for job in cycle["jobs"]]
    print({word: words.count(word) for word in sorted(set(words))}, len(cycles), "cycles")
    assert [] == [(job, cycle) for cycle in cycles for job in cycle["jobs"] if job["verdict"] == "differs"]
    assert DIFFERS != code
    assert CYCLES <= len(cycles)
    assert words.count("overtaken") <= len(words) // 10
    assert words.count("agreed") > CYCLES // 2, "verdicts that say nothing are no proof"


def test_a_wrong_configuration_is_caught_while_unrelated_pods_change(cluster: Cluster) -> None:
    cluster.start_scheduler(PACKED)
    try:
        with churning(cluster, strangers=True):
            # Both configurations choose the same node now and then, so that a single cycle proves nothing.
            code, cycles = judged_cycles(cluster, 30)
    finally:
        cluster.start_scheduler(CONF)
    print([cycle["agrees"] for cycle in cycles])
    assert DIFFERS == code


def judged_cycles(cluster: Cluster, count: int) -> tuple[int, list[dict[str, Any]]]:
    """(exit code, documents) of `verify --for`, repeated until `count` cycles are judged or one differs."""
    found, decoder, code = list[dict[str, Any]](), json.JSONDecoder(), 0
    end = time.monotonic() + 30 * count
    while len(found) < count and code != DIFFERS and time.monotonic() < end:
        seconds = 3 * (count - len(found)) + 5
        process = start(cluster, "verify", "--for", f"{seconds}s", "--wait", "10s", "--json")
        code, out, err = finish(process, 4 * seconds + 60)
        assert code in (0, DIFFERS, INCONCLUSIVE), err
        while out := out.lstrip():
            document, place = decoder.raw_decode(out)
            found.append(document)
            out = out[place:]
    return code, found


def test_the_printed_roles_are_enough(cluster: Cluster, tmp_path: Path) -> None:
    cluster.submit("train", 2, "20")
    for user, words in (("viewer", ()), ("tenant", ("--namespace", "team-a"))):
        bind_role(cluster, user, run(cluster, "capture", "--rbac", *words)[1])
        file = tmp_path / f"{user}.tar.gz"
        code, _, err = run(cluster, "capture", *words, "-o", str(file), user=user)
        assert 0 == code, err
        assert user == "tenant" or "missing permission" not in err, err
        code, said, _ = run(cluster, "explain", str(file), "team-a/train")
        assert said.startswith("team-a/train is ")


def bind_role(cluster: Cluster, user: str, text: str) -> None:
    role = yaml.safe_load(text)
    group, kind = "rbac.authorization.k8s.io", role["kind"]
    reference = {"apiGroup": group, "kind": kind, "name": role["metadata"]["name"]}
    subjects = [{"apiGroup": group, "kind": "User", "name": user}]
    metadata = {key: text for key, text in role["metadata"].items() if key in ("name", "namespace")}
    binding = {"apiVersion": f"{group}/v1", "kind": f"{kind}Binding", "metadata": metadata}
    cluster.put(role, {**binding, "roleRef": reference, "subjects": subjects})


def test_an_outage_is_survived_and_said(cluster: Cluster, tmp_path: Path) -> None:
    words = ["--until", "team-a/late is Pending", "--every", "1s", "--timeout", "5s", "-o", str(tmp_path / "night")]
    awaiting = start(cluster, "capture", *words)
    time.sleep(4)
    with cluster.without_answers():
        begun = time.monotonic()
        code, _, err = run(cluster, "capture", "--timeout", "5s", "-o", str(tmp_path / "x.tar.gz"))
        assert (1, True) == (code, time.monotonic() - begun < 12), err
        time.sleep(8)
    cluster.submit("late", 1, "20")
    code, _, err = finish(awaiting)
    assert (0, True) == (code, "changes of at least" in err), err


def test_watch_explains_counts_and_keeps_without_growing(cluster: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    watching = start(cluster, "watch", "--every", "1s", "--metrics", ":0", "--keep", str(folder))
    assert watching.stderr is not None
    said = lines_of(watching, "stderr")
    with churning(cluster, strangers=True):
        cluster.submit("too-large", 1, "20")
        wait_for(lambda: "metrics at port" in "".join(said), "metrics are served")
        port = re.findall(r"metrics at port (\d+)", "".join(said))[0]
        wait_for(lambda: readings(port) > READINGS // 3, "the first readings", 600)
        early = resident_megabytes(watching)
        wait_for(lambda: readings(port) > READINGS, "all readings", 40 * READINGS)
        late = resident_megabytes(watching)
    figures = scraped(port)
    watching.terminate()
    print(f"{early:.0f} MB, then {late:.0f} MB; {figures}", *said)
    assert late - early < MAX_GROWTH
    assert figures["vcdebug_pending_jobs"]
    assert [0.0] == list(figures["vcdebug_prediction_mismatches_total"].values())
    causes = re.findall(r"new cause (.*?) in queue (\S+)", "".join(said))
    assert causes
    assert len(causes) == len(set(causes)), "each cause is kept once"


def lines_of(process: subprocess.Popen[str], name: str) -> list[str]:
    """The lines of a stream, read by a thread as they come."""
    lines: list[str] = []
    threading.Thread(target=lambda: lines.extend(getattr(process, name)), daemon=True).start()
    return lines


def scraped(port: str) -> dict[str, dict[tuple[str, ...], float]]:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
        text = answer.read().decode()
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


def readings(port: str) -> float:
    return sum(scraped(port).get("vcdebug_readings_total", {}).values())
