"""What another release decides differently, and which changes between the two explain it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from vcdebug.comparison.cycles import Divergence, compare_cycles
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.recording.recording import Recording, disposing, require_whole
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import trace_digest
from vcdebug.releases.change import Change
from vcdebug.releases.release import CHANGES, Release
from vcdebug.snapshot.snapshot import Snapshot

ChangeMixture = tuple[str, ...]
"""Ids of the changes that a trial takes from the second release, in the order of the table."""


class MixtureTrial(NamedTuple):
    """What came of a mixture, against the second release; plain values, so that it travels between processes."""

    altered: bool
    """Whether the recording is another one."""
    decided: bool
    """Whether some decision is another one."""
    jobs: tuple[JobId, ...]
    """Those that fare otherwise."""
    pods: tuple[TaskKey, ...]
    first: Seq | None
    """The second release's event of the first difference that is more than figures."""
    deed: Seq | None
    """Its first operation or statement that differs."""
    asked: tuple[str, ...]
    """Changes that some rule asked about: no other one can have altered this run."""


@dataclass(frozen=True, slots=True)
class _ListeningRelease(Release):
    """A release that records which changes the rules consult."""

    asked: dict[str, None] = field(default_factory=dict, compare=False)

    def has_older_form(self, change: Change) -> bool:
        # A dict, since the order of the questions is kept and must not depend on string hashes.
        self.asked[change.id] = None
        return Release.has_older_form(self, change)


def differing_changes(before: Release, after: Release) -> ChangeMixture:
    """The changes in which two releases differ, in the order of the table."""
    return tuple(name for name in CHANGES if name in before.older ^ after.older)


class MixtureTrials:
    """A function of mixtures that travels between processes: each runs the second release, then a cycle per trial."""

    def __init__(self, snapshot: Snapshot, after: Release) -> None:
        self._snapshot = snapshot
        self._after = after
        self._target: _MixtureRun | None = None

    def __reduce__(self) -> tuple[type[MixtureTrials], tuple[Snapshot, Release]]:
        """Pickled without its recording; a process that needs one replays the snapshot."""
        return MixtureTrials, (self._snapshot, self._after)

    def __call__(self, mixture: ChangeMixture) -> MixtureTrial:
        """The trial of one mixture."""
        target = self._target = self._target or _MixtureRun(self._snapshot, self._after)
        # The full mixture is the second release itself, which has already run.
        if mixture == differing_changes(self._snapshot.release, self._after):
            return target.compare_with(target)
        run = _MixtureRun(self._snapshot, self.mixed_release(mixture))
        with disposing(run.recording):
            return target.compare_with(run)

    def mixed_release(self, mixture: ChangeMixture) -> Release:
        """The first release with these changes as the second one has them."""
        release = self._snapshot.release
        for name in mixture:
            release = release.with_change(CHANGES[name], older=name in self._after.older)
        return release


class _MixtureRun:
    """A cycle, and what its rules asked about."""

    def __init__(self, snapshot: Snapshot, release: Release) -> None:
        heard = _ListeningRelease(release.name, release.older, release.stated)
        self.recording = require_whole(replay_cycle(replace(snapshot, flags=replace(snapshot.flags, release=heard))))
        self.asked = tuple(heard.asked)

    @cached_property
    def recording_digest(self) -> bytes:
        """A digest that is equal for equal recordings."""
        return trace_digest(self.recording)

    def compare_with(self, run: _MixtureRun) -> MixtureTrial:
        """What came of a run, held against this one."""
        found = compare_cycles(self.recording, run.recording)
        return MixtureTrial(
            self.recording_digest != run.recording_digest,
            not found.has_same_decisions,
            tuple(change.job for change in found.jobs),
            tuple(change.task for change in found.tasks),
            _divergence_seq(found.divergence, self.recording),
            _divergence_seq(found.deeds_part, self.recording),
            run.asked,
        )


def _divergence_seq(divergence: Divergence | None, recording: Recording) -> Seq | None:
    """The event of the first difference; one after the end if only the other recording continues."""
    if divergence is None:
        return None
    return len(recording) + 1 if divergence.before is None else divergence.before.seq


UpgradeRounds = Generator[list[ChangeMixture], "list[MixtureTrial | None]", None]
"""Yields mixtures to try, each list independent of order; is sent a trial for each, None where it failed."""
RunMixtures = Callable[[list[ChangeMixture]], "list[MixtureTrial | None]"]


class LoneChange(NamedTuple):
    """A change that alters the second release's recording when it alone is switched back."""

    id: str
    trial: MixtureTrial


class UpgradeSearch:
    """Searches the changes that make two releases differ; intermediate results can be read at any time."""

    def __init__(self, changes: ChangeMixture) -> None:
        self._all = changes
        self._tried: dict[ChangeMixture, MixtureTrial | None] = {}
        self.alone: list[LoneChange] = []
        """In the order of the table."""
        self.deciding: ChangeMixture | None = None
        """Changes that give the second release's decisions, none of which can be left out; None while not known."""
        self.finished = False

    @property
    def all_changes(self) -> ChangeMixture:
        """All in which the two releases differ."""
        return self._all

    @property
    def endpoint_trial(self) -> MixtureTrial | None:
        """The first release against the second one; None where one of the two cannot be run."""
        return self._tried.get(()) if self._tried.get(self._all) is not None else None

    @property
    def trial_count(self) -> int:
        """How many cycles were run."""
        return len(self._tried)

    @property
    def failed_count(self) -> int:
        """Trials whose replay failed."""
        return len([one for one in self._tried.values() if one is None])

    @property
    def asked_changes(self) -> ChangeMixture:
        """Changes about which some rule asked, under either release."""
        ends = [self._tried.get(()), self._tried.get(self._all)]
        heard = dict.fromkeys(name for end in ends if end is not None for name in end.asked)
        return tuple(name for name in self._all if name in heard)

    def trial_rounds(self) -> UpgradeRounds:
        """Both ends, then every change alone, then the smallest set."""
        yield from self._try_mixtures([(), self._all])
        first, last = self._tried[()], self._tried[self._all]
        if last is not None and (first is None or first.altered):
            yield from self._try_alone(tuple(name for name in self._all if name in last.asked))
            yield from self._find_smallest(first)
        elif first is not None:
            self.deciding = ()
        self.finished = True

    def _try_mixtures(self, mixtures: Iterable[ChangeMixture]) -> UpgradeRounds:
        fresh = [one for one in dict.fromkeys(mixtures) if one not in self._tried]
        # An empty yield would cost the caller a round of worker processes.
        if fresh:
            self._tried.update(zip(fresh, (yield fresh), strict=True))

    def _try_alone(self, asked: ChangeMixture) -> UpgradeRounds:
        """Try each change alone: switched back in groups, one change can hide the effect of another."""
        without = {name: self._mixture_without(name) for name in asked}
        yield from self._try_mixtures(without.values())
        for name, mixture in without.items():
            trial = self._tried[mixture]
            if trial is not None and trial.altered:
                self.alone.append(LoneChange(name, trial))

    def _mixture_without(self, left_out: str) -> ChangeMixture:
        return tuple(name for name in self._all if name != left_out)

    def _find_smallest(self, first: MixtureTrial | None) -> UpgradeRounds:
        """Reduce the first set that suffices: changes that decide alone, that alter it alone, consulted ones."""
        if first is not None and not first.decided:
            self.deciding = ()
            return
        # From few to many: a small guess that is enough saves most of the reduction's cycles.
        likely = tuple(one.id for one in self.alone if one.trial.decided)
        telling = tuple(one.id for one in self.alone)
        start = self._all
        for mixture in (likely, telling, self.asked_changes):
            yield from self._try_mixtures([mixture])
            if self._is_enough(mixture):
                start = mixture
                break
        yield from self._reduce_mixture(start)

    def _reduce_mixture(self, kept: ChangeMixture) -> UpgradeRounds:
        """Delta debugging: subsets, then complements, each round with smaller subsets."""
        parts = 2
        while len(kept) > 1:
            pieces = _split_mixture(kept, parts)
            rests = [tuple(name for name in kept if name not in piece) for piece in pieces]
            yield from self._try_mixtures([*pieces, *rests])
            # Subsets before complements, as in ddmin: a subset halves the problem, a complement removes one part.
            piece = next((one for one in pieces if self._is_enough(one)), None)
            rest = next((one for one in rests if self._is_enough(one)), None)
            if piece is not None:
                kept, parts = piece, 2
            elif rest is not None:
                kept, parts = rest, max(parts - 1, 2)
            elif parts < len(kept):
                parts = min(len(kept), 2 * parts)
            else:
                break
        self.deciding = kept

    def _is_enough(self, mixture: ChangeMixture) -> bool:
        """Whether the first release decides with these changes as the second one does."""
        trial = self._tried[mixture]
        return trial is not None and not trial.decided


def _split_mixture(group: ChangeMixture, count: int) -> list[ChangeMixture]:
    """The group in at most `count` non-empty parts."""
    count = min(count, len(group))
    edges = [len(group) * at // count for at in range(count + 1)]
    return [group[start:end] for start, end in pairwise(edges)]


def run_search(search: UpgradeSearch, run: RunMixtures) -> UpgradeSearch:
    """Run the search's trials to their end."""
    rounds = search.trial_rounds()
    wanted = next(rounds, None)
    while wanted is not None:
        try:
            wanted = rounds.send(run(wanted))
        except StopIteration:
            break
    return search


class Upgrade(NamedTuple):
    """Two releases on one snapshot, as far as the search got."""

    before: Release
    after: Release
    apart: ChangeMixture
    """Changes in which the two releases differ."""
    asked: ChangeMixture
    """Those about which some rule asked here; no other one can matter."""
    same: bool
    """Whether all decisions are equal."""
    altered: bool
    """Whether the recordings differ at all."""
    jobs: int
    """How many fare otherwise."""
    pods: int
    alone: tuple[LoneChange, ...]
    deciding: ChangeMixture | None
    trials: int
    failed: int
    finished: bool

    @property
    def decided_by(self) -> ChangeMixture:
        """The changes that decide something here: the smallest set, and those that decide something alone."""
        ids = dict.fromkeys([*(self.deciding or ()), *(one.id for one in self.alone if one.trial.decided)])
        return tuple(name for name in self.apart if name in ids)


def build_upgrade(snapshot: Snapshot, after: Release, search: UpgradeSearch) -> Upgrade:
    """What a search has found so far."""
    ends = search.endpoint_trial
    return Upgrade(
        snapshot.release,
        after,
        search.all_changes,
        search.asked_changes,
        ends is not None and not ends.decided,
        ends is None or ends.altered,
        0 if ends is None else len(ends.jobs),
        0 if ends is None else len(ends.pods),
        tuple(search.alone),
        search.deciding,
        search.trial_count,
        search.failed_count,
        search.finished,
    )


def start_search(snapshot: Snapshot, after: Release) -> tuple[UpgradeSearch, MixtureTrials]:
    """A search that has not begun, and what runs its trials."""
    return UpgradeSearch(differing_changes(snapshot.release, after)), MixtureTrials(snapshot, after)
