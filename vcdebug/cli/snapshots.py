"""A snapshot and its recording, as the headless commands need them."""

from __future__ import annotations

import time
from typing import NamedTuple

from vcdebug.cli.sources import source
from vcdebug.explain.coverage import uncovered
from vcdebug.snapshot.chance import Chance
from vcdebug.snapshot.load import load
from vcdebug.snapshot.problem import Problem
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay


class Loaded(NamedTuple):
    """A snapshot and how long it took to read."""

    snapshot: Snapshot
    seconds: float


class Replayed(NamedTuple):
    """A recording and how long everything took, by stage."""

    recording: Recording
    seconds: dict[str, float]


def load_snapshot(word: str) -> Loaded:
    """Read a snapshot; raises SnapshotError when nothing in it can be replayed."""
    start = time.perf_counter()
    snapshot = load(source(word))
    return Loaded(snapshot, time.perf_counter() - start)


def replay_snapshot(word: str, *, seed: int | None = None) -> Replayed:
    """Read a snapshot and execute its cycle; a seed draws what upstream leaves to chance."""
    loaded = load_snapshot(word)
    if seed is not None:
        loaded.snapshot.chance = Chance.drawn(seed)
    recording = replay(loaded.snapshot, clock=time.perf_counter)
    return Replayed(recording, {"load": loaded.seconds, **recording.seconds})


def input_problems(recording: Recording) -> list[Problem]:
    """What is wrong with the manifests, and with the scheduler's configuration."""
    return [*recording.problems, *uncovered(recording.conf)]
