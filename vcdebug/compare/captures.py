"""Two captures of one cluster: which objects, decisions and causes are not the same any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from vcdebug.causes.survey import survey
from vcdebug.compare.cycles import Comparison, changed, compare
from vcdebug.model.names import JobId, Seq
from vcdebug.snapshot.gather import object_name
from vcdebug.snapshot.manifest import metadata_of
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.trace.recording import Recording

NEW, GONE, OTHER = "new", "gone", "changed"
BESIDE: Final = ("resourceVersion", "generation")
"""Parts of an object's metadata that change with whatever else changes."""


class ObjectChange(NamedTuple):
    """One object that came, went or changed."""

    kind: str
    name: str
    word: str


class CauseChange(NamedTuple):
    """Why a job waits, before and after; empty where it does not wait."""

    job: JobId
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What parts one capture from the next."""

    objects: tuple[ObjectChange, ...]
    decisions: Comparison
    causes: tuple[CauseChange, ...]

    @property
    def parted(self) -> Seq | None:
        """The first event of the later recording that is another one; None where all are the same."""
        found = self.decisions.divergence
        side = found.after or found.before if found is not None else None
        return side.seq if side is not None else None

    def words(self) -> str:
        """All of it in one line."""
        counts = (
            (len(self.objects), "object", ""),
            (len(self.decisions.tasks), "pod", " decided otherwise"),
            (len(self.causes), "cause", ""),
        )
        said = [f"{count} {what}{'s' * (count > 1)}{more}" for count, what, more in counts if count]
        return f"changed: {', '.join(said)}" if said else "nothing has changed"


def changes(before: Recording, after: Recording) -> Changes:
    """Everything that is not the same, each list in the order of names."""
    objects = tuple(_objects(before.snapshot, after.snapshot))
    causes = changed(_waiting(before), _waiting(after))
    return Changes(objects, compare(before, after), tuple(CauseChange(job, a or "", b or "") for job, a, b in causes))


def _objects(before: Snapshot, after: Snapshot) -> Iterator[ObjectChange]:
    for kind in sorted({**before.objects, **after.objects}):
        old, new = _by_name(before, kind), _by_name(after, kind)
        for name in sorted({**old, **new}):
            if name not in old:
                yield ObjectChange(kind, name, NEW)
            elif name not in new:
                yield ObjectChange(kind, name, GONE)
            elif old[name] is not new[name] and _told(old[name]) != _told(new[name]):
                yield ObjectChange(kind, name, OTHER)
    if before.scheduler_conf != after.scheduler_conf:
        yield ObjectChange("configuration", "", OTHER)


def _by_name(snapshot: Snapshot, kind: str) -> dict[str, Manifest]:
    return {object_name(manifest): manifest for manifest in snapshot.of(kind)}


def _told(manifest: Manifest) -> Manifest:
    """The object without what changes at every write."""
    metadata = metadata_of(manifest)
    return {**manifest, "metadata": {key: value for key, value in metadata.items() if key not in BESIDE}}


def _waiting(recording: Recording) -> dict[JobId, str]:
    return {one.explanation.job: one.finding.cause for one in survey(recording).explained}
