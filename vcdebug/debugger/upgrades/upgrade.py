"""What an upgrade of one snapshot comes to: small, so that it travels between processes."""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.debugger.upgrades.search import Alone, Search
from vcdebug.debugger.upgrades.trial import Mixture, Trials, apart
from vcdebug.releases.release import Release
from vcdebug.snapshot.snapshot import Snapshot


class Upgrade(NamedTuple):
    """Two releases on one snapshot, as far as the search got."""

    before: Release
    after: Release
    apart: Mixture
    """Changes in which the two releases differ."""
    asked: Mixture
    """Those about which some rule asked here; no other one can matter."""
    same: bool
    """Whether every decision is the same."""
    altered: bool
    """Whether the recordings differ at all."""
    jobs: int
    """How many fare otherwise."""
    pods: int
    alone: tuple[Alone, ...]
    deciding: Mixture | None
    trials: int
    failed: int
    finished: bool

    @property
    def decided_by(self) -> Mixture:
        """The changes that decide something here: the smallest set, and those that decide something alone."""
        ids = dict.fromkeys([*(self.deciding or ()), *(one.id for one in self.alone if one.trial.decided)])
        return tuple(name for name in self.apart if name in ids)


def upgrade(snapshot: Snapshot, after: Release, search: Search) -> Upgrade:
    """What a search has found so far."""
    ends = search.ends
    return Upgrade(
        snapshot.release,
        after,
        search.changes,
        search.asked,
        ends is not None and not ends.decided,
        ends is None or ends.altered,
        0 if ends is None else len(ends.jobs),
        0 if ends is None else len(ends.pods),
        tuple(search.alone),
        search.deciding,
        search.trials,
        search.failed,
        search.finished,
    )


def search_for(snapshot: Snapshot, after: Release) -> tuple[Search, Trials]:
    """A search that has not begun, and what runs its trials."""
    return Search(apart(snapshot.release, after)), Trials(snapshot, after)
