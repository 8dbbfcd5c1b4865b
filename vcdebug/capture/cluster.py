"""Capture one cluster as a Snapshot: objects of every kind, scheduler settings, version, clock, node usage."""

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from urllib.error import URLError
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

from msgspec.structs import replace

from vcdebug.capture.api_client import Api, ApiRefusal, CaptureOptions, NoAnswer, Progress, Transport
from vcdebug.capture.listing import PRESENT, ClusterReading, EarlierState, read_consistent_state, read_workloads
from vcdebug.capture.permission import PROBLEM_FILE
from vcdebug.capture.scheduler_settings import SchedulerSettings, read_settings
from vcdebug.plugins import USAGE
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import Json, JsonDict, name_of, object_in
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.provenance import Provenance, stated_time
from vcdebug.snapshot.schema import drop_unread_fields
from vcdebug.snapshot.snapshot import DEFAULT_NOW, Manifest, SchedulerFlags, Snapshot

IN_CLUSTER = "in-cluster"
FULL_ACCESS = "all namespaces"
MAX_NAMED = 50
"""Changed objects that the snapshot names at most."""


def capture_cluster(
    options: CaptureOptions,
    progress: Progress | None = None,
    *,
    transport: Transport | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    announce: Callable[[Provenance], None] | None = None,
    earlier: EarlierState = PRESENT,
) -> Snapshot:
    """Read a cluster, without writing anything to it, or an earlier state of it.

    `progress` is called after each page; `announce` gets the cluster's identity before anything is read. Raises
    CaptureError where a required kind cannot be read, VersionGone, NoAnswer and TooSlow.
    """
    api = Api(transport or connect_transport(options), options, sleep, clock)
    problems: list[Problem] = []
    served = _server_version(api, problems)
    if announce is not None:
        announce(cluster_identity(api, options.namespace))
    reading = read_consistent_state(api, options, progress, earlier.version)
    problems.extend(reading.problems)
    settings = read_settings(api, options, reading.objects, earlier.version)
    problems.extend(settings.problems)
    now = earlier.time or _server_time(api, reading.objects, problems)
    nodes = [name_of(node) for node in reading.objects.get("Node", ())]
    usage = measure_usage(settings.conf, options.usage_url, nodes, now, problems)
    snapshot = Snapshot(
        name=api.context or IN_CLUSTER,
        objects=reading.objects if options.full else drop_unread_fields(reading.objects),
        scheduler_conf=settings.conf,
        now=now,
        usage=usage,
        device_config=settings.device_config,
        flags=replace(settings.flags, server_version=served),
        problems=problems,
        description=_describe_cluster(served, settings.image),
        origin=api.server,
        process=SchedulerProcess(started=settings.started, assumed=settings.started is None),
        provenance=_build_provenance(api, options, reading, settings),
        workloads=read_workloads(api, options, reading.groups),
    )
    if not options.redact:
        return snapshot
    from vcdebug.snapshot.redaction import redact_snapshot

    return redact_snapshot(snapshot)


def cluster_identity(api: Api, namespace: str = "") -> Provenance:
    """Context, server and user of a capture, and whether pods may be listed in the namespace or in all."""
    allowed = api.is_allowed("list", KIND_BY_NAME["Pod"], namespace)
    scope = f"namespace {namespace}" if namespace else FULL_ACCESS
    refused = f"{'not ' if not namespace else ''}{scope}: pods may not be listed"
    access = {True: scope, False: refused, None: ""}[allowed]
    return Provenance(context=api.context, server=api.server, user=api.user, access=access)


def _build_provenance(
    api: Api, options: CaptureOptions, reading: ClusterReading, settings: SchedulerSettings
) -> Provenance:
    return Provenance(
        context=api.context,
        server=api.server,
        user=api.user,
        access=FULL_ACCESS if not options.namespace else "one namespace",
        namespace=options.namespace,
        started=api.started,
        finished=api.clock,
        resource_versions=reading.resource_versions,
        consistent=reading.is_consistent,
        changed=() if reading.is_consistent else reading.changed_objects[:MAX_NAMED],
        schedulers=settings.schedulers,
        missing=(*reading.missing_kinds, *settings.missing),
    )


def connect_transport(options: CaptureOptions) -> Transport:
    """The transport over the official client."""
    # Importing kubernetes is slow: only a capture should pay for it.
    from vcdebug.capture.connection import connect_client

    return connect_client(options)


def _server_version(api: Api, problems: list[Problem]) -> tuple[int, int]:
    """The server's (major, minor) version, without a provider's suffix as in `31+`."""
    try:
        version = api.get_object("/version")
        return _leading_number(version.get("major")), _leading_number(version.get("minor"))
    except (ApiRefusal, ValueError, NoAnswer) as failure:
        # The first request decides whether there is a server at all.
        if isinstance(failure, NoAnswer) and not api.has_answered:
            raise
        major, minor = SchedulerFlags().server_version
        effect = f"{major}.{minor} is assumed; version-dependent feature gates can differ"
        problems.append(Problem(PROBLEM_FILE, "/version", "", f"server version unknown: {failure}", effect))
        return major, minor


def _leading_number(text: object) -> int:
    match = re.match(r"\d+", text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{text!r} is not a version number")
    return int(match[0])


def _server_time(api: Api, objects: dict[str, list[Manifest]], problems: list[Problem]) -> datetime:
    """The server's latest Date; without one, the newest creation time."""
    if api.clock is not None:
        return api.clock
    created = [
        stated_time(object_in(manifest.get("metadata")).get("creationTimestamp"))
        for manifests in objects.values()
        for manifest in manifests
    ]
    now = max((time for time in created if time is not None), default=DEFAULT_NOW)
    effect = f"using the newest creation time, {now.isoformat()}"
    problems.append(Problem(PROBLEM_FILE, "Date", "", "server time unknown", effect))
    return now


def _describe_cluster(version: tuple[int, int], image: str) -> str:
    text = f"captured from a Kubernetes {version[0]}.{version[1]} cluster"
    return f"{text}, scheduler image {image}" if image else text


# Node usage from the Prometheus that the plugin usage is configured with, by that plugin's queries.

USAGE_SOURCE = "prometheus"
USAGE_PERIOD = "10m"
USAGE_QUERIES = {
    "cpu": (
        'avg_over_time(clamp_min(100 - (avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[5m])) * 100), 0)'
        f"[{USAGE_PERIOD}:30s])"
    ),
    "mem": f"100*avg_over_time(((1-node_memory_MemAvailable_bytes/node_memory_MemTotal_bytes))[{USAGE_PERIOD}:30s])",
}
"""The scheduler's own queries, for all nodes at once."""
TIMEOUT_SECONDS = 10.0
UNMEASURED_EFFECT = "no node usage available; set --usage-url, or add usage.json"

Ask = Callable[[str], bytes]


class NotMeasured(Exception):
    """The source does not answer, or not with Prometheus' JSON."""


def measure_usage(
    conf: str | None, url: str, nodes: list[str], now: datetime, problems: list[Problem], ask: Ask | None = None
) -> JsonDict:
    """Node -> usage in the form of usage.json; empty where the scheduler does not query either.

    `url` overrides the configuration's address. A source that fails adds a problem.
    """
    from vcdebug.recording.replay import parse_conf

    parsed = parse_conf(conf)
    if USAGE not in parsed.plugin_names() or (parsed.metrics.get("type") != USAGE_SOURCE and not url):
        return {}
    address = url or parsed.metrics.get("address", "")
    try:
        usage = {name: _values_by_instance(address, query, ask or _get_url) for name, query in USAGE_QUERIES.items()}
    except NotMeasured as failure:
        problems.append(
            Problem(PROBLEM_FILE, "node usage", "", f"cannot be read from {USAGE_SOURCE}: {failure}", UNMEASURED_EFFECT)
        )
        return {}
    time = now.isoformat().replace("+00:00", "Z")
    return {
        node: {"time": time, **{name: {USAGE_PERIOD: values.get(node, 0.0)} for name, values in usage.items()}}
        for node in nodes
    }


def _values_by_instance(address: str, query: str, ask: Ask) -> Mapping[str, float]:
    """Node -> value of one query."""
    if urlsplit(address).scheme not in ("http", "https"):
        raise NotMeasured("no address")
    try:
        answer = json.loads(ask(f"{address.rstrip('/')}/api/v1/query?query={quote(query)}"))
        return dict(_iter_instance_values(answer["data"]["result"]))
    except (URLError, OSError) as failure:
        raise NotMeasured("no answer") from failure
    except (ValueError, KeyError, TypeError, IndexError) as failure:
        raise NotMeasured("not a Prometheus response") from failure


def _iter_instance_values(result: list[Json]) -> Iterator[tuple[str, float]]:
    for row in result:
        value = float(row["value"][1])
        yield str(row["metric"]["instance"]), value if math.isfinite(value) else 0.0


def _get_url(url: str) -> bytes:
    """GET without credentials, as the scheduler's client sends it."""
    with urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
        content: bytes = answer.read()
    return content
