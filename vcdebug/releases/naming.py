"""What somebody calls a release: tags, image names, forks and switched changes, read as one that is replayed."""

from __future__ import annotations

import re
from typing import NamedTuple

from vcdebug.releases.change import Change, Tag
from vcdebug.releases.release import MASTER, NEWEST, Release, at_tag
from vcdebug.releases.table import CHANGES, SUPPORTED

_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(.*)", re.ASCII | re.DOTALL)
_PRE = re.compile(r"-(?:alpha|beta|rc)\b.*", re.DOTALL)
_SWITCH = re.compile(r"([+-])([a-z0-9][a-z0-9.-]*)")
_NEWEST_LINE = (1, 16)
_OLDEST_LINE = (1, 12)
"""What changed before is not in the table."""
MOST_NAMED = 4
"""Differences that a text names one by one."""


class Named(NamedTuple):
    """A release as it is replayed, and what is to be said about the name."""

    release: Release
    what: str = ""
    """What is wrong with the name; empty where it is one that is replayed."""
    effect: str = ""
    readable: bool = True
    """Whether the name is a version at all."""


def named_release(text: str) -> Named:
    """`v1.15.1`, `1.15.1`, `master`, `v1.14.4,-csi-limit-key`; for anything else the nearest one that is replayed."""
    base, *switches = (part.strip() for part in text.strip().split(","))
    found = _of_base(base)
    for switch in switches:
        found = _switched(found, switch)
    return found._replace(release=_stating(found.release, text.strip()))


def _stating(release: Release, text: str) -> Release:
    return Release(release.name, release.older, text)


def _of_base(text: str) -> Named:
    if text == MASTER or _bare(text) == (*_NEWEST_LINE, 0):
        return Named(NEWEST)
    match = _VERSION.fullmatch(text)
    if match is None:
        return Named(NEWEST, f"{_short(text)} is no release of Volcano", _as(NEWEST), readable=False)
    tag, suffix = Tag(int(match[1]), int(match[2]), int(match[3] or 0)), match[4]
    alike = [known for known in SUPPORTED if known == tag or (match[3] is None and known.line == tag.line)]
    exact = next(iter(alike), None)
    nearest = at_tag(exact) if exact is not None else _nearest(tag)
    if exact is not None and not suffix:
        return Named(nearest, "" if match[3] else f"{_short(text)} names no patch release", _as(nearest))
    if _PRE.fullmatch(suffix):
        return Named(nearest, f"{_short(text)} is a pre-release", _as(nearest) + _lacking(tag, nearest))
    if exact is not None:
        effect = f"{_as(nearest)}; what its makers changed is not known"
        return Named(nearest, f"{_short(text)} is a build of its own", effect)
    what = f"{_short(text)} is newer than what is replayed" if tag.line > _NEWEST_LINE else ""
    what = what or f"{_short(text)} is not among the releases that are replayed ({_all_replayed()})"
    return Named(nearest, what, _as(nearest) + _lacking(tag, nearest))


def _bare(text: str) -> tuple[int, int, int] | None:
    match = _VERSION.fullmatch(text)
    return None if match is None or match[4] else (int(match[1]), int(match[2]), int(match[3] or 0))


def _short(text: str) -> str:
    return text if len(text) <= 40 and text.isprintable() else repr(text[:40])


def _all_replayed() -> str:
    """Line by line, so that what follows is still read."""
    lines = {tag.line: [one for one in SUPPORTED if one.line == tag.line] for tag in SUPPORTED}
    spans = (f"{tags[0]} to {tags[-1]}" if len(tags) > 1 else str(tags[0]) for tags in lines.values())
    return ", ".join([MASTER, *spans])


def _as(release: Release) -> str:
    return f"replayed as {release.text()}"


def _nearest(tag: Tag) -> Release:
    """The release that differs from the tag in the fewest changes; the newer one of several."""
    wanted = frozenset(change.id for change in CHANGES.values() if change.in_force(tag))
    candidates = (NEWEST, *map(at_tag, SUPPORTED))
    return min(candidates, key=lambda release: len(wanted ^ release.older))


def _lacking(tag: Tag, release: Release) -> str:
    """The heaviest changes between the tag and what is replayed for it."""
    if tag.line < _OLDEST_LINE:
        return ", which differs in what changed before v1.12"
    nearest = None if release.name == MASTER else Tag.of(release.name)
    had = {change.id: nearest is not None and change.in_force(nearest) for change in CHANGES.values()}
    apart = [change for change in CHANGES.values() if change.in_force(tag) is not had[change.id]]
    heavy = sorted(apart, key=lambda change: "HMLT".index(change.weight))
    if not heavy:
        return ""
    shown = ", ".join(change.id for change in heavy[:MOST_NAMED])
    more = f" and {len(heavy) - MOST_NAMED} more" if len(heavy) > MOST_NAMED else ""
    return f", which differs in {shown}{more}"


def _switched(found: Named, switch: str) -> Named:
    match = _SWITCH.fullmatch(switch)
    change: Change | None = CHANGES.get(match[2]) if match else None
    if match is None or change is None:
        from difflib import get_close_matches

        close = get_close_matches(switch.lstrip("+-"), CHANGES, 1)
        meant = f": did you mean {close[0]}?" if close else ""
        return found._replace(what=f"{_short(switch)} is no change{meant}", effect="it is left out", readable=False)
    if not change.replayed:
        return found._replace(what=f"the older form of {change.id} is not replayed", effect="it is left out")
    return found._replace(release=found.release.switched(change, older=match[1] == "+"))


def release_of_image(image: str) -> str:
    """The tag of an image that tells a release; empty for a digest, `latest` and the like.

    A registry's port and path stand before the last `/`, a digest behind `@`.
    """
    name = image.partition("@")[0].rpartition("/")[2]
    tag = name.partition(":")[2].strip()
    return tag if _VERSION.fullmatch(tag) else ""
