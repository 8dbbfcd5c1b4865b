"""Waits for a pod's bind or eviction, then finds the last state before it that the server still has."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from vcdebug.capture.api_client import Api, CaptureOptions, Transport
from vcdebug.capture.cluster import connect_transport
from vcdebug.capture.listing import EarlierState, Listing, VersionGone, first_version, list_at_version
from vcdebug.errors import CaptureError
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import metadata_of, object_list, spec_of, status_of
from vcdebug.snapshot.provenance import stated_time
from vcdebug.snapshot.snapshot import Manifest

PODS: Final = KIND_BY_NAME["Pod"]
SCHEDULED: Final = "PodScheduled"
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

    def time_of(self, pods: list[Manifest]) -> datetime | None:
        """When the event happened, by the list of the pod just after it; None if the pod does not say."""
        for pod in pods:
            if self.bind:
                scheduled = [
                    each for each in object_list(status_of(pod).get("conditions")) if each.get("type") == SCHEDULED
                ]
                return next((stated_time(each.get("lastTransitionTime")) for each in scheduled), None)
            end, grace = map(metadata_of(pod).get, ("deletionTimestamp", "deletionGracePeriodSeconds"))
            time = stated_time(end)
            return time - timedelta(seconds=grace or 0) if time is not None else None
        return None

    def has_happened(self, pods: list[Manifest]) -> bool:
        """Whether the event has happened, by the list of the pod, which is empty if the pod does not exist."""
        if self.bind:
            return any(spec_of(pod).get("nodeName") for pod in pods)
        return not pods or bool(metadata_of(pods[0]).get("deletionTimestamp"))


def find_state_before(
    event: PodEvent, options: CaptureOptions, transport: Transport | None, wait: Callable[[], None]
) -> EarlierState:
    """The last state before the event; polls until it has happened, with `wait` in between. Raises VersionGone."""
    low, high = 0, 0
    while not high:
        # Waiting may take days: each look has the deadline of one capture.
        api = Api(transport or connect_transport(options), options, lambda _: wait())
        listing = Listing(api, PODS, options.page_size, None, "", event.field_selector, event.namespace)
        happened = event.has_happened(listing.read_all())
        if not listing.resource_version.isdecimal():
            raise VersionGone(listing.resource_version or "unknown", api.server)
        low, high = (low, int(listing.resource_version)) if happened else (int(listing.resource_version), 0)
        if not happened:
            wait()

    def pods_at(version: int) -> list[Manifest]:
        return list_at_version(api, PODS, options, str(version), event.field_selector, event.namespace)

    def has_happened(version: int) -> bool:
        return event.has_happened(pods_at(version))

    step = 1
    while not low:
        earlier = high - step
        if earlier <= 0:
            raise VersionGone(str(earlier), api.server)
        low, high, step = (0, earlier, step * STEP_FACTOR) if has_happened(earlier) else (earlier, high, step)
    first = first_version(has_happened, low, high)
    return EarlierState(str(first - 1), event.time_of(pods_at(first)))
