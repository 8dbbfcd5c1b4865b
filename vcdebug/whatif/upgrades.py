"""What another release decides differently, and which changes between the two explain it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from vcdebug.comparison.cycles import Divergence, compare_cycles
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.recording.recording import Recording, disposing, require_complete
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import trace_digest
from vcdebug.releases.release import CHANGES, ListeningRelease, Release
from vcdebug.snapshot.snapshot import Snapshot

ChangeMixture = tuple[str, ...]
"""Ids of the changes that a trial takes from the second release, in the order of the table."""


class MixtureTrial(Struct, frozen=True):
    """The result of a mixture compared with the second release; plain values, since processes exchange it."""

    has_differences: bool
    """Whether the recordings differ at all."""
    has_other_decisions: bool
    """Whether some decision differs."""
    jobs: tuple[JobId, ...]
    """Jobs with a different outcome."""
    pods: tuple[TaskKey, ...]
    difference: Seq | None
    """The second release's event at the first difference in more than figures; None for none."""
    operation: Seq | None
    """The second release's event of the first differing operation or statement; None for none."""
    consulted_changes: tuple[str, ...]
    """Changes that the rules of this run consulted; no other change can have altered the run."""


def differing_changes(before: Release, after: Release) -> ChangeMixture:
    """The changes in which two releases differ, in the order of the table."""
    return tuple(name for name in CHANGES if name in before.older_forms ^ after.older_forms)


class MixtureTrials:
    """A picklable function of mixtures; each process replays the second release once, then a cycle per trial."""

    def __init__(self, snapshot: Snapshot, after: Release) -> None:
        self._snapshot = snapshot
        self._after = after
        self._target: _MixtureRun | None = None

    def __reduce__(self) -> tuple[type[MixtureTrials], tuple[Snapshot, Release]]:
        """Pickle without the recording; a process that needs one replays the snapshot."""
        return MixtureTrials, (self._snapshot, self._after)

    def __call__(self, mixture: ChangeMixture) -> MixtureTrial:
        """Replay one mixture and compare it with the second release."""
        target = self._target = self._target or _MixtureRun(self._snapshot, self._after)
        # The full mixture is the second release itself, which has already run.
        if mixture == differing_changes(self._snapshot.release, self._after):
            return target.compare_with(target)
        run = _MixtureRun(self._snapshot, self.mixed_release(mixture))
        with disposing(run.recording):
            return target.compare_with(run)

    def mixed_release(self, mixture: ChangeMixture) -> Release:
        """The first release with the changes of the mixture taken from the second one."""
        release = self._snapshot.release
        for name in mixture:
            release = release.with_change(CHANGES[name], older=name in self._after.older_forms)
        return release


class _MixtureRun:
    """A replayed cycle, and the changes that its rules consulted."""

    def __init__(self, snapshot: Snapshot, release: Release) -> None:
        listener = ListeningRelease.replayed_at(release)
        self.recording = require_complete(replay_cycle(snapshot.with_release(listener)))
        self.consulted_changes = tuple(listener.consulted_changes)

    @cached_property
    def recording_digest(self) -> bytes:
        """A digest that is equal for equal recordings."""
        return trace_digest(self.recording)

    def compare_with(self, run: _MixtureRun) -> MixtureTrial:
        """The comparison of another run with this one."""
        comparison = compare_cycles(self.recording, run.recording)
        return MixtureTrial(
            self.recording_digest != run.recording_digest,
            not comparison.has_same_decisions,
            tuple(change.name for change in comparison.jobs),
            tuple(change.name for change in comparison.tasks),
            _divergence_seq(comparison.divergence, self.recording),
            _divergence_seq(comparison.operation_divergence, self.recording),
            run.consulted_changes,
        )


def _divergence_seq(divergence: Divergence | None, recording: Recording) -> Seq | None:
    """The event of the first difference; one after the end if only the other recording continues."""
    if divergence is None:
        return None
    return len(recording) + 1 if divergence.before is None else divergence.before.seq


UpgradeRounds = Generator[list[ChangeMixture], "list[MixtureTrial | None]", None]
"""A generator that yields lists of mixtures to try and receives a trial for each, None for a failed one."""
RunMixtures = Callable[[list[ChangeMixture]], "list[MixtureTrial | None]"]


class SingleChange(NamedTuple):
    """A change that alters the second release's recording when it alone is switched back."""

    id: str
    trial: MixtureTrial


class Upgrade:
    """Two releases on one snapshot: searches the changes that make them differ; results can be read at any time."""

    def __init__(self, before: Release, after: Release, changes: ChangeMixture | None = None) -> None:
        self.before = before
        self.after = after
        self.differing_changes = differing_changes(before, after) if changes is None else changes
        """The searched changes, by default all in which the two releases differ."""
        self._trial_by_mixture: dict[ChangeMixture, MixtureTrial | None] = {}
        self.altering_changes: list[SingleChange] = []
        """Changes that alter the recording alone, in the order of the table."""
        self.deciding_set: ChangeMixture | None = None
        """A minimal set of changes that gives the second release's decisions; None until it is known."""
        self.is_finished = False

    @property
    def endpoint_trial(self) -> MixtureTrial | None:
        """The trial of the first release against the second one; None if one of the two cannot be replayed."""
        known = self._trial_by_mixture.get(self.differing_changes) is not None
        return self._trial_by_mixture.get(()) if known else None

    @property
    def has_same_decisions(self) -> bool:
        """Whether all decisions are equal."""
        return self.endpoint_trial is not None and not self.endpoint_trial.has_other_decisions

    @property
    def has_differences(self) -> bool:
        """Whether the recordings differ at all."""
        return self.endpoint_trial is None or self.endpoint_trial.has_differences

    @property
    def changed_counts(self) -> tuple[int, int]:
        """How many jobs, and how many pods, have a different outcome."""
        return (0, 0) if self.endpoint_trial is None else (len(self.endpoint_trial.jobs), len(self.endpoint_trial.pods))

    @property
    def decided_by(self) -> ChangeMixture:
        """The changes that alter decisions here: the smallest set, and changes that alter decisions alone."""
        alone = (change.id for change in self.altering_changes if change.trial.has_other_decisions)
        ids = dict.fromkeys([*(self.deciding_set or ()), *alone])
        return tuple(name for name in self.differing_changes if name in ids)

    @property
    def trial_count(self) -> int:
        """The number of trials, failed ones included."""
        return len(self._trial_by_mixture)

    @property
    def failed_count(self) -> int:
        """Trials whose replay failed."""
        return len([trial for trial in self._trial_by_mixture.values() if trial is None])

    @property
    def consulted_changes(self) -> ChangeMixture:
        """Changes that some rule consulted under either release."""
        end_trials = [self._trial_by_mixture.get(()), self._trial_by_mixture.get(self.differing_changes)]
        asked = dict.fromkeys(name for trial in end_trials if trial is not None for name in trial.consulted_changes)
        return tuple(name for name in self.differing_changes if name in asked)

    def trial_rounds(self) -> UpgradeRounds:
        """Try both releases, then every change alone, then search for the smallest set."""
        yield from self._try_mixtures([(), self.differing_changes])
        first_trial, last_trial = self._trial_by_mixture[()], self._trial_by_mixture[self.differing_changes]
        if last_trial is not None and (first_trial is None or first_trial.has_differences):
            yield from self._try_alone(
                tuple(name for name in self.differing_changes if name in last_trial.consulted_changes)
            )
            yield from self._find_smallest(first_trial)
        elif first_trial is not None:
            self.deciding_set = ()
        self.is_finished = True

    def _try_mixtures(self, mixtures: Iterable[ChangeMixture]) -> UpgradeRounds:
        untried = [mixture for mixture in dict.fromkeys(mixtures) if mixture not in self._trial_by_mixture]
        # An empty yield would cost the caller a round of worker processes.
        if untried:
            self._trial_by_mixture.update(zip(untried, (yield untried), strict=True))

    def _try_alone(self, changes: ChangeMixture) -> UpgradeRounds:
        """Try each change alone: switched back in groups, one change can hide the effect of another."""
        mixtures = {name: tuple(one for one in self.differing_changes if one != name) for name in changes}
        yield from self._try_mixtures(mixtures.values())
        for name, mixture in mixtures.items():
            trial = self._trial_by_mixture[mixture]
            if trial is not None and trial.has_differences:
                self.altering_changes.append(SingleChange(name, trial))

    def _find_smallest(self, first_trial: MixtureTrial | None) -> UpgradeRounds:
        """Reduce the first set that suffices: changes that decide alone, that alter it alone, consulted ones."""
        if first_trial is not None and not first_trial.has_other_decisions:
            self.deciding_set = ()
            return
        # From few to many: a small guess that is enough saves most of the reduction's cycles.
        deciding = tuple(change.id for change in self.altering_changes if change.trial.has_other_decisions)
        altering = tuple(change.id for change in self.altering_changes)
        start = self.differing_changes
        for mixture in (deciding, altering, self.consulted_changes):
            yield from self._try_mixtures([mixture])
            if self._is_enough(mixture):
                start = mixture
                break
        yield from self._reduce_mixture(start)

    def _reduce_mixture(self, mixture: ChangeMixture) -> UpgradeRounds:
        """Delta debugging: subsets, then complements, each round with smaller subsets."""
        part_count = 2
        while len(mixture) > 1:
            subsets = _split_mixture(mixture, part_count)
            complements = [tuple(name for name in mixture if name not in subset) for subset in subsets]
            yield from self._try_mixtures([*subsets, *complements])
            # Subsets before complements, as in ddmin: a subset halves the problem, a complement removes one part.
            subset = next((candidate for candidate in subsets if self._is_enough(candidate)), None)
            complement = next((candidate for candidate in complements if self._is_enough(candidate)), None)
            if subset is not None:
                mixture, part_count = subset, 2
            elif complement is not None:
                mixture, part_count = complement, max(part_count - 1, 2)
            elif part_count < len(mixture):
                part_count = min(len(mixture), 2 * part_count)
            else:
                break
        self.deciding_set = mixture

    def _is_enough(self, mixture: ChangeMixture) -> bool:
        """Whether the first release with these changes makes the same decisions as the second one."""
        trial = self._trial_by_mixture[mixture]
        return trial is not None and not trial.has_other_decisions


def _split_mixture(group: ChangeMixture, count: int) -> list[ChangeMixture]:
    """The group in at most `count` non-empty parts."""
    count = min(count, len(group))
    edges = [len(group) * index // count for index in range(count + 1)]
    return [group[start:end] for start, end in pairwise(edges)]


def run_search(search: Upgrade, run: RunMixtures) -> Upgrade:
    """Run the search's trials to their end."""
    rounds = search.trial_rounds()
    mixtures = next(rounds, None)
    while mixtures is not None:
        try:
            mixtures = rounds.send(run(mixtures))
        except StopIteration:
            break
    return search


def start_search(snapshot: Snapshot, after: Release) -> tuple[Upgrade, MixtureTrials]:
    """(new search of the differing changes, function that runs its trials)."""
    return Upgrade(snapshot.release, after), MixtureTrials(snapshot, after)
