"""One cluster as a Snapshot: every row of the table of kinds, the scheduler's settings, version and clock."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from vcdebug.capture.consistent_read import Reading, read_at_one_moment
from vcdebug.capture.options import CaptureOptions, Progress
from vcdebug.capture.permission import FILE
from vcdebug.capture.scheduler import SchedulerSettings, read_settings
from vcdebug.capture.transport import Api, ApiRefusal, NoAnswer, Transport, object_in
from vcdebug.capture.usage import measured
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import name_of
from vcdebug.snapshot.problem import Problem
from vcdebug.snapshot.process import Process
from vcdebug.snapshot.provenance import Provenance, stated_time
from vcdebug.snapshot.snapshot import DEFAULT_NOW, Flags, Manifest, Snapshot

IN_CLUSTER = "in-cluster"
ACCESS = "all namespaces"
MOST_NAMED = 50
"""How many changed objects the file names."""


def capture(
    options: CaptureOptions,
    progress: Progress | None = None,
    *,
    transport: Transport | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    announce: Callable[[Provenance], None] | None = None,
) -> Snapshot:
    """Read a cluster, without writing anything to it; raises CaptureError when it cannot be replayed.

    `announce` is told which cluster it is, and as whom it is read, before it is.
    """
    api = Api(transport or connected(options), options, sleep, clock)
    problems: list[Problem] = []
    version = _server_version(api, problems)
    if announce is not None:
        announce(identity(api))
    reading = read_at_one_moment(api, options, progress)
    problems.extend(reading.problems)
    settings = read_settings(api, options, reading.objects)
    problems.extend(settings.problems)
    now = _clock(api, reading.objects, problems)
    usage = measured(settings.conf, options.usage_url, _names(reading.objects["Node"]), now, problems)
    snapshot = Snapshot(
        name=api.context or IN_CLUSTER,
        objects=reading.objects,
        scheduler_conf=settings.conf,
        now=now,
        usage=usage,
        device_config=settings.device_config,
        flags=replace(settings.flags, server_version=version),
        problems=problems,
        description=_description(version, settings.image),
        origin=api.server,
        process=Process(started=settings.started),
        provenance=_provenance(api, reading, settings),
    )
    if not options.redact:
        return snapshot
    from vcdebug.snapshot.redact import redact

    return redact(snapshot)


def identity(api: Api) -> Provenance:
    """Which cluster is about to be read, as whom, and whether all of it may be read."""
    everywhere = api.may("list", KIND_BY_NAME["Pod"])
    access = {True: "all namespaces", False: "not all namespaces: pods may not be listed", None: ""}[everywhere]
    return Provenance(context=api.context, server=api.server, user=api.user, access=access)


def _provenance(api: Api, reading: Reading, settings: SchedulerSettings) -> Provenance:
    """Where, when and as of which state the snapshot was read."""
    return Provenance(
        context=api.context,
        server=api.server,
        user=api.user,
        access=ACCESS,
        started=api.started,
        finished=api.clock,
        resource_versions=reading.resource_versions,
        consistent=reading.one_moment,
        changed=() if reading.one_moment else reading.changed[:MOST_NAMED],
        schedulers=settings.schedulers,
        missing=(*reading.missing, *settings.missing),
    )


def connected(options: CaptureOptions) -> Transport:
    """The real transport; its module imports the Kubernetes client, which only this command needs."""
    from vcdebug.capture.connection import connect

    return connect(options)


def _server_version(api: Api, problems: list[Problem]) -> tuple[int, int]:
    """The server's major and minor version; a provider's suffix, as in `31+`, does not count."""
    try:
        version = api.get("/version")
        return _digits(version.get("major")), _digits(version.get("minor"))
    except (ApiRefusal, ValueError, NoAnswer) as failure:
        if isinstance(failure, NoAnswer) and not api.answered:
            raise
        major, minor = Flags().server_version
        effect = f"{major}.{minor} is assumed; feature gates that follow the version may differ"
        problems.append(Problem(FILE, "/version", "", f"the server's version is not known: {failure}", effect))
        return major, minor


def _digits(text: object) -> int:
    match = re.match(r"\d+", text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{text!r} is no version number")
    return int(match[0])


def _names(manifests: list[Manifest]) -> list[str]:
    return [name_of(manifest) for manifest in manifests]


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
    return stated_time(object_in(manifest.get("metadata")).get("creationTimestamp"))


def _description(version: tuple[int, int], image: str) -> str:
    text = f"captured from a Kubernetes {version[0]}.{version[1]} cluster"
    return f"{text}, scheduler image {image}" if image else text
