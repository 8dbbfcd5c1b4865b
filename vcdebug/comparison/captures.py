"""Compares two captures of one cluster: which objects, decisions and causes have changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from vcdebug.comparison.cycles import CycleComparison, compare_cycles, iter_changed
from vcdebug.explain.pending.explanation import survey_jobs
from vcdebug.model.names import JobId, Seq
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.gathered_objects import object_name
from vcdebug.snapshot.manifest import metadata_of
from vcdebug.snapshot.snapshot import Manifest, Snapshot

NEW, GONE, OTHER = "new", "gone", "changed"
WRITE_METADATA: Final = ("resourceVersion", "generation")
"""Metadata that the API server changes at every write."""


class ObjectChange(NamedTuple):
    """One object that came, went or changed."""

    kind: str
    name: str
    word: str


class CauseChange(NamedTuple):
    """The cause that keeps a job pending, before and after; empty where the job is not pending."""

    job: JobId
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class CaptureChanges:
    """All changes from one capture to the next."""

    objects: tuple[ObjectChange, ...]
    decisions: CycleComparison
    causes: tuple[CauseChange, ...]

    @property
    def first_difference_seq(self) -> Seq | None:
        """The first event of the later recording that differs; None where all events are the same."""
        divergence = self.decisions.divergence
        side = divergence.after or divergence.before if divergence is not None else None
        return side.seq if side is not None else None

    def format_changes(self) -> str:
        """The changes counted in one line."""
        counts = (
            (len(self.objects), "object", ""),
            (len(self.decisions.tasks), "pod", " decided otherwise"),
            (len(self.causes), "cause", ""),
        )
        counted = [f"{count} {what}{'s' * (count > 1)}{more}" for count, what, more in counts if count]
        return f"changed: {', '.join(counted)}" if counted else "nothing has changed"


def compare_captures(before: Recording, after: Recording) -> CaptureChanges:
    """All changes, each list in the order of names."""
    objects = tuple(_object_changes(before.snapshot, after.snapshot))
    causes = iter_changed(_cause_by_job(before), _cause_by_job(after))
    return CaptureChanges(
        objects, compare_cycles(before, after), tuple(CauseChange(job, a or "", b or "") for job, a, b in causes)
    )


def _object_changes(before: Snapshot, after: Snapshot) -> Iterator[ObjectChange]:
    for kind in sorted({**before.objects, **after.objects}):
        old, new = _by_name(before, kind), _by_name(after, kind)
        for name in sorted({**old, **new}):
            if name not in old:
                yield ObjectChange(kind, name, NEW)
            elif name not in new:
                yield ObjectChange(kind, name, GONE)
            # Objects that both captures share are one object, so most manifests need no comparison.
            elif old[name] is not new[name] and _without_write_marks(old[name]) != _without_write_marks(new[name]):
                yield ObjectChange(kind, name, OTHER)
    if before.scheduler_conf != after.scheduler_conf:
        yield ObjectChange("configuration", "", OTHER)


def _by_name(snapshot: Snapshot, kind: str) -> dict[str, Manifest]:
    return {object_name(manifest): manifest for manifest in snapshot.objects_of(kind)}


def _without_write_marks(manifest: Manifest) -> Manifest:
    """The object without WRITE_METADATA."""
    metadata = metadata_of(manifest)
    return {**manifest, "metadata": {key: value for key, value in metadata.items() if key not in WRITE_METADATA}}


def _cause_by_job(recording: Recording) -> dict[JobId, str]:
    return {item.explanation.job: item.shown_finding.cause for item in survey_jobs(recording).explained}
