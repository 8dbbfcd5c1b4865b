"""One cluster as a Snapshot: every row of the table of kinds, the scheduler's settings, version and clock."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from vcdebug.capture.listing import Listing
from vcdebug.capture.options import CaptureOptions, Progress
from vcdebug.capture.permission import FILE, NOT_FOUND, optional_skipped, required_failed, resource, served_groups
from vcdebug.capture.scheduler import read_settings
from vcdebug.capture.transport import Api, ApiRefusal, Transport
from vcdebug.snapshot.kinds import KINDS, Kind
from vcdebug.snapshot.problem import Problem
from vcdebug.snapshot.process import Process
from vcdebug.snapshot.redact import redact
from vcdebug.snapshot.snapshot import DEFAULT_NOW, Flags, Manifest, Snapshot

QUOTED = re.compile(r"(the server answered \d+): .*", re.DOTALL)
IN_CLUSTER = "in-cluster"
SCHEDULER_APP = "volcano-scheduler"
LATER_STATE = "the list expired twice while it was read: its later pages show a later state"


def capture(
    options: CaptureOptions,
    progress: Progress | None = None,
    *,
    transport: Transport | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Snapshot:
    """Read a cluster, without writing anything to it; raises CaptureError when it cannot be replayed."""
    api = Api(transport or _connect(options), options, sleep)
    problems: list[Problem] = []
    version = _server_version(api, problems)
    objects = _read_objects(api, options, progress, problems)
    settings = read_settings(api, options)
    problems.extend(settings.problems)
    snapshot = Snapshot(
        name=api.context or IN_CLUSTER,
        objects=objects,
        scheduler_conf=settings.conf,
        now=_clock(api, objects, problems),
        flags=replace(settings.flags, server_version=version),
        problems=problems,
        description=_description(version, settings.image),
        origin=api.server,
        process=Process(started=_scheduler_start(objects)),
    )
    return _redacted(snapshot) if options.redact else snapshot


def _connect(options: CaptureOptions) -> Transport:
    """The real transport; its module imports the Kubernetes client, which only this command needs."""
    from vcdebug.capture.connection import connect

    return connect(options)


def _redacted(snapshot: Snapshot) -> Snapshot:
    """Redacted, with Problems that no longer quote the server."""
    problems = [replace(problem, what=QUOTED.sub(r"\1", problem.what)) for problem in snapshot.problems]
    return replace(redact(snapshot), problems=problems)


def _server_version(api: Api, problems: list[Problem]) -> tuple[int, int]:
    """The server's major and minor version; a provider's suffix, as in `31+`, does not count."""
    try:
        version = api.get("/version")
        return _digits(version.get("major")), _digits(version.get("minor"))
    except (ApiRefusal, ValueError) as failure:
        major, minor = Flags().server_version
        effect = f"{major}.{minor} is assumed; feature gates that follow the version may differ"
        problems.append(Problem(FILE, "/version", "", f"the server's version is not known: {failure}", effect))
        return major, minor


def _scheduler_start(objects: dict[str, list[Manifest]]) -> datetime | None:
    """When the scheduler's pod started: from then on it has had cycles before this one."""
    starts = [_moment((pod.get("status") or {}).get("startTime")) for pod in objects["Pod"] if _is_scheduler(pod)]
    return min((start for start in starts if start is not None), default=None)


def _is_scheduler(pod: Manifest) -> bool:
    labels = (pod.get("metadata") or {}).get("labels")
    return isinstance(labels, dict) and labels.get("app") == SCHEDULER_APP


def _digits(text: object) -> int:
    match = re.match(r"\d+", text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{text!r} is no version number")
    return int(match[0])


def _read_objects(
    api: Api, options: CaptureOptions, progress: Progress | None, problems: list[Problem]
) -> dict[str, list[Manifest]]:
    """Every kind's objects; required kinds first, so that a missing permission shows at once."""
    wanted = sorted((kind for kind in KINDS if not kind.settings), key=lambda kind: not kind.required)
    objects: dict[str, list[Manifest]] = {}
    groups: dict[str, list[str]] | None = None
    for kind in wanted:
        listing = Listing(api, kind, options.page_size, progress)
        try:
            objects[kind.name] = listing.read()
        except ApiRefusal as refusal:
            if kind.required:
                raise required_failed(api, kind, refusal) from refusal
            groups = served_groups(api) if groups is None and refusal.status == NOT_FOUND else groups
            problems.append(optional_skipped(kind, refusal, groups or {}))
        if listing.inconsistent:
            problems.append(_inconsistent(kind))
    return objects


def _inconsistent(kind: Kind) -> Problem:
    effect = "objects that changed meanwhile may be missing or of another moment than the rest; capture again"
    return Problem(FILE, resource(kind), "", LATER_STATE, effect)


def _clock(api: Api, objects: dict[str, list[Manifest]], problems: list[Problem]) -> datetime:
    """The server's latest Date; without one, the newest creation time."""
    if api.clock is not None:
        return api.clock
    created = [_created(manifest) for manifests in objects.values() for manifest in manifests]
    now = max((time for time in created if time is not None), default=DEFAULT_NOW)
    effect = f"the newest creation time, {now.isoformat()}, is taken for now"
    problems.append(Problem(FILE, "Date", "", "the server does not tell its time", effect))
    return now


def _created(manifest: Manifest) -> datetime | None:
    metadata = manifest.get("metadata")
    return _moment(metadata.get("creationTimestamp") if isinstance(metadata, dict) else None)


def _moment(text: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return time if time is not None and time.tzinfo is not None else None


def _description(version: tuple[int, int], image: str) -> str:
    text = f"captured from a Kubernetes {version[0]}.{version[1]} cluster"
    return f"{text}, scheduler image {image}" if image else text
