"""Commands about one snapshot, which is loaded and run once for all of them."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from vcdebug.cli.reports.explanation import short_fix_blocks_of
from vcdebug.errors import SnapshotError
from vcdebug.explain.answer import Explanation
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.snapshot.sources import Source
from vcdebug.views.document import Block

UNREAD = ("name", "problems", "description", "origin", "provenance")
"""What a snapshot says of itself, which decides nothing in a cycle."""


def one_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands that follow are about the same snapshot; called again, it is loaded and run again."""
    monkeypatch.setattr("vcdebug.cli.snapshots.load_snapshot", LoadedOnce())
    monkeypatch.setattr("vcdebug.cli.snapshots.replay_cycle", ReplayedOnce())


FEW_TRIALS = 16
"""Cycles that one search of fixes runs: enough to try each kind of change."""


def search_equal_ones_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixes are searched once for snapshots that differ in nothing that decides, and with few of up to 160 cycles."""
    monkeypatch.setattr("vcdebug.cli.reports.explanation.short_fix_blocks_of", _search_once)
    monkeypatch.setattr("vcdebug.whatif.fixes.search.MAX_FIRST_TRIALS", FEW_TRIALS)
    monkeypatch.setattr("vcdebug.whatif.fixes.search.MAX_SHORT_TRIALS", FEW_TRIALS)


_found: dict[str, tuple[Block, ...]] = {}


def _search_once(recording: Recording, explanation: Explanation) -> Iterator[Block]:
    snapshot = recording.snapshot
    decides = [getattr(snapshot, field.name) for field in fields(snapshot) if field.name not in UNREAD]
    question = repr((explanation.job, decides))
    if question not in _found:
        _found[question] = tuple(short_fix_blocks_of(recording, explanation))
    return iter(_found[question])


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
