"""One trial: the cycle under a release between two others, held against what the second one makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from vcdebug.compare.cycles import compare
from vcdebug.compare.first_difference import Divergence
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.releases.change import Change
from vcdebug.releases.release import Release
from vcdebug.releases.table import CHANGES
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.codec import digest
from vcdebug.trace.cut import whole
from vcdebug.trace.passing import passing
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay

Mixture = tuple[str, ...]
"""Ids of the changes that a trial takes as the second release has them, in the order of the table."""


class Trial(NamedTuple):
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
class _Listening(Release):
    """A release that remembers what it was asked."""

    asked: dict[str, None] = field(default_factory=dict, compare=False)

    def has(self, change: Change) -> bool:
        self.asked[change.id] = None
        return Release.has(self, change)


def apart(before: Release, after: Release) -> Mixture:
    """The changes in which two releases differ, in the order of the table."""
    return tuple(name for name in CHANGES if name in before.older ^ after.older)


class Trials:
    """A function of mixtures that travels between processes: each runs the second release, then a cycle per trial."""

    def __init__(self, snapshot: Snapshot, after: Release) -> None:
        self._snapshot = snapshot
        self._after = after
        self._target: _Run | None = None

    def __reduce__(self) -> tuple[type[Trials], tuple[Snapshot, Release]]:
        """Pickled without its recording; a process that needs one replays the snapshot."""
        return Trials, (self._snapshot, self._after)

    def __call__(self, mixture: Mixture) -> Trial:
        """The trial of one mixture."""
        target = self._target = self._target or _Run(self._snapshot, self._after)
        if mixture == apart(self._snapshot.release, self._after):
            return target.beside(target)
        run = _Run(self._snapshot, self.of(mixture))
        with passing(run.recording):
            return target.beside(run)

    def of(self, mixture: Mixture) -> Release:
        """The first release with these changes as the second one has them."""
        release = self._snapshot.release
        for name in mixture:
            release = release.switched(CHANGES[name], older=name in self._after.older)
        return release


class _Run:
    """A cycle, and what its rules asked about."""

    def __init__(self, snapshot: Snapshot, release: Release) -> None:
        heard = _Listening(release.name, release.older, release.stated)
        self.recording = whole(replay(replace(snapshot, flags=replace(snapshot.flags, release=heard))))
        self.asked = tuple(heard.asked)

    @cached_property
    def digest(self) -> bytes:
        """The same for recordings without any difference."""
        return digest(self.recording)

    def beside(self, run: _Run) -> Trial:
        """What came of a run, held against this one."""
        found = compare(self.recording, run.recording)
        return Trial(
            self.digest != run.digest,
            not found.same,
            tuple(change.job for change in found.jobs),
            tuple(change.task for change in found.tasks),
            _event(found.divergence, self.recording),
            _event(found.deeds_part, self.recording),
            run.asked,
        )


def _event(divergence: Divergence | None, recording: Recording) -> Seq | None:
    """Where a recording parts from another one; behind its end where only the other one goes on."""
    if divergence is None:
        return None
    return len(recording) + 1 if divergence.before is None else divergence.before.seq
