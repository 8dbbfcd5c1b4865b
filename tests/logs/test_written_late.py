"""A log line is formatted when it is read: the text is the same, and unread lines cost nothing."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.logs.log_cases import CASES
from tests.recorded import GOLDEN, ROOT, bundled, golden
from tests.tui.driving import opened
from vcdebug.comparison.logs.log_writer import log_lines
from vcdebug.comparison.logs.message import LogMessage
from vcdebug.framework.cycle import run_cycle
from vcdebug.framework.session import Session
from vcdebug.recording import replay
from vcdebug.recording.replay import RerunCancelledError, refuse_long_runs, replay_cycle
from vcdebug.recording.state_before import job_before
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.views.log import log_table

LONG = "basic-0900"
"""A case with a log of 22,000 lines."""
FEW = 500
"""Limit of lines that a panel formats: the visible ones, and those that decide column widths."""


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of the messages that are formatted during a test."""
    write, keys = LogMessage.write_line, list[str]()

    def counted(message: LogMessage, values: Iterable[object], tasks_text: Callable[[list[str]], str] = str) -> str:
        keys.append(message.key)
        return write(message, values, tasks_text)

    monkeypatch.setattr(LogMessage, "write_line", counted)
    return keys


@pytest.mark.parametrize("case", GOLDEN)
def test_a_text_written_late_is_the_one_written_at_once(case: str) -> None:
    recording = golden(case)
    at_once = [(line.seq, line.level, line.text) for line in log_lines(recording)]
    late = list(log_lines(recording))
    assert at_once == [(line.seq, line.level, line.text) for line in reversed(late)][::-1]


def test_finding_the_lines_of_a_recording_writes_none(written: list[str]) -> None:
    assert list(log_lines(golden(LONG)))
    assert [] == written


def test_a_text_is_written_once(written: list[str]) -> None:
    line = next(log_lines(golden(LONG)))
    assert line.text == line.text
    assert 1 == len(written)


async def test_the_panel_writes_the_lines_in_sight_and_all_for_a_filter(written: list[str]) -> None:
    async with opened(str(CASES / LONG)) as desk:
        await desk.command("log 5")
        await desk.press("v")
        panel = desk.panel("log")
        await desk.until(lambda: 20_000 < len(panel.table.rows), "all lines are found")
        lines = len(panel.table.rows)
        assert 0 < len(written) < FEW
        await desk.press("end", "home", "pagedown")
        assert len(written) < FEW
        panel.set_filter("add bind task")
        await desk.until(lambda: panel.shown.is_done, "all lines are looked through")
        assert lines <= len(written)
        assert all("add bind task" in row.cells[3].text for row in panel.shown_rows)


def test_the_view_writes_what_is_looked_at(written: list[str]) -> None:
    recording = replay_cycle(load_snapshot(CASES / LONG))
    rows = log_table(recording, 1, 5).rows
    assert [] == written
    assert rows[len(rows) // 2].cells[3].text
    assert 1 == len(written)


def test_a_job_is_built_once_for_events_between_which_nothing_changes() -> None:
    recording = bundled()
    changed = recording.timeline.seqs_written("task", next(iter(recording.timeline.moving)))[0]
    job = next(iter(recording.session.jobs))
    same = [
        seq
        for seq in range(1, changed)
        if recording.timeline.earliest_same_seq(seq) == recording.timeline.earliest_same_seq(0)
    ]
    assert 1 < len(same)
    assert 1 == len({id(job_before(recording, job, seq + 1)) for seq in same})


def test_comparisons_are_kept_only_in_the_run_that_a_loud_log_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = replay_cycle(load_snapshot(ROOT / "tests" / "golden" / "random" / LONG))
    assert not [line.key for line in recording.record.lines if line.key.endswith("-order")]
    runs: list[Snapshot] = []

    def counted(snapshot: Snapshot, *given: Any, **named: Any) -> Session:
        runs.append(snapshot)
        return run_cycle(snapshot, *given, **named)

    monkeypatch.setattr("vcdebug.recording.replay.run_cycle", counted)
    quiet = list(log_lines(recording, 3))
    assert [] == runs
    loud = list(log_lines(recording, 4))
    assert 1 == len(runs)
    compared = [line for line in loud if line.message_key.endswith("-order")]
    assert len(compared) > 100
    assert quiet == [line for line in loud if line.level <= 3]
    others = [line for line in loud if not line.message_key.endswith("-order")]
    assert others == list(log_lines(recording, 4, with_comparisons=False))


def test_a_long_second_run_is_refused_where_a_key_would_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "UNNOTICED_SIZE", 0)
    recording = replay_cycle(load_snapshot(ROOT / "tests" / "golden" / "random" / LONG))
    with refuse_long_runs():
        assert list(log_lines(recording, 3))
        with pytest.raises(RerunCancelledError):
            log_lines(recording, 4)


async def test_a_loud_log_of_a_long_cycle_comes_while_keys_go_on_working(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "UNNOTICED_SIZE", 0)
    async with opened("preempt-works") as desk:
        await desk.press("v", "space")
        await desk.until(lambda: "Priority TaskOrder" in desk.text("log"), "the cycle has run again")


def test_a_cycle_that_asked_a_webhook_keeps_its_comparisons() -> None:
    snapshot = load_snapshot(ROOT / "tests" / "golden" / "random" / LONG)
    recording = replay_cycle(snapshot, ask_extender=lambda *_: "not asked")
    assert [line for line in recording.record.lines if line.key.endswith("-order")]
    assert list(log_lines(recording, 4)) == list(log_lines(replay_cycle(snapshot), 4))
