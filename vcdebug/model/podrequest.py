"""What a pod requests: init containers, sidecars, in-place resizes, pod-level resources and overhead.

Upstream: api/pod_info (GetPodResourceRequest).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from vcdebug.model.pod import Pod, resize_infeasible
from vcdebug.model.resource import PODS, Resource
from vcdebug.releases.scheduling import OVERHEAD_BEFORE_INIT, POD_LEVEL_REQUESTS_IGNORED, RESIZE_STATUS_IGNORED
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.quantity import milli_value
from vcdebug.snapshot.snapshot import Flags

ResourceList = Mapping[str, object]


class PodRequestCache:
    """Requests by what the pod's spec says of resources: pods of one template share one Resource, never changed."""

    def __init__(self, flags: Flags, ignored: tuple[str, ...] = ()) -> None:
        self._flags = flags
        self._ignored = ignored
        self._known: dict[tuple[str, str], Resource] = {}
        self._of_parts: dict[tuple[int, ...], tuple[tuple[object, ...], Resource]] = {}
        """By the identities of what a request is read from, which is kept beside."""

    def request(self, pod: Pod) -> Resource:
        """As pod_request."""
        parts = pod.requesting
        key = tuple(map(id, parts))
        known = self._of_parts.get(key)
        if known is None:
            known = self._of_parts[key] = (parts, self._by_text(pod))
        pod.request_like(known[0])
        return known[1]

    def _by_text(self, pod: Pod) -> Resource:
        text = (pod.resources_text, pod.resized_text)
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = pod_request(pod, self._flags, self._ignored)
        return known


class RequestSums:
    """Sums of requests, each kept by what it is the sum of: jobs that are made alike come to the same."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[Sequence[Resource], Resource]] = {}
        """By the identities of the requests, which are kept beside."""

    def of(self, requests: Sequence[Resource]) -> Resource:
        """All of them, added up in their order; the caller's own."""
        key = tuple(map(id, requests))
        known = self._known.get(key)
        if known is None:
            total = Resource()
            add_alike(total, requests)
            known = self._known[key] = (requests, total)
        return known[1].clone()


def add_alike(total: Resource, requests: Sequence[Resource]) -> None:
    """`add` of each; each different one once, times how often it comes, where no sum of them is rounded."""
    often, summed = Counter(map(id, requests)), total.clone()
    for request in {id(one): one for one in requests}.values():
        summed.add(request.clone().multi(float(often[id(request)])))
    if summed.sums_exactly():
        total.milli_cpu, total.memory, total.scalars = summed.milli_cpu, summed.memory, summed.scalars
    else:
        total.add_all(requests)


def pod_request(pod: Pod, flags: Flags, ignored: tuple[str, ...] = ()) -> Resource:
    """The request that a task is scheduled by: init containers included, `pods` = 1, names that are ignored dropped.
    Upstream: api/pod_info.GetPodResourceRequest.
    """
    resized = statuses(pod, "containerStatuses") if _heeds_resizes(flags) else {}
    infeasible = bool(resized) and resize_infeasible(pod.status)
    regular = Resource()
    for container in pod.spec.get("containers") or ():
        regular.add(Resource.from_list(_container_requests(container, resized, infeasible=infeasible)))
    init, sidecars = _init_requests(pod, flags, infeasible=infeasible)
    overhead = Resource.from_list(pod.spec.get("overhead") or {})
    late = not flags.release.has(OVERHEAD_BEFORE_INIT)
    if not late:
        regular.add(overhead)
    regular.add(sidecars)
    regular.set_max_resource(init)
    regular.add_scalar(PODS, 1.0)
    amend(regular, pod_level_requests(pod, flags))
    for name in ignored:
        (regular.scalars or {}).pop(name, None)
    return regular.add(overhead) if late else regular


def request_parts(pod: Pod, flags: Flags) -> Iterator[tuple[str, str, Resource]]:
    """(kind, name, amount) of everything that `pod_request` makes the request of, in the order of the manifest."""
    heeded = _heeds_resizes(flags)
    resized = statuses(pod, "containerStatuses") if heeded else {}
    infeasible = bool(resized) and resize_infeasible(pod.status)
    for container in pod.spec.get("containers") or ():
        amount = Resource.from_list(_container_requests(container, resized, infeasible=infeasible))
        yield "container", container.get("name", ""), amount
    started = statuses(pod, "initContainerStatuses") if heeded else {}
    for container in pod.spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            amount = Resource.from_list(_container_requests(container, started, infeasible=infeasible))
            yield "sidecar", container.get("name", ""), amount
    if pod.spec.get("initContainers"):
        yield "initialisation", "", _init_requests(pod, flags, infeasible=infeasible)[0]
    if pod.spec.get("overhead"):
        yield "overhead", "", Resource.from_list(pod.spec["overhead"])
    supported = pod_level_requests(pod, flags)
    if supported:
        yield "pod level", "", Resource.from_list(supported)


def _heeds_resizes(flags: Flags) -> bool:
    return flags.gate("InPlacePodVerticalScaling") and not flags.release.has(RESIZE_STATUS_IGNORED)


def _init_requests(pod: Pod, flags: Flags, *, infeasible: bool) -> tuple[Resource, Resource]:
    """(maximum over the steps of initialisation, sum of the sidecars)."""
    containers = pod.spec.get("initContainers") or ()
    resized = statuses(pod, "initContainerStatuses") if containers and _heeds_resizes(flags) else {}
    highest, sidecars = Resource(), Resource()
    for container in containers:
        if container.get("restartPolicy") == "Always":
            sidecars.add(Resource.from_list(_container_requests(container, resized, infeasible=infeasible)))
            highest.set_max_resource(sidecars)
        else:
            highest.set_max_resource(Resource.from_list(_requests(container)).add(sidecars))
    return highest, sidecars


def pod_level_requests(pod: Pod, flags: Flags) -> ResourceList:
    """What the pod itself states, as far as that counts."""
    if flags.release.has(POD_LEVEL_REQUESTS_IGNORED) or not flags.gate("PodLevelResources"):
        return {}
    stated: ResourceList = (pod.spec.get("resources") or {}).get("requests") or {}
    return {name: amount for name, amount in stated.items() if pod_level_supported(name)}


def amend(amounts: Resource, pod_level: ResourceList) -> None:
    """What the pod itself states replaces the sum over its containers, of requests as of limits.
    Upstream: api/pod_info.amendResourceAccordingToPodFeatures.
    """
    replacement = Resource.from_list(pod_level)
    for name in pod_level:
        if name == "cpu":
            amounts.milli_cpu = replacement.milli_cpu
        elif name == "memory":
            amounts.memory = replacement.memory
        else:
            amounts.set_scalar(name, replacement.get(name))


def pod_level_supported(name: str) -> bool:
    """Whether pod-level resources may state the name."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _requests(container: JsonObject) -> ResourceList:
    return (container.get("resources") or {}).get("requests") or {}


def _container_requests(container: JsonObject, resized: Mapping[str, JsonObject], *, infeasible: bool) -> ResourceList:
    """Upstream: api/pod_info.determineContainerReqs."""
    status = resized.get(container.get("name", ""))
    if not status or status.get("resources") is None:
        return _requests(container)
    sources = [(status.get("resources") or {}).get("requests") or {}, status.get("allocatedResources") or {}]
    if not infeasible:
        sources.insert(0, _requests(container))
    return dict(largest(sources))


def largest(sources: list[ResourceList]) -> Iterator[tuple[str, object]]:
    """The greatest quantity of each name."""
    names = dict.fromkeys(name for source in sources for name in source)
    for name in names:
        yield name, max((source[name] for source in sources if name in source), key=milli_value)


def statuses(pod: Pod, field: str) -> dict[str, JsonObject]:
    """Container statuses by container name."""
    return {status.get("name", ""): status for status in pod.status.get(field) or ()}
