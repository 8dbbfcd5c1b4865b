"""A line's text is written when somebody reads it: it is the same then, and what nobody reads is not written."""

from collections.abc import Callable, Iterable

import pytest

from tests.logs.log_cases import CASES
from tests.recorded import GOLDEN, bundled, golden
from tests.tui.driving import opened
from vcdebug.comparison.logs.log_writer import log_lines
from vcdebug.comparison.logs.message import LogMessage
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.state_before import job_before
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.views.log import log_table

LONG = "basic-0900"
"""A case with a log of 22,000 lines."""
FEW = 500
"""Those in sight, and those that are looked at for the widths of columns."""


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The messages whose text is written during a test."""
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
        await desk.until(lambda: not panel.is_writing, "all lines are looked through")
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
