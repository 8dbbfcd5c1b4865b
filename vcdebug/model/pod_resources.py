"""Requests and limits of a pod: init containers, sidecars, in-place resizes, pod-level resources and overhead.

Upstream: api/pod_info (GetPodResourceRequest, GetPodResourceLimit).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from vcdebug.model.pod import Pod, is_resize_infeasible
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.resource_list import ResourceList, drop_ignored
from vcdebug.releases.scheduling import OVERHEAD_BEFORE_INIT, POD_LEVEL_REQUESTS_IGNORED, RESIZE_STATUS_IGNORED
from vcdebug.snapshot.manifest import JsonObject
from vcdebug.snapshot.quantity import milli_value
from vcdebug.snapshot.snapshot import SchedulerFlags

StatedResources = Mapping[str, object]


class PodRequestCache:
    """Requests by the resources of the pod's spec: pods of one template share one Resource, which never changes."""

    def __init__(self, flags: SchedulerFlags, ignored: tuple[str, ...] = ()) -> None:
        self._flags = flags
        self._ignored = ignored
        self._by_text: dict[tuple[str, str], Resource] = {}
        self._of_parts: dict[tuple[int, ...], tuple[tuple[object, ...], Resource]] = {}
        """Identities of the request's sources → (sources, request); the sources are kept so that ids stay unique."""

    def find_request(self, pod: Pod) -> Resource:
        """Same as get_pod_resource_request, cached."""
        # Two levels: first by the ids of shared parts, which is fastest; then by text, for pods with separate objects.
        parts = pod.request_sources
        key = tuple(map(id, parts))
        entry = self._of_parts.get(key)
        if entry is None:
            entry = self._of_parts[key] = (parts, self._find_by_text(pod))
        pod.share_request_sources(entry[0])
        return entry[1]

    def _find_by_text(self, pod: Pod) -> Resource:
        text = (pod.resources_text, pod.resized_text)
        request = self._by_text.get(text)
        if request is None:
            request = self._by_text[text] = get_pod_resource_request(pod, self._flags, self._ignored)
        return request


class RequestSums:
    """A cache of sums of requests, for the many jobs whose pods have the same requests."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, ...], tuple[Sequence[Resource], Resource]] = {}
        """Identities of the requests → (requests, their sum)."""

    def sum_of(self, requests: Sequence[Resource]) -> Resource:
        """The sum of all requests in their order; a copy that belongs to the caller."""
        key = tuple(map(id, requests))
        entry = self._sums.get(key)
        if entry is None:
            total = Resource()
            add_grouped(total, requests)
            entry = self._sums[key] = (requests, total)
        return entry[1].clone()


def add_grouped(total: Resource, requests: Sequence[Resource]) -> None:
    """The same as `add` for each request: a multiplication per distinct one, unless a sum would be rounded."""
    counts, summed = Counter(map(id, requests)), total.clone()
    for request in {id(request): request for request in requests}.values():
        summed.add(request.clone().multi(float(counts[id(request)])))
    if summed.sums_exactly():
        total.milli_cpu, total.memory, total.scalars = summed.milli_cpu, summed.memory, summed.scalars
    else:
        total.add_all(requests)


def get_pod_resource_request(pod: Pod, flags: SchedulerFlags, ignored: tuple[str, ...] = ()) -> Resource:
    """The request that a task is scheduled by: with init containers and `pods` = 1, without ignored names.
    Upstream: api/pod_info.GetPodResourceRequest.
    """
    resized = statuses_by_container(pod, "containerStatuses") if _reads_resizes(flags) else {}
    infeasible = bool(resized) and is_resize_infeasible(pod.status)
    regular = Resource()
    for container in pod.spec.get("containers") or ():
        regular.add(Resource.from_list(_determine_container_reqs(container, resized, infeasible=infeasible)))
    init, sidecars = _init_requests(pod, flags, infeasible=infeasible)
    overhead = Resource.from_list(pod.spec.get("overhead") or {})
    # Older releases added the overhead before the maximum with init containers, newer ones after everything.
    late = not flags.release.has_older_form(OVERHEAD_BEFORE_INIT)
    if not late:
        regular.add(overhead)
    regular.add(sidecars)
    regular.set_max_resource(init)
    regular.add_scalar(PODS, 1.0)
    amend_pod_level(regular, pod_level_requests(pod, flags))
    for name in ignored:
        (regular.scalars or {}).pop(name, None)
    return regular.add(overhead) if late else regular


def request_parts(pod: Pod, flags: SchedulerFlags) -> Iterator[tuple[str, str, Resource]]:
    """(kind, name, amount) of every part of get_pod_resource_request, in the order of the manifest."""
    heeded = _reads_resizes(flags)
    resized = statuses_by_container(pod, "containerStatuses") if heeded else {}
    infeasible = bool(resized) and is_resize_infeasible(pod.status)
    for container in pod.spec.get("containers") or ():
        amount = Resource.from_list(_determine_container_reqs(container, resized, infeasible=infeasible))
        yield "container", container.get("name", ""), amount
    started = statuses_by_container(pod, "initContainerStatuses") if heeded else {}
    for container in pod.spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            amount = Resource.from_list(_determine_container_reqs(container, started, infeasible=infeasible))
            yield "sidecar", container.get("name", ""), amount
    if pod.spec.get("initContainers"):
        yield "initialisation", "", _init_requests(pod, flags, infeasible=infeasible)[0]
    if pod.spec.get("overhead"):
        yield "overhead", "", Resource.from_list(pod.spec["overhead"])
    supported = pod_level_requests(pod, flags)
    if supported:
        yield "pod level", "", Resource.from_list(supported)


def _reads_resizes(flags: SchedulerFlags) -> bool:
    return flags.is_gate_on("InPlacePodVerticalScaling") and not flags.release.has_older_form(RESIZE_STATUS_IGNORED)


def _init_requests(pod: Pod, flags: SchedulerFlags, *, infeasible: bool) -> tuple[Resource, Resource]:
    """(maximum over the steps of initialisation, sum of the sidecars)."""
    containers = pod.spec.get("initContainers") or ()
    resized = statuses_by_container(pod, "initContainerStatuses") if containers and _reads_resizes(flags) else {}
    highest, sidecars = Resource(), Resource()
    for container in containers:
        if container.get("restartPolicy") == "Always":
            sidecars.add(Resource.from_list(_determine_container_reqs(container, resized, infeasible=infeasible)))
            highest.set_max_resource(sidecars)
        else:
            highest.set_max_resource(Resource.from_list(stated_requests(container)).add(sidecars))
    return highest, sidecars


def pod_level_requests(pod: Pod, flags: SchedulerFlags) -> StatedResources:
    """The pod-level requests that count: none where the gate is off or the release ignores them."""
    if flags.release.has_older_form(POD_LEVEL_REQUESTS_IGNORED) or not flags.is_gate_on("PodLevelResources"):
        return {}
    requests = stated_requests(pod.spec)
    return {name: amount for name, amount in requests.items() if is_pod_level_resource(name)}


def amend_pod_level(amounts: Resource, pod_level: StatedResources) -> None:
    """Replace the sum over the containers by the pod-level amounts, for requests as for limits.
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


def is_pod_level_resource(name: str) -> bool:
    """Whether pod-level resources may state the name."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def stated_requests(container: JsonObject) -> StatedResources:
    """The requests that a container states."""
    return (container.get("resources") or {}).get("requests") or {}


def _determine_container_reqs(
    container: JsonObject, resized: Mapping[str, JsonObject], *, infeasible: bool
) -> StatedResources:
    """Upstream: api/pod_info.determineContainerReqs."""
    status = resized.get(container.get("name", ""))
    if not status or status.get("resources") is None:
        return stated_requests(container)
    sources = [stated_requests(status), status.get("allocatedResources") or {}]
    if not infeasible:
        sources.insert(0, stated_requests(container))
    return dict(largest_quantities(sources))


def largest_quantities(sources: list[StatedResources]) -> Iterator[tuple[str, object]]:
    """The greatest quantity of each name."""
    names = dict.fromkeys(name for source in sources for name in source)
    for name in names:
        yield name, max((source[name] for source in sources if name in source), key=milli_value)


def statuses_by_container(pod: Pod, field: str) -> dict[str, JsonObject]:
    """Container statuses by container name."""
    return {status.get("name", ""): status for status in pod.status.get(field) or ()}


Resized = Mapping[str, JsonObject]


def get_pod_resource_limit(pod: Pod, flags: SchedulerFlags) -> Resource:
    """Limits of all containers, init ones too; none of `pods`. Upstream: api/pod_info.GetPodResourceLimit."""
    in_place = flags.is_gate_on("InPlacePodVerticalScaling")
    resized = statuses_by_container(pod, "containerStatuses") if in_place else {}
    limit = Resource().add_all(_container_limit(container, resized) for container in pod.spec.get("containers") or ())
    init = pod.spec.get("initContainers") or ()
    highest, sidecars = _init_limits(init, statuses_by_container(pod, "initContainerStatuses") if in_place else {})
    limit.add(sidecars)
    limit.set_max_resource(highest)
    if flags.is_gate_on("PodLevelResources"):
        limits: StatedResources = (pod.spec.get("resources") or {}).get("limits") or {}
        amend_pod_level(limit, {name: amount for name, amount in limits.items() if is_pod_level_resource(name)})
    for name, amount in Resource.from_list(pod.spec.get("overhead")).items():
        _add_overhead(limit, name, amount)
    return limit


def _init_limits(containers: Iterable[JsonObject], resized: Resized) -> tuple[Resource, Resource]:
    """(maximum over the steps of initialisation, sum of the sidecars)."""
    highest, sidecars = Resource(), Resource()
    for container in containers:
        if container.get("restartPolicy") == "Always":
            sidecars.add(_container_limit(container, resized))
            highest.set_max_resource(sidecars)
        else:
            highest.set_max_resource(_container_limit(container, {}).add(sidecars))
    return highest, sidecars


def _container_limit(container: JsonObject, resized: Resized) -> Resource:
    limits: StatedResources = (container.get("resources") or {}).get("limits") or {}
    actual = resized.get(container.get("name", ""), {}).get("resources")
    if actual is None:
        return Resource.from_list(limits)
    return Resource.from_list(dict(largest_quantities([limits, actual.get("limits") or {}])))


def _add_overhead(limit: Resource, name: str, amount: float) -> None:
    """Add the pod's overhead to dimensions that have a limit: the others stay unlimited."""
    if limit.get(name) == 0:
        return
    if name == "cpu":
        limit.milli_cpu += amount
    elif name == "memory":
        limit.memory += amount
    else:
        limit.add_scalar(name, amount)


class StatedAmounts:
    """A cache of Resources by the identity of the list that states them; shared, so never to be changed."""

    def __init__(self, ignored: tuple[str, ...] = ()) -> None:
        self.ignored = ignored
        """Names that the release drops."""
        self._amounts: dict[int, tuple[object, Resource]] = {}
        """Identity of a list → (list, its amounts); the list is kept so that its id stays unique."""

    def amounts_of(self, amounts: ResourceList | None) -> Resource:
        """The amounts of a list; an empty Resource for None."""
        entry = self._amounts.get(id(amounts))
        if entry is None:
            entry = self._amounts[id(amounts)] = (amounts, Resource.from_list(drop_ignored(amounts, self.ignored)))
        return entry[1]
