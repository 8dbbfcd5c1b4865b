"""Release: the scheduler that is replayed, as the set of changes that it has in their older form.

Rules ask `release.has_older_form(CHANGE)` when a session opens, and never compare versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from vcdebug.releases import devices, nodes, queues, scheduling, topology
from vcdebug.releases.change import Change, Tag
from vcdebug.releases.nodes import FEATURE_GATES_1_32, FEATURE_GATES_1_33, FEATURE_GATES_1_34, FEATURE_GATES_1_35

MASTER = "master"
MASTER_DESCRIPTION = "master of 2026-08-20, the eve of v1.16"
_OLDER, _NEWER = "+", "-"
"""In a release's name: with this older form too; with this newer form instead."""


@dataclass(frozen=True, slots=True)
class Release:
    """The replayed release. The default has the latest rules."""

    name: str = MASTER
    """A tag or `master`, followed by switched changes: `v1.15.1,-csi-limit-key`."""
    # Not hashed: the name determines the set, and caches hash releases often.
    older: frozenset[str] = field(default=frozenset(), hash=False)
    """Ids of the changes whose older form is in force."""
    stated: str = ""
    """The release that the snapshot or the user states; empty if none is stated."""

    def has_older_form(self, change: Change) -> bool:
        """Whether the older form is in force."""
        return change.id in self.older

    @property
    def is_assumed(self) -> bool:
        """Whether no release is stated."""
        return not self.stated

    @property
    def kubernetes_version(self) -> tuple[int, int]:
        """The version of the Kubernetes library that the scheduler is built with."""
        ceilings = (FEATURE_GATES_1_32, FEATURE_GATES_1_33, FEATURE_GATES_1_34, FEATURE_GATES_1_35)
        return 1, next((minor for minor, change in enumerate(ceilings, 32) if self.has_older_form(change)), 36)

    def changes_in_force(self) -> Iterator[Change]:
        """The changes whose older form is in force, in the order of the table."""
        return (change for change in CHANGES.values() if change.id in self.older)

    def unreplayed_changes(self) -> tuple[Change, ...]:
        """Changes whose older form the release has and the replay does not support."""
        tag, _, _ = self.name.partition(",")
        if tag == MASTER:
            return ()
        known = Tag.from_text(tag)
        return tuple(change for change in CHANGES.values() if not change.replayed and change.is_in_force(known))

    def display_name(self) -> str:
        """Its name for messages."""
        return MASTER_DESCRIPTION if self.name == MASTER else self.name

    def describe_rules(self) -> str:
        """The rules in force, for messages."""
        return f"the newest rules, {self.display_name()}" if self.is_assumed else f"the rules of {self.display_name()}"

    def with_change(self, change: Change, *, older: bool) -> Release:
        """The same release with one change in its older or newer form."""
        if self.has_older_form(change) is older:
            return self
        forms = self.older | {change.id} if older else self.older - {change.id}
        wanted, opposite = (f"{sign}{change.id}" for sign in ((_OLDER, _NEWER) if older else (_NEWER, _OLDER)))
        parts = self.name.split(",")
        # Switching a change back removes its opposite from the name, so that equal rules have equal names.
        parts = [part for part in parts if part != opposite] if opposite in parts else [*parts, wanted]
        return Release(",".join(parts), forms, ",".join(parts))


NEWEST = Release()


def release_at_tag(tag: Tag) -> Release:
    """The release of a supported tag, with the older forms that the replay supports."""
    older = frozenset(change.id for change in CHANGES.values() if change.replayed and change.is_in_force(tag))
    return Release(str(tag), older, str(tag))


def release_names() -> tuple[str, ...]:
    """All supported releases, newest first."""
    return MASTER, *map(str, SUPPORTED_TAGS)


CHANGES: dict[str, Change] = {
    change.id: change for module in (scheduling, topology, queues, nodes, devices) for change in module.CHANGES
}
"""Every change by its id, in the order of the documentation's table."""

SUPPORTED_TAGS: tuple[Tag, ...] = tuple(
    Tag.from_text(f"v{line}.{patch}")
    for line, newest in (("1.15", 1), ("1.14", 4), ("1.13", 3), ("1.12", 4))
    for patch in range(newest, -1, -1)
)
"""The supported tags, newest first; master comes before them."""

KUBERNETES_BY_LINE: dict[tuple[int, int], str] = {
    (1, 16): "1.36",
    (1, 15): "1.35",
    (1, 14): "1.34",
    (1, 13): "1.33",
    (1, 12): "1.32",
}
"""Release line → version of its Kubernetes library."""
