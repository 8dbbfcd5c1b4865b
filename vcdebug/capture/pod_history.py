"""Waits for a pod's bind or eviction, then finds the last state before its cycle that the server still has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from vcdebug.capture.api_client import Api, ApiRefusal, CaptureOptions, NoAnswer, Transport
from vcdebug.capture.cluster import connect_transport
from vcdebug.capture.listing import EarlierState, Listing, VersionGone, first_version, list_at_version
from vcdebug.errors import CaptureError
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import metadata_of, object_in, object_list, spec_of, status_of
from vcdebug.snapshot.provenance import stated_time
from vcdebug.snapshot.snapshot import Manifest

PODS: Final = KIND_BY_NAME["Pod"]
SCHEDULED: Final = "PodScheduled"
EVICTION_CONDITIONS: Final = {("DisruptionTarget", "PreemptionByScheduler"), ("Ready", "Evict")}
"""Type and reason of the conditions that the scheduler writes before it deletes a pod."""
EVICT_EVENTS: Final = "involvedObject.kind=Pod,reason=Evict"
"""The field selector of the events that the scheduler writes about pods that it evicts."""
STEP_FACTOR: Final = 4
"""Factor by which the steps back in time grow."""


class PodEvent(Struct, frozen=True):
    """The bind or the eviction of one pod."""

    namespace: str
    name: str
    bind: bool

    @classmethod
    def of_pod(cls, pod: str, *, bind: bool) -> PodEvent:
        """The event of `namespace/name`; raises CaptureError for another form."""
        namespace, slash, name = pod.partition("/")
        if not (namespace and slash and name):
            raise CaptureError(f"{pod!r} is not a pod", "name it as NAMESPACE/NAME")
        return cls(namespace, name, bind)

    @property
    def pod_name(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def event_name(self) -> str:
        return "bind" if self.bind else "eviction"

    @property
    def field_selector(self) -> str:
        """The field selector that lists the pod alone."""
        return f"metadata.name={self.name}"

    def has_happened(self, pods: list[Manifest]) -> bool:
        """Whether the event has happened, by the list of the pod, which is empty if the pod does not exist."""
        if self.bind:
            return any(spec_of(pod).get("nodeName") for pod in pods)
        return not pods or bool(metadata_of(pods[0]).get("deletionTimestamp")) or is_evicted(pods[0])


def is_evicted(pod: Manifest) -> bool:
    """Whether the scheduler evicts the pod."""
    return any((each.get("type"), each.get("reason")) in EVICTION_CONDITIONS for each in _conditions_of(pod))


def iter_reported_evictions(api: Api, options: CaptureOptions, uids: Collection[str]) -> Iterator[str]:
    """The UIDs for which the scheduler wrote an Evict event; none if events may not be read."""
    with suppress(ApiRefusal, NoAnswer):
        events = Listing(api, KIND_BY_NAME["Event"], options.page_size, None, "", EVICT_EVENTS) if uids else None
        subjects = [object_in(event.get("involvedObject")) for event in events.read_all()] if events else ()
        yield from (str(subject["uid"]) for subject in subjects if subject.get("uid") in uids)


def decision_stamps(pods: Iterable[Manifest], scheduler_names: Collection[object]) -> set[tuple[object, datetime]]:
    """UID and time of what the scheduler has last decided about each of its pods: a bind, an eviction, a refusal."""
    return {
        (metadata_of(pod).get("uid"), time)
        for pod in pods
        if spec_of(pod).get("schedulerName") in scheduler_names
        for each in _conditions_of(pod)
        if each.get("type") == SCHEDULED or (each.get("type"), each.get("reason")) in EVICTION_CONDITIONS
        if (time := stated_time(each.get("lastTransitionTime"))) is not None
    }


def _conditions_of(pod: Manifest) -> list[Manifest]:
    return object_list(status_of(pod).get("conditions"))


def _time_of_deletion(pods: list[Manifest]) -> datetime | None:
    """When another client deleted the pod; None if nothing shows it."""
    for metadata in map(metadata_of, pods):
        end = stated_time(metadata.get("deletionTimestamp"))
        return end - timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0) if end is not None else None
    return None


def _wait_for_event(
    event: PodEvent, options: CaptureOptions, transport: Transport | None, wait: Callable[[], None]
) -> tuple[Api, int, int]:
    """(connection, last version seen without the event or 0, first version seen with it); raises VersionGone."""
    low = 0
    while True:
        # Waiting may take days: each look has the deadline of one capture.
        api = Api(transport or connect_transport(options), options, lambda _: wait())
        listing = Listing(api, PODS, options.page_size, None, "", event.field_selector, event.namespace)
        happened = event.has_happened(listing.read_all())
        if not listing.resource_version.isdecimal():
            raise VersionGone(listing.resource_version or "unknown", api.server)
        if happened:
            return api, low, int(listing.resource_version)
        low = int(listing.resource_version)
        wait()


def find_state_before(
    event: PodEvent, options: CaptureOptions, transport: Transport | None, wait: Callable[[], None]
) -> EarlierState:
    """The last state before the event; polls until it has happened, with `wait` in between. Raises VersionGone."""
    api, low, high = _wait_for_event(event, options, transport, wait)

    def pods_at(version: int) -> list[Manifest]:
        return list_at_version(api, PODS, options, str(version), event.field_selector, event.namespace)

    def has_happened(version: int) -> bool:
        return event.has_happened(pods_at(version))

    first = _first_since(has_happened, low, high, api)
    pods = pods_at(first)
    names = [spec_of(pod).get("schedulerName") for pod in pods]
    decided = decision_stamps(pods, names) if event.bind or any(map(is_evicted, pods)) else ()
    if not decided:
        return EarlierState(str(first - 1), _time_of_deletion(pods))
    begun = max(stamp for _, stamp in decided)

    def has_begun(version: int) -> bool:
        known = list_at_version(api, PODS, options, str(version), namespace=options.namespace)
        return any(stamp >= begun for _, stamp in decision_stamps(known, names))

    # A cycle decides about many pods, and each write changes what a replay would do. The next one is a second later.
    with suppress(VersionGone):
        first = _first_since(has_begun, 0, first, api)
    return EarlierState(str(first - 1), begun)


def _first_since(holds: Callable[[int], bool], low: int, high: int, api: Api) -> int:
    """The first version since which something holds; it does for `high`, and not for `low` unless that is 0."""
    step = 1
    while not low:
        earlier = high - step
        if earlier <= 0:
            raise VersionGone(str(earlier), api.server)
        low, high, step = (0, earlier, step * STEP_FACTOR) if holds(earlier) else (earlier, high, step)
    return first_version(holds, low, high)
