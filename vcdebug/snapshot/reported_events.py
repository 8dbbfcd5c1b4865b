"""Events of Kubernetes about objects that wait: which of them a snapshot keeps, and what they say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from vcdebug.gotime import parse_time
from vcdebug.grouping import group_by_key
from vcdebug.snapshot.manifest import JsonObject, metadata_of, object_in, status_of
from vcdebug.snapshot.snapshot import Manifest

MAX_EVENTS: Final = 3
"""Events about one object that are kept, the latest ones."""
ENDED_JOB_PHASES: Final = ("Completed", "Failed", "Aborted", "Terminated")
"""Of a Volcano Job whose PodGroup is gone."""
_PLACED_PHASES: Final = ("Running", "Succeeded", *ENDED_JOB_PHASES)
_TIMES: Final = ("lastTimestamp", "eventTime", "firstTimestamp")


def events_about_pending(objects: Mapping[str, Sequence[Manifest]]) -> list[Manifest]:
    """The latest events about pods, PodGroups and Volcano Jobs that neither run nor have ended."""
    waiting = {
        metadata_of(manifest).get("uid")
        for kind in ("Pod", "PodGroup", "Job")
        for manifest in objects.get(kind, ())
        if _phase_of(manifest) not in _PLACED_PHASES
    }
    events = ((object_in(event.get("involvedObject")).get("uid"), event) for event in objects.get("Event", ()))
    by_uid = group_by_key((uid, event) for uid, event in events if uid and uid in waiting)
    return [event for object_events in by_uid.values() for event in latest_events(object_events)[:MAX_EVENTS]]


def _phase_of(manifest: Manifest) -> object:
    status = status_of(manifest)
    return status.get("phase") or object_in(status.get("state")).get("phase")


def latest_events(events: Iterable[Manifest]) -> list[Manifest]:
    """Events, the latest first."""
    return sorted(events, key=lambda event: (time := event_time(event)) is not None and time.timestamp(), reverse=True)


def event_time(event: JsonObject) -> datetime | None:
    """When it was last seen."""
    series = object_in(event.get("series")).get("lastObservedTime")
    texts = (series, *(event.get(name) for name in _TIMES), metadata_of(event).get("creationTimestamp"))
    return next((time for text in texts if isinstance(text, str) and (time := _read_time(text)) is not None), None)


def _read_time(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except ValueError:
        return None


def event_reporter(event: JsonObject) -> str:
    """The component that reports it."""
    return str(event.get("reportingComponent") or object_in(event.get("source")).get("component") or "")
