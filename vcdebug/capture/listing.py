"""Lists all objects of every kind: pages, expiring lists, and a consistent state of all kinds."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

from msgspec import Struct

from vcdebug.capture import permission
from vcdebug.capture.api_client import Api, ApiRefusal, CaptureOptions, NoAnswer, Progress, Query
from vcdebug.errors import VcdebugError
from vcdebug.snapshot.kinds import KIND_BY_NAME, KINDS, WORKLOAD_KINDS, ResourceKind
from vcdebug.snapshot.manifest import WorkloadFacts, facts_by_name, key_of, metadata_of, object_in
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.provenance import Provenance
from vcdebug.snapshot.reported_events import events_about_pending
from vcdebug.snapshot.snapshot import Manifest

MAX_SELECTED = 5_000
"""Maximum number of objects that are read of one list with a selector."""
EXPIRED_STATUS = 410
NOT_EXACT_STATUSES = frozenset({400, EXPIRED_STATUS, 422, 504})
"""Statuses of a server that cannot list an exact state: not supported, compacted, or unknown version."""


class Listing:
    """Reads one list page by page, at `resource_version` if the server supports that.

    A list that expires between two pages is restarted once, so that all pages show one state. If it expires again, it
    continues with the token that the server returns: later pages then show a later state.
    """

    def __init__(
        self,
        api: Api,
        kind: ResourceKind,
        page_size: int,
        progress: Progress | None,
        resource_version: str = "",
        selector: str = "",
        namespace: str = "",
    ) -> None:
        """`selector`: a field selector, whose list ends after MAX_SELECTED objects; `namespace`: empty for all."""
        self._path = kind.list_path(namespace)
        self.kind = kind
        self.items: list[Manifest] = []
        self.resource_version = ""
        """Resource version of the first page; empty before it is read."""
        self.inconsistent = False
        """Whether the list continued after it expired, so that later pages show a later state."""
        self._api = api
        self._query = [("limit", str(page_size)), *([("fieldSelector", selector)] if selector else [])]
        self._max_items = MAX_SELECTED if selector else math.inf
        self._progress = progress
        self._version = resource_version
        self._restarted = False
        self._used_tokens: dict[str, None] = {}

    def read_all(self) -> list[Manifest]:
        """Every object of the kind, in the server's order; raises ApiRefusal."""
        token = self._first_page()
        while token and len(self.items) < self._max_items:
            token = self._next_page(token)
        return self.items

    def _first_page(self) -> str:
        """Read the first page, at the requested state if possible; returns the token of the next page."""
        if not self._version:
            return self._next_page("")
        try:
            return self._read_page(self._api.get_object(self._path, [*self._query, *exact_query(self._version)]))
        except ApiRefusal as refusal:
            if refusal.status not in NOT_EXACT_STATUSES:
                raise
            return self._next_page("")

    def _next_page(self, token: str) -> str:
        """Read the page at a token; returns the token of the next page."""
        # Otherwise a proxy that answers every request with the same page would cause an endless loop.
        if token in self._used_tokens:
            raise ApiRefusal(200, "the same continue token twice")
        self._used_tokens[token] = None
        query = self._query + ([("continue", token)] if token else [])
        try:
            page = self._api.get_object(self._path, query)
        except ApiRefusal as refusal:
            if refusal.status != EXPIRED_STATUS or not token:
                raise
            return self._after_expiry(refusal)
        return self._read_page(page)

    def _after_expiry(self, refusal: ApiRefusal) -> str:
        if not self._restarted:
            self._restarted = True
            self.items.clear()
            self.resource_version = ""
            self._used_tokens.clear()
            return self._next_page("")
        if not refusal.continue_token or refusal.continue_token in self._used_tokens:
            raise refusal
        self.inconsistent = True
        return refusal.continue_token

    def _read_page(self, page: Manifest) -> str:
        metadata = object_in(page.get("metadata"))
        self.resource_version = self.resource_version or str(metadata.get("resourceVersion") or "")
        api_version = page.get("apiVersion") or self.kind.api_version
        self.items.extend(complete_object(item, self.kind.name, api_version) for item in items_of(page, self.kind))
        self._report_progress(metadata.get("remainingItemCount"))
        token = metadata.get("continue")
        return token if isinstance(token, str) else ""

    def _report_progress(self, remaining: object) -> None:
        if self._progress is not None:
            total = len(self.items) + (max(0, remaining) if isinstance(remaining, int) else 0)
            self._progress(self.kind.name, len(self.items), total)


def exact_query(version: str) -> Query:
    """The part of a list's query that asks for the state of one version."""
    return [("resourceVersion", version), ("resourceVersionMatch", "Exact")]


def items_of(page: Manifest, kind: ResourceKind) -> list[Manifest]:
    """The objects of one page; raises ApiRefusal for a page that is no list."""
    items = page.get("items", ...)
    # Go writes a nil slice as null.
    if items is None:
        return []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ApiRefusal(200, f"JSON, but not a list of {kind.plural}")
    return items


def complete_object(item: Manifest, kind: str, api_version: str) -> Manifest:
    """The list item as a complete manifest: with kind and apiVersion, without managedFields."""
    manifest: Manifest = {"apiVersion": api_version, "kind": kind} | item
    metadata = item.get("metadata")
    if isinstance(metadata, dict) and "managedFields" in metadata:
        manifest["metadata"] = {key: value for key, value in metadata.items() if key != "managedFields"}
    return manifest


# A consistent state of all kinds: that of the first list, else one on which two readings agree.

MAX_READINGS = 4
"""Maximum number of readings of all kinds until two agree."""
MAX_BROKEN_KINDS = 3
"""Consecutive kinds without an answer after which the server counts as unavailable."""
TORN_EFFECT = "objects were read at different times and can contradict each other; capture again"


class ClusterReading(Struct):
    """One reading of all kinds, one after the other."""

    objects: dict[str, list[Manifest]] = {}
    resource_versions: dict[str, str] = {}
    problems: list[Problem] = []
    missing_kinds: list[str] = []
    is_consistent: bool = True
    """Whether every list shows the state of the first."""
    changed_objects: tuple[str, ...] = ()
    """Objects that differ from the previous reading."""
    groups: dict[str, list[str]] | None = None
    """API group → versions that the server serves; None if they were not looked up."""


def read_consistent_state(
    api: Api, options: CaptureOptions, progress: Progress | None, version: str = ""
) -> ClusterReading:
    """The objects of all kinds, at `version` if given; raises VersionGone if that state is not available.

    A server that can show each kind at the first list's state is read once. Otherwise everything is read again until
    two readings in a row are equal: then nothing changed between the end of the first and the begin of the second.
    """
    before = _read_once(api, options, progress, version)
    if version and not before.is_consistent:
        raise VersionGone(version, api.server)
    for _ in range(MAX_READINGS - 1):
        if before.is_consistent:
            return before
        after = _read_once(api, options, progress)
        after.changed_objects = tuple(_find_differences(before, after))
        after.is_consistent = after.is_consistent or not after.changed_objects
        before = after
    if not before.is_consistent:
        before.problems.append(_inconsistency_problem(before.changed_objects))
    return before


def _inconsistency_problem(changed: tuple[str, ...]) -> Problem:
    return Problem(
        permission.PROBLEM_FILE,
        "moment",
        "",
        Provenance(consistent=False, changed=changed).inconsistency_text(),
        TORN_EFFECT,
    )


class VersionGone(VcdebugError):
    """Raised if the server cannot list an earlier state: compacted, or exact states are not supported."""

    def __init__(self, version: str, where: str) -> None:
        super().__init__(f"the server no longer shows the state of version {version}", where=where)


class EarlierState(NamedTuple):
    """A state that the server may still show."""

    version: str = ""
    """Resource version; empty for the present state."""
    time: datetime | None = None
    """The time at which it ended; None if unknown."""


PRESENT: Final = EarlierState()


def first_version(changed: Callable[[int], bool], low: int, high: int) -> int:
    """The first version for which `changed` holds, by bisection: it holds for `high` and not for `low`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if changed(middle) else (middle, high)
    return high


def list_at_version(
    api: Api, kind: ResourceKind, options: CaptureOptions, version: str, selector: str = "", namespace: str = ""
) -> list[Manifest]:
    """The objects of a kind as they were at a version; raises VersionGone."""
    listing = Listing(api, kind, options.page_size, None, version, selector, namespace)
    items = listing.read_all()
    if listing.resource_version != version or listing.inconsistent:
        raise VersionGone(version, api.server)
    return items


# Pods and PodGroups that follow the cluster's changes.

FOLLOWED_KINDS: Final = ("PodGroup", "Pod")
WATCH_SECONDS: Final = 1
"""Duration of one watch: the least that an API server accepts."""


class FollowedObjects:
    """The pods and PodGroups of a capture, brought up to date by the server's watches.

    Each watch is one request, which the server ends; the next one goes on at the version where it ended, also after an
    outage. Its cost is that of the changes, while a list costs as much as the cluster is large.
    """

    def __init__(
        self, options: CaptureOptions, objects: Mapping[str, list[Manifest]], versions: Mapping[str, str]
    ) -> None:
        """`versions`: the resource version of each kind's list, as in a capture's provenance."""
        self.is_watching = True
        """Whether the user may watch; otherwise everything is listed again each time."""
        self._options = options
        self._by_uid = {kind: {_uid_of(each): each for each in objects.get(kind, ())} for kind in FOLLOWED_KINDS}
        self._versions = {kind: versions.get(kind, "") for kind in FOLLOWED_KINDS}

    @property
    def current_objects(self) -> dict[str, list[Manifest]]:
        """The objects of both kinds, in the order in which the server lists them."""
        return {kind: sorted(found.values(), key=_place_in_list) for kind, found in self._by_uid.items()}

    @property
    def latest_version(self) -> str:
        """The version that includes every change so far."""
        return max(self._versions.values(), key=lambda version: int(version) if version.isdecimal() else 0)

    def read_changes(self, api: Api) -> bool:
        """Apply what has changed and what changes during WATCH_SECONDS; returns whether anything has.

        A kind whose last version the server has forgotten is listed again. Raises ApiRefusal, NoAnswer and TooSlow.
        """
        from concurrent.futures import ThreadPoolExecutor

        # One watch after the other would show a change later, when the scheduler may have run another cycle.
        kinds = [KIND_BY_NAME[kind] for kind in FOLLOWED_KINDS]
        with ThreadPoolExecutor(len(kinds)) as pool:
            return any(list(pool.map(partial(self._read_kind_changes, api), kinds)))

    def _read_kind_changes(self, api: Api, kind: ResourceKind) -> bool:
        version = self._versions[kind.name]
        try:
            if self.is_watching and version.isdecimal():
                events = api.watch_changes(kind.list_path(self._options.namespace), version, WATCH_SECONDS)
                if not any(event.get("type") == "ERROR" for event in events):
                    changes = [self._apply_event(kind, event) for event in events]
                    return any(changes)
        except ApiRefusal as refusal:
            self.is_watching = refusal.status == EXPIRED_STATUS
        listing = Listing(api, kind, self._options.page_size, None, "", "", self._options.namespace)
        before, self._by_uid[kind.name] = self._by_uid[kind.name], {_uid_of(each): each for each in listing.read_all()}
        self._versions[kind.name] = listing.resource_version
        return _object_versions(list(before.values())) != _object_versions(listing.items)

    def _apply_event(self, kind: ResourceKind, event: Manifest) -> bool:
        """Apply one watch event; returns whether an object has changed."""
        body = object_in(event.get("object"))
        self._versions[kind.name] = str(metadata_of(body).get("resourceVersion") or self._versions[kind.name])
        if event.get("type") == "DELETED":
            self._by_uid[kind.name].pop(_uid_of(body), None)
        elif event.get("type") in ("ADDED", "MODIFIED"):
            self._by_uid[kind.name][_uid_of(body)] = complete_object(body, kind.name, kind.api_version)
        return event.get("type") != "BOOKMARK"


def _uid_of(manifest: Manifest) -> str:
    metadata = metadata_of(manifest)
    return str(metadata.get("uid") or key_of(manifest))


def _place_in_list(manifest: Manifest) -> tuple[str, str]:
    metadata = metadata_of(manifest)
    return str(metadata.get("namespace") or ""), str(metadata.get("name"))


def _read_once(api: Api, options: CaptureOptions, progress: Progress | None, version: str = "") -> ClusterReading:
    """Read every kind once; required kinds first, so that a missing permission shows at once."""
    reading = ClusterReading()
    state, broken, hidden = version, 0, list[ResourceKind]()
    for kind in sorted((kind for kind in KINDS if not kind.settings), key=lambda kind: not kind.required):
        listings = [
            Listing(api, kind, options.page_size, progress, state if kind.is_read else "", selector, options.namespace)
            for selector in kind.selectors or ("",)
        ]
        try:
            for listing in listings:
                _keep_listing(reading, listing, state)
            broken = 0
        except ApiRefusal as refusal:
            # With the rights of one namespace other kinds are hidden; a single problem names them all.
            if options.namespace and refusal.status == permission.FORBIDDEN and not (kind.required and kind.namespaced):
                hidden.append(kind)
                continue
            if kind.required:
                raise permission.required_failed(api, kind, refusal, options.namespace) from refusal
            # Most clusters do not serve a gated kind, and lack nothing without it.
            if (kind.gated or not kind.is_read) and refusal.status == permission.NOT_FOUND:
                continue
            if reading.groups is None and refusal.status == permission.NOT_FOUND:
                reading.groups = permission.served_groups(api)
            _skip_kind(reading, kind, permission.optional_skipped(kind, refusal, reading.groups or {}))
        except NoAnswer as failure:
            broken += 1
            if kind.required or broken == MAX_BROKEN_KINDS:
                raise
            _skip_kind(reading, kind, permission.optional_failed(kind, failure))
        state = state or listings[0].resource_version
    if hidden:
        reading.problems.append(permission.namespace_problem(hidden, options.namespace))
        reading.missing_kinds.extend(kind.name for kind in hidden if kind.is_read)
    if "Event" in reading.objects:
        reading.objects["Event"] = events_about_pending(reading.objects)
    return reading


def read_workloads(api: Api, options: CaptureOptions, groups: dict[str, list[str]] | None) -> dict[str, WorkloadFacts]:
    """Facts of operators' objects, of each kind that the server serves and the user may list.

    `groups`: API group → versions, None if they have not been looked up.
    """
    with suppress(NoAnswer):
        groups = permission.served_groups(api) if groups is None else groups
    manifests: list[Manifest] = []
    for kind in WORKLOAD_KINDS:
        # No problem is reported: the replay needs none of them, and most clusters have few of these operators.
        with suppress(ApiRefusal, NoAnswer):
            if groups and kind.version in groups.get(kind.group, ()):
                manifests += Listing(api, kind, options.page_size, None, namespace=options.namespace).read_all()
    return facts_by_name(manifests)


def _keep_listing(reading: ClusterReading, listing: Listing, state: str) -> None:
    """Add one kind to the reading; `state` is the first list's resource version, or empty without one."""
    reading.objects[listing.kind.name] = [*reading.objects.get(listing.kind.name, ()), *listing.read_all()]
    # Events may lie in a store with other versions; kinds that decide nothing cannot make a reading inconsistent.
    if not listing.kind.is_read:
        return
    reading.resource_versions[listing.kind.name] = listing.resource_version
    same = bool(listing.resource_version) and listing.resource_version == (state or listing.resource_version)
    reading.is_consistent = reading.is_consistent and same and not listing.inconsistent


def _skip_kind(reading: ClusterReading, kind: ResourceKind, problem: Problem) -> None:
    reading.problems.append(problem)
    if kind.is_read:
        reading.missing_kinds.append(kind.name)


def _find_differences(before: ClusterReading, after: ClusterReading) -> Iterator[str]:
    """Objects that were added, removed or changed between two readings; a kind that only one has counts once."""
    for kind in dict.fromkeys([*before.objects, *after.objects]):
        if not KIND_BY_NAME[kind].is_read:
            continue
        if (kind in before.objects) != (kind in after.objects):
            yield kind
            continue
        old, new = _object_versions(before.objects[kind]), _object_versions(after.objects[kind])
        for name in dict.fromkeys([*old, *new]):
            if old.get(name) != new.get(name):
                yield f"{kind} {name}"


def _object_versions(manifests: list[Manifest]) -> dict[str, str]:
    """Object -> uid and resourceVersion, else its whole JSON."""
    return {_object_name(manifest): _object_version(manifest) for manifest in manifests}


def _object_version(manifest: Manifest) -> str:
    metadata = object_in(manifest.get("metadata"))
    version = metadata.get("resourceVersion")
    return f"{metadata.get('uid')} {version}" if version else json.dumps(manifest, sort_keys=True)


def _object_name(manifest: Manifest) -> str:
    metadata = object_in(manifest.get("metadata"))
    return "/".join(str(metadata[key]) for key in ("namespace", "name") if metadata.get(key))
