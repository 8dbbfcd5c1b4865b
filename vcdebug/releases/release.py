"""Release: the scheduler to replay, as the set of changes that it has in their older form.

Rules ask `release.has_older_form(CHANGE)` when a session opens, and never compare versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Final, Literal, Self

from msgspec import Struct

from vcdebug.releases import devices, nodes, queues, scheduling
from vcdebug.releases.change import Change, Tag
from vcdebug.releases.nodes import (
    FEATURE_GATES_1_30,
    FEATURE_GATES_1_31,
    FEATURE_GATES_1_32,
    FEATURE_GATES_1_33,
    FEATURE_GATES_1_34,
    FEATURE_GATES_1_35,
)

MASTER = "master"
MASTER_DESCRIPTION = "master of 2026-08-20"
Trust = Literal["exact", "near", "unknown"]
"""exact: recorded, or compared with its program; near: of a known line; unknown: not stated, or of another line."""
TRUST_WORDS: dict[Trust, str] = {
    "exact": "replayed exactly",
    "near": "not compared with the real scheduler",
    "unknown": "unknown: may differ",
}
_GATE_CEILINGS = {
    30: FEATURE_GATES_1_30,
    31: FEATURE_GATES_1_31,
    32: FEATURE_GATES_1_32,
    33: FEATURE_GATES_1_33,
    34: FEATURE_GATES_1_34,
    35: FEATURE_GATES_1_35,
}
_OLDER, _NEWER = "+", "-"
"""Signs of switched changes in a release's name: `+` adds the older form, `-` selects the newer form."""


@dataclass(frozen=True, slots=True)
class Release:
    """The replayed release, by default the one with the latest rules."""

    name: str = MASTER
    """A tag or `master`, then the switched changes: `v1.15.1,-csi-limit-key`."""
    # Not hashed: the name determines the set, and caches hash releases often.
    older_forms: frozenset[str] = field(default=frozenset(), hash=False)
    """Ids of the changes whose older form is in force."""
    stated_name: str = ""
    """The release named by the snapshot or the user; empty if neither names one."""
    trust: Trust = field(default="unknown", compare=False)
    """How far the replay of the stated release can be trusted."""

    def has_older_form(self, change: Change) -> bool:
        """Whether the release has the older form of the change."""
        return change.id in self.older_forms

    @property
    def is_assumed(self) -> bool:
        """Whether neither the snapshot nor the user names a release."""
        return not self.stated_name

    @property
    def kubernetes_version(self) -> tuple[int, int]:
        """(major, minor) of the Kubernetes library with which the scheduler is built."""
        return 1, next((minor for minor, change in _GATE_CEILINGS.items() if self.has_older_form(change)), 36)

    def changes_in_force(self) -> Iterator[Change]:
        """The changes whose older form is in force, in the order of the table."""
        return (change for change in CHANGES.values() if change.id in self.older_forms)

    def unreplayed_changes(self) -> tuple[Change, ...]:
        """The changes whose older form the release has but the replay does not support."""
        tag, _, _ = self.name.partition(",")
        if tag == MASTER:
            return ()
        version = Tag.from_text(tag)
        return tuple(change for change in CHANGES.values() if not change.replayed and change.is_in_force(version))

    def display_name(self) -> str:
        """The release's name for messages."""
        tag, _, _ = self.name.partition(",")
        coming = COMING_TAGS.get(Tag.from_text(tag)) if tag != MASTER else None
        if coming is not None:
            return f"{self.name} as of {coming.date}"
        return MASTER_DESCRIPTION if self.name == MASTER else self.name

    def describe_trust(self) -> str:
        """A text that names the replayed release and says how far its replay can be trusted, to head an answer."""
        name = self.display_name()
        if self.is_assumed:
            return f"release unknown, replayed by the latest rules ({name})"
        if self.stated_name not in (self.name, self.name.removeprefix("v")):
            name = f"{self.stated_name}, replayed as {name}"
        return f"release {name} ({TRUST_WORDS[self.trust]})"

    def build_document(self) -> dict[str, object]:
        """The release as a JSON document; `stated_name` is null if no release is named."""
        return {
            "name": self.name,
            "stated": self.stated_name or None,
            "trust": self.trust,
            "kubernetes": ".".join(map(str, self.kubernetes_version)),
            "olderRules": [change.id for change in self.changes_in_force() if not change.is_proposed],
            "notReplayed": [change.id for change in self.unreplayed_changes()],
        }

    def with_change(self, change: Change, *, older: bool) -> Release:
        """The release with one change switched to its older or newer form."""
        if self.has_older_form(change) is older:
            return self
        forms = self.older_forms | {change.id} if older else self.older_forms - {change.id}
        switch, opposite = (f"{sign}{change.id}" for sign in ((_OLDER, _NEWER) if older else (_NEWER, _OLDER)))
        parts = self.name.split(",")
        # Switching a change back drops the opposite switch from the name, so that equal rules have equal names.
        parts = [part for part in parts if part != opposite] if opposite in parts else [*parts, switch]
        name, trust = ",".join(parts), self.trust
        return Release(name, forms, name, "near" if trust == "exact" else trust)


# Compared by identity: what a cache has kept for another release of this name would be consulted by no rule.
@dataclass(frozen=True, slots=True, eq=False)
class ListeningRelease(Release):
    """A release that records which changes the rules consult."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    consulted_changes: dict[str, None] = field(default_factory=dict)

    @classmethod
    def replayed_at(cls, release: Release) -> Self:
        """A listener with the rules of a release."""
        return cls(release.name, release.older_forms, release.stated_name)

    def has_older_form(self, change: Change) -> bool:
        # A dict, since the order of the questions is kept and must not depend on string hashes.
        self.consulted_changes[change.id] = None
        return Release.has_older_form(self, change)


NEWEST = Release()


def rule_of(change: Change, *, newest: bool = False) -> bool:
    """A field of ReleaseRules: `newest`, but the opposite in releases with the older form of the change."""
    rule: bool = field(default=newest, metadata={"change": change})
    return rule


@dataclass(frozen=True, slots=True)
class ReleaseRules:
    """Base of rules that differ between releases; the defaults are the rules of master."""

    @classmethod
    def for_release(cls, release: Release, **others: object) -> Self:
        """The rules of a release; `others` are fields that depend on no change."""
        switched = (rule for rule in fields(cls) if rule.metadata and release.has_older_form(rule.metadata["change"]))
        return cls(**{rule.name: not rule.default for rule in switched}, **others)


@cache
def release_at_tag(tag: Tag) -> Release:
    """The release of a supported tag, with the older forms that the replay supports."""
    older = frozenset(change.id for change in CHANGES.values() if change.replayed and change.is_in_force(tag))
    return Release(str(tag), older, str(tag), "exact" if str(tag) in VERIFIED_TAGS else "near")


def release_names() -> tuple[str, ...]:
    """All supported releases, newest first."""
    return MASTER, *map(str, COMING_TAGS), *map(str, SUPPORTED_TAGS)


_EVERY = [change for module in (scheduling, queues, nodes, devices) for change in module.CHANGES]
CHANGES: dict[str, Change] = {
    change.id: change for change in sorted(_EVERY, key=lambda change: change.id if change.is_proposed else "")
}
"""All changes by id, in the order of the documentation's table."""

SUPPORTED_TAGS: tuple[Tag, ...] = tuple(
    Tag.from_text(f"v{line}.{patch}")
    for line, newest in (("1.15", 1), ("1.14", 4), ("1.13", 3), ("1.12", 4), ("1.11", 2), ("1.10", 2))
    for patch in range(newest, -1, -1)
)
"""The supported tags, newest first; master comes before them."""


class BranchHead(Struct, frozen=True):
    """The last commit of a release branch that was read, with its date."""

    commit: str
    date: str


COMING_TAGS: Final[Mapping[Tag, BranchHead]] = {
    Tag(1, 15, 2): BranchHead("d52b6ec43", "2026-08-18"),
    Tag(1, 14, 5): BranchHead("1cb050623", "2026-08-18"),
    Tag(1, 13, 4): BranchHead("2ce42e85c", "2026-08-11"),
}
"""Patch releases that upstream has not tagged yet; each is replayed as the head of its branch."""

VERIFIED_TAGS = (
    *("v1.15.2", "v1.15.1", "v1.15.0", "v1.14.5", "v1.14.4", "v1.14.1"),
    *("v1.13.3", "v1.13.1", "v1.12.4", "v1.12.1", "v1.11.2", "v1.10.2", "v1.10.0"),
)
"""Releases that were recorded, or whose programs were compared with the replay: see docs/fidelity.md."""
