"""Kubernetes events about pending objects: the ones that a snapshot keeps, their time and their reporter."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from vcdebug.gotime import parse_time
from vcdebug.grouping import group_by_key
from vcdebug.snapshot.kinds import WORKLOAD_NAMES
from vcdebug.snapshot.manifest import JsonObject, metadata_of, object_in, object_list, status_of
from vcdebug.snapshot.provenance import bounded_clock
from vcdebug.snapshot.snapshot import Manifest

MAX_EVENTS: Final = 3
"""Maximum number of kept events about one object, the latest ones."""
CONTROLLER_KINDS: Final = ("StatefulSet", "ReplicaSet", "ReplicationController")
"""Kinds of Kubernetes controllers in a snapshot that create pods."""
ENDED_JOB_PHASES: Final = ("Completed", "Failed", "Aborted", "Terminated")
"""Phases of a Volcano Job that has ended, whose PodGroup no longer exists."""
_PLACED_PHASES: Final = ("Running", "Succeeded", *ENDED_JOB_PHASES)
_TIMES: Final = ("lastTimestamp", "eventTime", "firstTimestamp")


def events_about_pending(objects: Mapping[str, Sequence[Manifest]]) -> list[Manifest]:
    """The latest events about pods, PodGroups and Volcano Jobs that neither run nor have ended, and about owners."""
    waiting = {
        metadata_of(manifest).get("uid")
        for kind in ("Pod", "PodGroup", "Job", *CONTROLLER_KINDS)
        for manifest in objects.get(kind, ())
        if _phase_of(manifest) not in _PLACED_PHASES
    }
    events = ((object_in(event.get("involvedObject")), event) for event in objects.get("Event", ()))
    by_uid = group_by_key(
        (about["uid"], event)
        for about, event in events
        # Operators' objects are not among the objects: only facts of them are kept.
        if about.get("uid") in waiting or (about.get("uid") and about.get("kind") in WORKLOAD_NAMES)
    )
    return [event for object_events in by_uid.values() for event in latest_events(object_events)[:MAX_EVENTS]]


def _phase_of(manifest: Manifest) -> object:
    status = status_of(manifest)
    return status.get("phase") or object_in(status.get("state")).get("phase")


def latest_events(events: Iterable[Manifest]) -> list[Manifest]:
    """Sorts events by time, the latest first."""
    return sorted(events, key=lambda event: (time := event_time(event)) is not None and time.timestamp(), reverse=True)


def event_time(event: JsonObject) -> datetime | None:
    """The time at which the event was last seen; None if it states no valid time."""
    series = object_in(event.get("series")).get("lastObservedTime")
    texts = (series, *(event.get(name) for name in _TIMES), metadata_of(event).get("creationTimestamp"))
    return next((time for text in texts if isinstance(text, str) and (time := _read_time(text)) is not None), None)


def latest_report(objects: Mapping[str, Sequence[Manifest]]) -> datetime | None:
    """The latest heartbeat of a kubelet or time of an event, just before the objects were read; None without any."""
    heartbeat = latest_heartbeat(objects.get("Node", ()))
    events = (event_time(event) for event in latest_events(objects.get("Event", ()))[:1])
    return max((bounded_clock(time) for time in (heartbeat, *events) if time is not None), default=None)


def latest_creation(objects: Mapping[str, Sequence[Manifest]]) -> datetime | None:
    """The latest creation time of an object, before which the objects cannot have been read; None without any."""
    metadata = (object_in(manifest.get("metadata")) for manifests in objects.values() for manifest in manifests)
    times = [text for one in metadata if isinstance(text := one.get("creationTimestamp"), str)]
    latest = _read_time(max(times, default=""))
    return None if latest is None else bounded_clock(latest)


def latest_heartbeat(nodes: Iterable[Manifest]) -> datetime | None:
    """The latest heartbeat of a kubelet; None without any."""
    conditions = (one for node in nodes for one in object_list(status_of(node).get("conditions")))
    times = [text for one in conditions if isinstance(text := one.get("lastHeartbeatTime"), str)]
    # Texts of one form sort like the times, and reading thousands of times would be slow.
    return _read_time(max(times, default=""))


def _read_time(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except ValueError:
        return None


def event_reporter(event: JsonObject) -> str:
    """The component that reports the event; empty if it states none."""
    return str(event.get("reportingComponent") or object_in(event.get("source")).get("component") or "")
