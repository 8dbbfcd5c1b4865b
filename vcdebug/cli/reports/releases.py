"""Whose rules decide, as reports say it."""

from __future__ import annotations

from vcdebug.releases.release import Release


def release_document(release: Release) -> dict[str, object]:
    """For programs: `stated` is null where the snapshot does not say which release runs."""
    return {
        "name": release.name,
        "stated": release.stated or None,
        "kubernetes": ".".join(map(str, release.kubernetes)),
        "olderRules": [change.id for change in release.changes()],
        "notReplayed": [change.id for change in release.lacking()],
    }


def release_line(release: Release) -> str:
    """For people."""
    if release.assumed:
        return f"release not stated: replayed by the newest rules, {release.text()}"
    stated = "" if release.stated in (release.name, release.name.removeprefix("v")) else f" (stated: {release.stated})"
    return f"release {release.text()}{stated}"
