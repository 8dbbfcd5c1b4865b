"""Lets several commands share one loaded and replayed snapshot."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from vcdebug.cli.reports.explanation import short_fix_blocks_of
from vcdebug.errors import SnapshotError
from vcdebug.explain.answer import Explanation
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.snapshot.sources import Source, list_bundled
from vcdebug.views.document import Block

UNREAD = ("name", "problems", "description", "origin", "provenance")
"""Fields of a snapshot that only describe it and have no effect on a cycle."""


def one_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load and replay the first snapshot only, and reuse it for all later commands; a second call starts anew."""
    monkeypatch.setattr("vcdebug.cli.snapshots.load_snapshot", LoadedOnce())
    monkeypatch.setattr("vcdebug.cli.snapshots.replay_cycle", ReplayedOnce())


FEW_TRIALS = 16
"""Number of cycles that a search for fixes may run: enough to try each kind of change."""


def share_fix_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share one search for fixes among equal snapshots, and limit it to FEW_TRIALS of up to 160 cycles."""
    monkeypatch.setattr("vcdebug.cli.reports.explanation.short_fix_blocks_of", _search_once)
    monkeypatch.setattr("vcdebug.whatif.fixes.search.MAX_FIRST_TRIALS", FEW_TRIALS)
    monkeypatch.setattr("vcdebug.whatif.fixes.search.MAX_SHORT_TRIALS", FEW_TRIALS)


_found: dict[str, tuple[Block, ...]] = {}


def _search_once(recording: Recording, explanation: Explanation) -> Iterator[Block]:
    snapshot = recording.snapshot
    decides = [getattr(snapshot, name) for name in snapshot.__struct_fields__ if name not in UNREAD]
    question = repr((explanation.job, decides))
    if question not in _found:
        _found[question] = tuple(short_fix_blocks_of(recording, explanation))
    return iter(_found[question])


def share_bundled(monkeypatch: pytest.MonkeyPatch, *others: Path) -> None:
    """Load and replay each bundled snapshot, and the `others`, once for all commands that run it as it is, until the
    patch is undone.
    """
    _shared.update(dict.fromkeys(others))
    monkeypatch.setattr("vcdebug.cli.snapshots.load_snapshot", _load_shared_once)
    monkeypatch.setattr("vcdebug.cli.snapshots.replay_cycle", _replay_shared_once)


_shared: dict[Source, None] = dict.fromkeys(one.path for one in list_bundled())
_loaded: dict[Source, Snapshot] = {}
_replayed: dict[Source, Recording] = {}


def _load_shared_once(where: Source, **options: Any) -> Snapshot:
    stated = [name for name in ("complete", "release") if options.get(name) is not None]
    if stated or where not in _shared:
        return load_snapshot(where, **options)
    if where not in _loaded:
        _loaded[where] = load_snapshot(where, **options)
    return replace(_loaded[where])  # a command sets the seed of its own snapshot


def _replay_shared_once(snapshot: Snapshot, **options: Any) -> Recording:
    names = snapshot.__struct_fields__
    for where, loaded in _loaded.items():
        if all(getattr(snapshot, name) is getattr(loaded, name) for name in names):
            if where not in _replayed:
                _replayed[where] = replay_cycle(snapshot, **options)
            return _replayed[where]
    return replay_cycle(snapshot, **options)


class LoadedOnce:
    """Loads the first snapshot, and returns or raises the same result on later calls."""

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
    """Replays the first snapshot, and returns the same recording on later calls."""

    def __init__(self) -> None:
        self.recording: Recording | None = None

    def __call__(self, snapshot: Snapshot, **options: Any) -> Recording:
        if self.recording is None:
            self.recording = replay_cycle(snapshot, **options)
        return self.recording
