"""The scripted scheduler writes everything before it reports the end of its cycle, so waiting for more is short."""

import pytest


@pytest.fixture(autouse=True)
def shorten_quiet_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the wait for further writes after a cycle."""
    monkeypatch.setattr("vcdebug.conformance.scheduler_program.QUIET_SECONDS", 0.02)
