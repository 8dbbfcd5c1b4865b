"""The scheduler's past and an extender's answers survive loading and saving."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import node, pod_group, snapshot_from_objects
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.snapshot.snapshot import DEFAULT_NOW, Snapshot
from vcdebug.whatif.cycles import CycleChain

PAST = {
    "started": "2026-10-31T00:00:00Z",
    "lastRescheduling": "2026-10-31T23:50:00Z",
    "lastEviction": "2026-10-31T23:55:00Z",
    "sessions": 7,
    "hyperNodes": {"default/j": {"": "rack", "default/j/a-0": "rack"}},
    "reservedCpus": [{"node": "n1", "pod": "default/a", "uid": "u", "cpus": "0-3"}],
    "reservedClaims": [
        {
            "claim": "default/c",
            "pod": "default/a",
            "node": "n1",
            "devices": [{"driver": "d", "pool": "n1", "device": "0", "request": "r"}],
        }
    ],
}
ANSWERS = {"predicate": {"*": {"status": "no"}}}


def test_saved_snapshot_keeps_process_persistence_and_extender_answers(tmp_path: Path) -> None:
    snapshot = snapshot_from_objects([node("n1")], scheduler=PAST, persistence="off", extender=ANSWERS)
    save_snapshot(snapshot, tmp_path / "s.tar.gz")
    again = load_snapshot(tmp_path / "s.tar.gz")
    assert (snapshot.process, "off", ANSWERS) == (again.process, again.persistence, again.extender)
    assert datetime(2026, 10, 31, tzinfo=UTC) == again.process.started
    assert (7, "0-3") == (again.process.sessions, again.process.reserved_cpus[0].cpus)


def test_without_a_start_it_is_the_first_cycle() -> None:
    now = datetime(2026, 11, 1, tzinfo=UTC)
    assert SchedulerProcess().is_first_cycle(now)
    assert SchedulerProcess(started=now).is_first_cycle(now)
    assert not SchedulerProcess(started=now - timedelta(seconds=1)).is_first_cycle(now)


SCHEDULER: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "volcano-scheduler-7d9f", "namespace": "volcano-system", "uid": "s"},
    "spec": {
        "nodeName": "n1",
        "containers": [{"name": "proxy"}, {"name": "main", "image": "hub/vc-scheduler:v1.14.4"}],
    },
    "status": {
        "phase": "Running",
        "startTime": "2026-10-20T08:00:00Z",
        "containerStatuses": [{"name": "main", "state": {"running": {"startedAt": "2026-10-25T08:00:00Z"}}}],
    },
}
LABELLED = {**SCHEDULER, "metadata": {**SCHEDULER["metadata"], "labels": {"app": "volcano-scheduler"}}, "spec": {}}
WAITING = {**SCHEDULER, "status": {**SCHEDULER["status"], "phase": "Pending"}}
OTHER_POD = {**SCHEDULER, "spec": {"containers": [{"name": "main", "image": "b"}]}}
LARGE = {"kind": "Pod", "metadata": {"name": "c", "namespace": "n", "uid": "c", "annotations": {"a": "x" * (1 << 20)}}}
OCTOBER_20, OCTOBER_25 = (datetime(2026, 10, day, 8, tzinfo=UTC) for day in (20, 25))
OCTOBER_31 = datetime(2026, 10, 31, tzinfo=UTC)


def load_objects(folder: Path, meta: dict[str, Any], *objects: dict[str, Any]) -> Snapshot:
    (folder / "meta.json").write_text(json.dumps({"now": "2026-11-01T00:00:00Z", **meta}), encoding="utf-8")
    (folder / "objects.json").write_text(
        json.dumps({"kind": "List", "items": [node("n1"), *objects]}), encoding="utf-8"
    )
    return load_snapshot(folder)


@pytest.mark.parametrize(
    ("meta", "pod", "started", "release"),
    [
        ({}, SCHEDULER, OCTOBER_25, "v1.14.4"),
        ({}, LABELLED, OCTOBER_20, "master"),
        ({"scheduler": {"started": "2026-10-31T00:00:00Z"}}, SCHEDULER, OCTOBER_31, "v1.14.4"),
        ({}, WAITING, None, "master"),
        ({}, OTHER_POD, None, "master"),
        ({"now": "2026-10-24T00:00:00Z"}, SCHEDULER, None, "v1.14.4"),
    ],
    ids=["container", "label", "meta.json", "not running", "another pod", "clock before it"],
)
@pytest.mark.parametrize("more", [(), (LARGE,)], ids=["small file", "large file"])
def test_start_and_release_come_from_the_schedulers_pod_else_a_running_process_is_assumed(
    tmp_path: Path,
    meta: dict[str, Any],
    pod: dict[str, Any],
    started: datetime | None,
    release: str,
    more: tuple[dict[str, Any], ...],
) -> None:
    snapshot = load_objects(tmp_path, meta, pod, *more)
    assert (started, started is None) == (snapshot.process.started, snapshot.process.assumed)
    assert not snapshot.process.is_first_cycle(snapshot.now)
    assert release == snapshot.release.name


HEARTBEAT = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-10-20T08:00:00Z"}
SEEN = {
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "n", "uid": "e"},
    "lastTimestamp": "2026-10-25T08:00:00Z",
}


@pytest.mark.parametrize(
    ("now", "conditions", "events", "expected"),
    [
        (None, [HEARTBEAT], [], OCTOBER_20),
        (None, [HEARTBEAT], [SEEN], OCTOBER_25),
        (None, [], [SEEN], OCTOBER_25),
        (None, [{**HEARTBEAT, "lastHeartbeatTime": "soon"}], [], DEFAULT_NOW),
        (None, [], [], DEFAULT_NOW),
        ("2026-10-31T00:00:00Z", [HEARTBEAT], [SEEN], OCTOBER_31),
    ],
)
def test_the_clock_without_a_stated_one_is_the_latest_heartbeat_or_event(
    tmp_path: Path,
    now: str | None,
    conditions: list[dict[str, str]],
    events: list[dict[str, Any]],
    expected: datetime,
) -> None:
    reporting = {**node("n2"), "status": {**node("n2")["status"], "conditions": conditions}}
    assert expected == load_objects(tmp_path, {"now": now}, reporting, *events).now


@pytest.mark.parametrize(
    ("created", "expected"),
    [
        ("2027-01-05T12:10:00Z", datetime(2027, 1, 5, 12, 10, tzinfo=UTC)),
        ("2026-10-20T00:00:00Z", DEFAULT_NOW),
        ("soon", DEFAULT_NOW),
    ],
)
def test_without_reports_the_clock_is_not_before_the_newest_object(
    tmp_path: Path, created: str, expected: datetime
) -> None:
    new = {**node("n2"), "metadata": {**node("n2")["metadata"], "creationTimestamp": created}}
    assert expected == load_objects(tmp_path, {"now": None}, new).now


@pytest.mark.parametrize("meta", [{"scheduler": {"started": None}}, {"family": "devices", "seed": 1}])
def test_a_first_cycle_is_stated_and_survives_a_save(tmp_path: Path, meta: dict[str, Any]) -> None:
    snapshot = load_objects(tmp_path, meta, SCHEDULER)
    assert SchedulerProcess() == snapshot.process
    save_snapshot(snapshot, tmp_path / "s.tar.gz")
    assert SchedulerProcess() == load_snapshot(tmp_path / "s.tar.gz").process


def test_an_assumed_process_stays_assumed(tmp_path: Path) -> None:
    snapshot = load_objects(tmp_path, {})
    save_snapshot(snapshot, tmp_path / "s.tar.gz")
    assert load_snapshot(tmp_path / "s.tar.gz").process.assumed
    assert CycleChain(replay_cycle(snapshot)).run_next().snapshot.process.assumed


KUBECTL = Path(__file__).parent / "inputs" / "vgpu-kubectl"
"""A pod requests two virtual GPUs, the only node has one card, and the scheduler has run for twelve days."""


def test_an_answer_says_what_is_assumed_of_the_process_where_cards_decide(tmp_path: Path) -> None:
    stated = explain_by_name(replay_cycle(load_snapshot(KUBECTL)), "a")
    shutil.copytree(KUBECTL, tmp_path / "s")
    listed = json.loads((KUBECTL / "objects.json").read_text(encoding="utf-8"))
    kept = [one for one in listed["items"] if one["metadata"].get("namespace") != "volcano-system"]
    (tmp_path / "s" / "objects.json").write_text(json.dumps({**listed, "items": kept}), encoding="utf-8")
    assumed = explain_by_name(replay_cycle(load_snapshot(tmp_path / "s")), "a")
    assert "predicates-unresolvable" == stated.cause_code
    assert stated.sentence == assumed.sentence
    doubt = "nothing says when the scheduler started, and a running process is assumed (meta.json: scheduler.started)"
    assert ("", doubt) == (stated.doubt, assumed.doubt)


def test_a_time_that_cannot_be_read_is_a_problem() -> None:
    snapshot = snapshot_from_objects([pod_group("j")], scheduler={"started": "yesterday"})
    assert SchedulerProcess() == snapshot.process
    assert ["scheduler.started"] == [p.field for p in snapshot.problems if p.field.startswith("scheduler")]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sessions", -1),
        ("sessions", "many"),
        ("hyperNodes", {"j": "rack"}),
        ("hyperNodes", {"j": {"": 5}}),
        ("reservedCpus", [{"node": "n1"}]),
        ("reservedCpus", [{"node": "n1", "pod": "a", "uid": "u", "cpus": 3}]),
        ("reservedCpus", {}),
        ("reservedClaims", [{"claim": "c"}]),
        ("reservedClaims", [{"claim": "c", "pod": "p", "node": "n", "devices": "d"}]),
    ],
)
def test_invalid_process_state_is_a_problem(key: str, value: object) -> None:
    snapshot = snapshot_from_objects([pod_group("j")], scheduler={key: value})
    assert SchedulerProcess() == snapshot.process
    assert [f"scheduler.{key}"] == [p.field for p in snapshot.problems if p.field.startswith("scheduler")]


def test_answers_of_the_wrong_type_are_left_out() -> None:
    snapshot = snapshot_from_objects([node("n1")], extender={"predicate": {"a": 1, "b": {}}, "ready": []})
    assert {"predicate": {"b": {}}} == snapshot.extender
    assert ["predicate.a", "ready"] == [problem.field for problem in snapshot.problems]
