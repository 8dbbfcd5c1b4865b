"""A scheduler that plays its part writes everything before it says that its cycle is over."""

import pytest


@pytest.fixture(autouse=True)
def soon_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing more comes of it, however short one listens."""
    monkeypatch.setattr("vcdebug.conformance.scheduler_program.QUIET_SECONDS", 0.02)
