"""Commands that run a bundled snapshot as it is share its replay, unless a test asks for `own_replays`."""

import pytest

from tests.cli.once import share_bundled
from vcdebug.recording.replay import replay_cycle


@pytest.fixture(autouse=True)
def shared_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share the replays, also with the tests of other rooms."""
    share_bundled(monkeypatch)


@pytest.fixture
def own_replays(shared_replays: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command replays its snapshot itself."""
    monkeypatch.setattr("vcdebug.cli.snapshots.replay_cycle", replay_cycle)
