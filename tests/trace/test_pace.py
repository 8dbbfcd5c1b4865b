"""While a cycle runs it says how far it is, and records the same as ever."""

import pytest

from tests.recorded import ROOT, bundled
from vcdebug.snapshot.load import load
from vcdebug.trace import pace
from vcdebug.trace.pace import Paced
from vcdebug.trace.replay import replay


def test_the_action_its_jobs_and_the_events_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "EVERY", 10)
    said: list[str] = []
    jobs: list[tuple[int, int]] = []

    def tell(words: str, done: int, total: int) -> None:
        said.append(words)
        jobs.append((done, total))

    again = replay(load(ROOT / "fixtures" / "preempt-blocked-by-gang"), bound=Paced(tell))
    assert len(bundled()) == len(again)
    assert any(words.startswith("allocate, job 1 of about") for words in said)
    assert all(done <= total for done, total in jobs)
    assert said[-1].endswith(" events")
    assert said == list(dict.fromkeys(said))
