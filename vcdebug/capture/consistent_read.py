"""Every kind as of one moment: the state of the first list, or else the same list twice, or else what changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from vcdebug.capture.listing import Listing
from vcdebug.capture.options import CaptureOptions, Progress
from vcdebug.capture.permission import NOT_FOUND, PROBLEM_FILE, optional_failed, optional_skipped, required_failed
from vcdebug.capture.permission import served_groups as groups_of
from vcdebug.capture.transport import Api, ApiRefusal, NoAnswer, object_in
from vcdebug.snapshot.kinds import KINDS, ResourceKind
from vcdebug.snapshot.problem import Problem
from vcdebug.snapshot.provenance import Provenance
from vcdebug.snapshot.snapshot import Manifest

MAX_READINGS = 4
"""How often everything is read until two readings agree."""
MAX_BROKEN_KINDS = 3
"""How many kinds in a row may fail without an answer before the server counts as gone."""
TORN_EFFECT = "what one kind says may not fit what another says, and answers may be wrong; capture again"


@dataclass(slots=True)
class ClusterReading:
    """All kinds, read once, one after the other."""

    objects: dict[str, list[Manifest]] = field(default_factory=dict)
    resource_versions: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    one_moment: bool = True
    """Whether every list shows the state of the first."""
    changed: tuple[str, ...] = ()
    """What is different from the reading before."""


def read_at_one_moment(api: Api, options: CaptureOptions, progress: Progress | None) -> ClusterReading:
    """Every kind's objects.

    A server that shows each kind as of the first list's state is read once. Otherwise everything is read again until
    two readings in a row are equal: then nothing has changed between the end of one and the beginning of the other.
    """
    before = _read_once(api, options, progress)
    for _ in range(MAX_READINGS - 1):
        if before.one_moment:
            return before
        after = _read_once(api, options, progress)
        after.changed = tuple(_find_differences(before, after))
        after.one_moment = after.one_moment or not after.changed
        before = after
    if not before.one_moment:
        before.problems.append(_torn_problem(before.changed))
    return before


def _torn_problem(changed: tuple[str, ...]) -> Problem:
    return Problem(
        PROBLEM_FILE, "moment", "", Provenance(consistent=False, changed=changed).inconsistency_text(), TORN_EFFECT
    )


def _read_once(api: Api, options: CaptureOptions, progress: Progress | None) -> ClusterReading:
    """Every kind once; required kinds first, so that a missing permission shows at once."""
    reading = ClusterReading()
    groups: dict[str, list[str]] | None = None
    state, broken = "", 0
    for kind in sorted((kind for kind in KINDS if not kind.settings), key=lambda kind: not kind.required):
        listing = Listing(api, kind, options.page_size, progress, state)
        try:
            _keep_listing(reading, listing, state)
            broken = 0
        except ApiRefusal as refusal:
            if kind.required:
                raise required_failed(api, kind, refusal) from refusal
            if kind.gated and refusal.status == NOT_FOUND:
                continue
            groups = groups_of(api) if groups is None and refusal.status == NOT_FOUND else groups
            _skip_kind(reading, kind, optional_skipped(kind, refusal, groups or {}))
        except NoAnswer as failure:
            broken += 1
            if kind.required or broken == MAX_BROKEN_KINDS:
                raise
            _skip_kind(reading, kind, optional_failed(kind, failure))
        state = state or listing.resource_version
    return reading


def _keep_listing(reading: ClusterReading, listing: Listing, state: str) -> None:
    """One kind that could be read; a first list without a state to go by leaves nothing to hold on to."""
    reading.objects[listing.kind.name] = listing.read_all()
    reading.resource_versions[listing.kind.name] = listing.resource_version
    same = bool(listing.resource_version) and listing.resource_version == (state or listing.resource_version)
    reading.one_moment = reading.one_moment and same and not listing.inconsistent


def _skip_kind(reading: ClusterReading, kind: ResourceKind, problem: Problem) -> None:
    reading.problems.append(problem)
    reading.missing.append(kind.name)


def _find_differences(before: ClusterReading, after: ClusterReading) -> Iterator[str]:
    """Objects that came, went or changed from one reading to the next; a kind that came or went is one difference."""
    for kind in dict.fromkeys([*before.objects, *after.objects]):
        if (kind in before.objects) != (kind in after.objects):
            yield kind
            continue
        old, new = _object_versions(before.objects[kind]), _object_versions(after.objects[kind])
        for name in dict.fromkeys([*old, *new]):
            if old.get(name) != new.get(name):
                yield f"{kind} {name}"


def _object_versions(manifests: list[Manifest]) -> dict[str, str]:
    """For each object what changes whenever it changes: uid and resourceVersion, or else everything it says."""
    return {_object_name(manifest): _object_version(manifest) for manifest in manifests}


def _object_version(manifest: Manifest) -> str:
    metadata = object_in(manifest.get("metadata"))
    version = metadata.get("resourceVersion")
    return f"{metadata.get('uid')} {version}" if version else json.dumps(manifest, sort_keys=True)


def _object_name(manifest: Manifest) -> str:
    metadata = object_in(manifest.get("metadata"))
    return "/".join(str(metadata[key]) for key in ("namespace", "name") if metadata.get(key))
