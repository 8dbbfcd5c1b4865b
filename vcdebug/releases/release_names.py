"""Names of releases: tags, image names, forks and switched changes, resolved to the nearest supported release."""

import re
from dataclasses import replace
from typing import NamedTuple

from vcdebug.errors import VcdebugError, closest_name, closest_name_hint
from vcdebug.releases.change import Change, Tag
from vcdebug.releases.release import (
    CHANGES,
    COMING_TAGS,
    MASTER,
    NEWEST,
    SUPPORTED_TAGS,
    Release,
    release_at_tag,
    release_names,
)

_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(.*)", re.ASCII | re.DOTALL)
_PRE_RELEASE = re.compile(r"-(?:alpha|beta|rc)\b.*", re.DOTALL)
_ARCHITECTURE = re.compile(r"-(?:linux-)?(?:amd64|arm64|x86_64|aarch64|ppc64le|s390x)")
"""The platform at the end of an image tag, e.g. `-linux-amd64`; it names no other build."""
_SWITCH = re.compile(r"([+-])([a-z0-9][a-z0-9.-]*)")
_NEWEST_LINE = (1, 16)
_OLDEST_LINE = (1, 10)
"""The oldest release line in the table: earlier changes are not listed."""
NEAREST = "nearest"
"""Suffix of a release name that accepts any version and replays the nearest one; alone, for the snapshot's release."""
MAX_NAMED_CHANGES = 4
"""Maximum number of differences that a text names."""


class NamedRelease(NamedTuple):
    """The release that a name resolves to, with the problem of the name, if any."""

    release: Release
    problem: str = ""
    """The problem of the name; empty for a supported release."""
    effect: str = ""
    readable: bool = True
    """False for a name that is not a version, or whose release line does not exist yet."""


def resolve_release(text: str) -> NamedRelease:
    """Resolve a name such as `v1.15.1`, `master` or `v1.14.4,-csi-limit-key`; other versions to the nearest release."""
    base, *switches = (part.strip() for part in text.strip().split(","))
    resolved = _resolve_base(base)
    if NEAREST in switches:
        # `nearest` excuses only the version: a misspelt switch is rejected, wherever `nearest` is.
        resolved = resolved._replace(readable=True)
    for switch in switches:
        if switch != NEAREST:
            resolved = _apply_switch(resolved, switch)
    name = ",".join(part for part in (base, *switches) if part != NEAREST)
    return resolved._replace(release=replace(resolved.release, stated_name=name))


def _resolve_base(text: str) -> NamedRelease:
    if text == MASTER:
        return NamedRelease(replace(NEWEST, trust="exact"))
    match, name = _VERSION.fullmatch(text), _shorten_name(text)
    if match is None:
        return NamedRelease(NEWEST, f"{name} is not a Volcano release", _replayed_as(NEWEST), readable=False)
    tag, suffix = Tag(int(match[1]), int(match[2]), int(match[3] or 0)), _ARCHITECTURE.sub("", match[4])
    same = [candidate for candidate in (*SUPPORTED_TAGS, *COMING_TAGS) if candidate == tag]
    line = [candidate for candidate in SUPPORTED_TAGS if candidate.release_line == tag.release_line]
    exact = next(iter(same if match[3] else line), None)
    is_known_line = _OLDEST_LINE <= tag.release_line <= _NEWEST_LINE
    nearest = release_at_tag(exact) if exact is not None else _nearest_release(tag)
    if exact is not None and not suffix and match[3]:
        return NamedRelease(nearest)
    nearest, effect = replace(nearest, trust="near" if is_known_line else "unknown"), _replayed_as(nearest)
    differing = effect + _format_differences(tag, nearest)
    if _PRE_RELEASE.fullmatch(suffix):
        return NamedRelease(nearest, f"{name} is a pre-release", differing)
    if exact is not None and not suffix:
        return NamedRelease(nearest, f"{name} has no patch version", effect)
    if exact is not None:
        return NamedRelease(nearest, f"{name} is a vendor build", f"{effect}; vendor changes are unknown")
    if tag == (*_NEWEST_LINE, 0) and not suffix:
        return NamedRelease(nearest, f"{name} itself was not compared with a real scheduler", effect)
    newer = tag.release_line > _NEWEST_LINE
    fault = f"{name} is newer than the supported releases"
    fault = fault if newer else f"{name} is not supported ({_list_replayed()})"
    return NamedRelease(nearest, fault, differing, readable=not newer)


def require_release(text: str) -> NamedRelease:
    """Resolve the name that a user gives; raises VcdebugError if it is not readable as a release."""
    resolved = resolve_release(text)
    if not resolved.readable:
        version = "v1.99" if text.strip() == NEAREST else text.strip()
        name_hint = closest_name_hint(text, release_names())
        ways = f"releases: {', '.join(release_names())}"
        # If the name has `nearest` already, the fault is in a switch.
        nearest = "" if f",{NEAREST}" in text else f"; {version},{NEAREST} replays the nearest of them"
        raise VcdebugError(resolved.problem, f"{name_hint} {ways}{nearest}".strip(), "--release")
    return resolved


def _shorten_name(text: str) -> str:
    return text if len(text) <= 40 and text.isprintable() else repr(text[:40])


def _list_replayed() -> str:
    """The supported releases as one span per release line, which keeps the message short."""
    lines = {
        tag.release_line: [other for other in SUPPORTED_TAGS if other.release_line == tag.release_line]
        for tag in SUPPORTED_TAGS
    }
    spans = (f"{tags[0]} to {tags[-1]}" if len(tags) > 1 else str(tags[0]) for tags in lines.values())
    return ", ".join([MASTER, *spans])


def _replayed_as(release: Release) -> str:
    return f"replayed as {release.display_name()}"


def _nearest_release(tag: Tag) -> Release:
    """The release with the fewest differing changes; the newest one if several are equal."""
    older_forms = frozenset(change.id for change in CHANGES.values() if change.is_in_force(tag))
    candidates = (NEWEST, *map(release_at_tag, SUPPORTED_TAGS))
    # min returns the first of equal candidates, which are ordered from newest to oldest.
    return min(candidates, key=lambda release: len(older_forms ^ release.older_forms))


def _format_differences(tag: Tag, release: Release) -> str:
    """A text with the differences between a tag and the release replayed for it, those with the most impact first."""
    if tag.release_line < _OLDEST_LINE:
        return f", which differs in what changed before v{'.'.join(map(str, _OLDEST_LINE))}"
    nearest = None if release.name == MASTER else Tag.from_text(release.name)
    in_nearest = {change.id: nearest is not None and change.is_in_force(nearest) for change in CHANGES.values()}
    differing = [change for change in CHANGES.values() if change.is_in_force(tag) is not in_nearest[change.id]]
    # sorted is stable, so that changes of equal weight keep the order of the table.
    heavy = sorted(differing, key=lambda change: "HMLT".index(change.weight))
    if not heavy:
        return ""
    names = ", ".join(change.id for change in heavy[:MAX_NAMED_CHANGES])
    remainder = f" and {len(heavy) - MAX_NAMED_CHANGES} more" if len(heavy) > MAX_NAMED_CHANGES else ""
    return f", which differs in {names}{remainder}"


def _apply_switch(base: NamedRelease, switch: str) -> NamedRelease:
    match = _SWITCH.fullmatch(switch)
    change: Change | None = CHANGES.get(match[2]) if match else None
    if match is None or change is None:
        meant = closest_name(switch.lstrip("+-"), CHANGES)
        hint = f": did you mean {meant}?" if meant else ""
        if re.match(r"[+-]pr-?\d", switch):
            hint = f"; open pull requests are {', '.join(one.id for one in CHANGES.values() if one.is_proposed)}"
        return base._replace(problem=f"unknown change {_shorten_name(switch)}{hint}", effect="ignored", readable=False)
    if not change.replayed:
        return base._replace(problem=f"the old behavior of {change.id} is not replayed", effect="ignored")
    return base._replace(release=base.release.with_change(change, older=match[1] == "+"))


def release_of_image(image: str) -> str:
    """The image's tag if it is a version; empty for a digest, `latest` and other tags."""
    # A registry's port precedes the last `/` and a digest follows `@`: neither is a tag.
    name = image.partition("@")[0].rpartition("/")[2]
    tag = name.partition(":")[2].strip()
    return tag if _VERSION.fullmatch(tag) else ""
