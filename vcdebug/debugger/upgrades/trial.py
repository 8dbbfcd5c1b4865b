"""One trial: the cycle under a release between two others, held against what the second one makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from vcdebug.compare.cycles import compare_cycles
from vcdebug.compare.first_difference import Divergence
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.releases.change import Change
from vcdebug.releases.release import Release
from vcdebug.releases.table import CHANGES
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.codec import trace_digest
from vcdebug.trace.cut import require_whole
from vcdebug.trace.passing import disposing
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay_cycle

ChangeMixture = tuple[str, ...]
"""Ids of the changes that a trial takes as the second release has them, in the order of the table."""


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
    """The second release's event at which the two part in more than figures."""
    deed: Seq | None
    """Its first operation or statement that differs."""
    asked: tuple[str, ...]
    """Changes that some rule asked about: no other one can have altered this run."""


@dataclass(frozen=True, slots=True)
class _ListeningRelease(Release):
    """A release that remembers what it was asked."""

    asked: dict[str, None] = field(default_factory=dict, compare=False)

    def has_older_form(self, change: Change) -> bool:
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
        """The same for recordings without any difference."""
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
    """Where a recording parts from another one; behind its end where only the other one goes on."""
    if divergence is None:
        return None
    return len(recording) + 1 if divergence.before is None else divergence.before.seq
