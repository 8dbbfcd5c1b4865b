"""What a worker does with one snapshot of many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vcdebug.causes.survey import Survey, survey_jobs, survey_one
from vcdebug.cli.keeping import CachedRecordings
from vcdebug.cli.packing import PackedSnapshot
from vcdebug.cli.snapshots import replay_snapshot
from vcdebug.snapshot.sources import Source
from vcdebug.trace.passing import disposing
from vcdebug.trace.recording import Recording


@dataclass(frozen=True, slots=True)
class Surveyor:
    """Replays a snapshot and explains its jobs; only plain values, so that it travels."""

    job: str | None
    """The only job or pod of interest."""
    complete: bool | None
    edits: tuple[str, ...]
    extender_url: str | None
    release: str | None = None

    def __call__(self, item: PackedSnapshot) -> Survey:
        """The survey of a snapshot that came as bytes."""
        with disposing(self.replay_cycle(item.open_file())) as recording:
            return self.survey_jobs(recording)

    def replay_cycle(self, where: Source, keeping: CachedRecordings | None = None) -> Recording:
        """The cycle of a snapshot."""
        return replay_snapshot(
            where,
            complete=self.complete,
            release=self.release,
            edits=self.edits,
            extender_url=self.extender_url,
            keeping=keeping,
        ).recording

    def survey_jobs(self, recording: Recording, tell: Callable[[int, int], None] | None = None) -> Survey:
        """Its jobs that wait, or the one that was asked about."""
        return survey_jobs(recording, tell) if self.job is None else survey_one(recording, self.job)
