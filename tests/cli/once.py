"""Lets several commands share one loaded and replayed snapshot."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from msgspec.structs import replace

from tests.recorded import ROOT, bundled
from vcdebug.cli.reports.explanation import short_fixes
from vcdebug.errors import SnapshotError
from vcdebug.explain.answer import Explanation, OtherOutcomes
from vcdebug.model.names import JobId
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.replay import ProgressBound, replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.snapshot.sources import Source, list_bundled
from vcdebug.whatif.fixes import search
from vcdebug.whatif.other_outcomes import other_outcomes

UNREAD = ("name", "problems", "description", "origin", "provenance")
"""Fields of a snapshot that only describe it and have no effect on a cycle."""


def one_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load and replay the first snapshot only, and reuse it for all later commands; a second call starts anew."""
    monkeypatch.setattr("vcdebug.cli.snapshots.load_snapshot", LoadedOnce())
    monkeypatch.setattr("vcdebug.cli.snapshots.replay_cycle", ReplayedOnce())


FEW_TRIALS = 16
"""Number of cycles that a search for fixes may run: enough to try each kind of change."""
FEW_DRAWS = 2
"""Number of replays with other random choices that an answer about a damaged snapshot may make."""


def share_fix_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """`share_answers`, and a pod has the fixes of its job; a search for fixes may run FEW_TRIALS of up to 160 cycles,
    and FEW_DRAWS of 12 have other random choices.
    """
    share_answers(monkeypatch)
    monkeypatch.setattr("vcdebug.cli.reports.explanation.short_fixes", partial(_search_once, by_job=True))
    monkeypatch.setattr("vcdebug.whatif.other_outcomes.RUNS_OF_AN_ANSWER", FEW_DRAWS)
    monkeypatch.setattr("vcdebug.whatif.fixes.search.MAX_FIRST_TRIALS", FEW_TRIALS)
    monkeypatch.setattr("vcdebug.whatif.fixes.search.MAX_SHORT_TRIALS", FEW_TRIALS)


def share_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share fixes and other outcomes among equal snapshots."""
    monkeypatch.setattr("vcdebug.cli.reports.explanation.short_fixes", _search_once)
    monkeypatch.setattr("vcdebug.whatif.other_outcomes.other_outcomes", _find_outcomes_once)


Question = tuple[str, int, str]
"""The job or pod, the number of cycles that a search may run, and what the cycle reads."""
_found: dict[Question, Sequence[str]] = {}
_outcomes: dict[Question, OtherOutcomes] = {}


@per_recording()
def _read_by_cycle(recording: Recording) -> str:
    """What a cycle reads, equal for snapshots that differ in nothing else."""
    snapshot = recording.snapshot
    return repr([getattr(snapshot, name) for name in snapshot.__struct_fields__ if name not in UNREAD])


def _find_outcomes_once(recording: Recording, job: JobId) -> OtherOutcomes:
    question = job, search.MAX_FIRST_TRIALS, _read_by_cycle(recording)
    if question not in _outcomes:
        _outcomes[question] = other_outcomes(recording, job)
    return _outcomes[question]


def _search_once(recording: Recording, explanation: Explanation, *, by_job: bool = False) -> Sequence[str]:
    question = (
        explanation.job if by_job else explanation.subject_name,
        search.MAX_FIRST_TRIALS,
        _read_by_cycle(recording),
    )
    if question not in _found:
        _found[question] = short_fixes(recording, explanation)
    return _found[question]


def share_bundled(monkeypatch: pytest.MonkeyPatch, *others: Path) -> None:
    """Load and replay each bundled snapshot, and the `others`, once for all commands that run it as it is, until the
    patch is undone. Tests of other rooms share the recordings of bundled snapshots, too.
    """
    _shared.update(dict.fromkeys(others))
    monkeypatch.setattr("vcdebug.cli.snapshots.load_snapshot", _load_shared_once)
    monkeypatch.setattr("vcdebug.cli.snapshots.replay_cycle", _replay_shared_once)


_shared: dict[Source, None] = dict.fromkeys(one.path for one in list_bundled())
_recordings: dict[Source, Recording] = {}


def _load_shared_once(where: Source, **options: Any) -> Snapshot:
    stated = [name for name in ("complete", "release") if options.get(name) is not None]
    if stated or where not in _shared:
        return load_snapshot(where, **options)
    if where not in _recordings:
        if isinstance(where, Path) and where.parent == ROOT / "fixtures":
            _recordings[where] = bundled(where.name)
        else:
            _recordings[where] = replay_cycle(load_snapshot(where, **options), clock=perf_counter)
    return replace(_recordings[where].snapshot)  # a command sets the seed of its own snapshot


def _replay_shared_once(snapshot: Snapshot, **options: Any) -> Recording:
    names = snapshot.__struct_fields__
    # A command that asks a webhook, or limits the recording itself, has a recording of its own.
    is_plain = options.get("ask_extender") is None and isinstance(options.get("bound"), ProgressBound)
    for shared in _recordings.values() if is_plain else ():
        if all(getattr(snapshot, name) is getattr(shared.snapshot, name) for name in names):
            return shared
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
