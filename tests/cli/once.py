"""Commands about one snapshot, which is loaded and run once for all of them."""

from typing import Any

import pytest

from vcdebug.errors import SnapshotError
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.snapshot.sources import Source


def one_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands that follow are about the same snapshot; called again, it is loaded and run again."""
    monkeypatch.setattr("vcdebug.cli.snapshots.load_snapshot", LoadedOnce())
    monkeypatch.setattr("vcdebug.cli.snapshots.replay_cycle", ReplayedOnce())


class LoadedOnce:
    """Loading, whose outcome is given again to the commands that follow: a snapshot or an error."""

    def __init__(self) -> None:
        self.outcome: Snapshot | SnapshotError | None = None

    def __call__(self, where: Source, **options: Any) -> Snapshot:
        if self.outcome is None:
            try:
                self.outcome = load_snapshot(where, **options)
            except SnapshotError as error:
                self.outcome = error
        if isinstance(self.outcome, SnapshotError):
            raise self.outcome
        return self.outcome


class ReplayedOnce:
    """The cycle of the one snapshot, run once: that it is the same again is shown elsewhere."""

    def __init__(self) -> None:
        self.recording: Recording | None = None

    def __call__(self, snapshot: Snapshot, **options: Any) -> Recording:
        if self.recording is None:
            self.recording = replay_cycle(snapshot, **options)
        return self.recording
