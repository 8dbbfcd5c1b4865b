"""Release: the scheduler that is replayed, as the set of older forms that it still has.

Rules ask `release.has(CHANGE)` when a session opens, and never compare versions.
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
"""In a release's name: this older form too, this newer form instead."""


@dataclass(frozen=True, slots=True)
class Release:
    """What the scheduler is built from. The default is the newest rules."""

    name: str = MASTER
    """A tag, or `master`, and the changes switched behind it: `v1.15.1,-csi-limit-key`."""
    older: frozenset[str] = field(default=frozenset(), hash=False)
    """Ids of the changes whose older form is in force."""
    stated: str = ""
    """What the snapshot says runs in the cluster; empty where nothing says it."""

    def has_older_form(self, change: Change) -> bool:
        """Whether the older form is in force."""
        return change.id in self.older

    @property
    def is_assumed(self) -> bool:
        """Whether nothing says which release the cluster runs."""
        return not self.stated

    @property
    def kubernetes_version(self) -> tuple[int, int]:
        """The Kubernetes library that it is built with: no gate is newer."""
        ceilings = (FEATURE_GATES_1_32, FEATURE_GATES_1_33, FEATURE_GATES_1_34, FEATURE_GATES_1_35)
        return 1, next((minor for minor, change in enumerate(ceilings, 32) if self.has_older_form(change)), 36)

    def changes_in_force(self) -> Iterator[Change]:
        """The changes whose older form is in force, in the order of the table."""
        return (change for change in CHANGES.values() if change.id in self.older)

    def unreplayed_changes(self) -> tuple[Change, ...]:
        """Older forms that the release has and the replay does not know."""
        tag, _, _ = self.name.partition(",")
        if tag == MASTER:
            return ()
        known = Tag.from_text(tag)
        return tuple(change for change in CHANGES.values() if not change.replayed and change.is_in_force(known))

    def display_name(self) -> str:
        """Its name, for people."""
        return MASTER_DESCRIPTION if self.name == MASTER else self.name

    def describe_rules(self) -> str:
        """Whose rules decide, for people."""
        return f"the newest rules, {self.display_name()}" if self.is_assumed else f"the rules of {self.display_name()}"

    def with_change(self, change: Change, *, older: bool) -> Release:
        """The same with one change in its older or its newer form."""
        if self.has_older_form(change) is older:
            return self
        forms = self.older | {change.id} if older else self.older - {change.id}
        wanted, opposite = (f"{sign}{change.id}" for sign in ((_OLDER, _NEWER) if older else (_NEWER, _OLDER)))
        parts = self.name.split(",")
        parts = [part for part in parts if part != opposite] if opposite in parts else [*parts, wanted]
        return Release(",".join(parts), forms, ",".join(parts))


NEWEST = Release()


def release_at_tag(tag: Tag) -> Release:
    """A supported release, with the older forms that the replay knows."""
    older = frozenset(change.id for change in CHANGES.values() if change.replayed and change.is_in_force(tag))
    return Release(str(tag), older, str(tag))


def release_names() -> tuple[str, ...]:
    """Every release that can be asked for, newest first."""
    return MASTER, *map(str, SUPPORTED_TAGS)


# Every change by its id, each line of releases, and what is replayed of them.

CHANGES: dict[str, Change] = {
    change.id: change for module in (scheduling, topology, queues, nodes, devices) for change in module.CHANGES
}
"""Older forms of upstream's rules; docs show this table."""

SUPPORTED_TAGS: tuple[Tag, ...] = tuple(
    Tag.from_text(f"v{line}.{patch}")
    for line, newest in (("1.15", 1), ("1.14", 4), ("1.13", 3), ("1.12", 4))
    for patch in range(newest, -1, -1)
)
"""Releases that are replayed, newest first, behind the newest rules."""

KUBERNETES_BY_LINE: dict[tuple[int, int], str] = {
    (1, 16): "1.36",
    (1, 15): "1.35",
    (1, 14): "1.34",
    (1, 13): "1.33",
    (1, 12): "1.32",
}
"""The Kubernetes library that each line is built with."""
