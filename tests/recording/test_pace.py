"""Progress reports of a running cycle do not change the recording."""

import pytest

from tests.recorded import ROOT, bundled
from vcdebug.framework.record import ActionEvent, PopEvent
from vcdebug.recording import replay
from vcdebug.recording.replay import ProgressBound, replay_cycle
from vcdebug.snapshot.loader import load_snapshot


def test_progress_names_the_action_its_jobs_and_the_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "EVENTS_PER_REPORT", 10)
    said: list[str] = []
    jobs: list[tuple[int, int]] = []

    def tell(words: str, done: int, total: int) -> None:
        said.append(words)
        jobs.append((done, total))

    again = replay_cycle(load_snapshot(ROOT / "fixtures" / "preempt-blocked-by-gang"), bound=ProgressBound(tell))
    assert len(bundled()) == len(again)
    assert any(words.startswith("allocate, job 1 of about") for words in said)
    assert all(done <= total for done, total in jobs)
    assert said[-1].endswith(" events")
    assert said == list(dict.fromkeys(said))


def test_jobs_that_wait_in_other_queues_count_too() -> None:
    said: list[tuple[str, int, int]] = []
    pops = [("queue", "a", 1), ("job", "x", 5), ("queue", "b", 1), ("job", "y", 9), ("queue", "a", 1), ("job", "z", 4)]
    events = [ActionEvent("start", "allocate"), *(PopEvent(*pop) for pop in pops)]
    paced = ProgressBound(lambda words, done, total: said.append((words, done, total)))
    paced.check_size(events)
    events += [ActionEvent("start", "preempt"), PopEvent("queue", "a", 0), PopEvent("job", "x", 1)]
    paced.check_size(events)
    assert [
        ("allocate, job 3 of about 16, 7 events", 3, 16),
        ("preempt, job 1 of about 2, 10 events", 1, 2),
    ] == said
