"""What a snapshot says of the scheduler's past, and an extender's answers, through loading and saving."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.builders import node, pod_group
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.loader import load_snapshot, snapshot_from_objects
from vcdebug.snapshot.saved_files import save_snapshot

PAST = {
    "started": "2026-10-31T00:00:00Z",
    "lastRescheduling": "2026-10-31T23:50:00Z",
    "lastEviction": "2026-10-31T23:55:00Z",
    "sessions": 7,
    "hyperNodes": {"default/j": {"": "rack", "default/j/a-0": "rack"}},
    "reservedCpus": [{"node": "n1", "pod": "default/a", "uid": "u", "cpus": "0-3"}],
}
ANSWERS = {"predicate": {"*": {"status": "no"}}}


def test_a_saved_snapshot_keeps_the_past_the_setting_and_the_answers(tmp_path: Path) -> None:
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
    ],
)
def test_what_is_no_memory_of_a_process_is_a_problem(key: str, value: object) -> None:
    snapshot = snapshot_from_objects([pod_group("j")], scheduler={key: value})
    assert SchedulerProcess() == snapshot.process
    assert [f"scheduler.{key}"] == [p.field for p in snapshot.problems if p.field.startswith("scheduler")]


def test_answers_of_the_wrong_type_are_left_out() -> None:
    snapshot = snapshot_from_objects([node("n1")], extender={"predicate": {"a": 1, "b": {}}, "ready": []})
    assert {"predicate": {"b": {}}} == snapshot.extender
    assert ["predicate.a", "ready"] == [problem.field for problem in snapshot.problems]
