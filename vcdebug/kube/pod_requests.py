"""Requests of a pod as Kubernetes scorers count them, as integers, with and without defaults; and its QoS class.

Upstream: k8s component-helpers resource (PodRequests, determineContainerReqs), scheduler util non_zero,
apis/core/v1/helper/qos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from vcdebug.gomath import int_div, wrap_int64
from vcdebug.model.pod import Pod, is_resize_infeasible
from vcdebug.snapshot.manifest import JsonObject
from vcdebug.snapshot.quantity import milli_value, nano_value, whole_value
from vcdebug.snapshot.snapshot import SchedulerFlags

CPU = "cpu"
MEMORY = "memory"
GPU = "nvidia.com/gpu"
DEFAULT_AMOUNTS: Mapping[str, int] = {CPU: 100, MEMORY: 200 * 1024 * 1024 * 1000}
"""Per container, in thousandths: 100m of cpu, 200 MiB of memory."""

GateCheck = Callable[[str], bool]


class ScoredAmounts(NamedTuple):
    """Amounts of the resources that scorers read: milli cpu, bytes, whole GPUs."""

    milli_cpu: int
    memory: int
    gpu: int


IMMENSE_AMOUNT = 2**50
"""For smaller amounts, sums over a node's pods and their products with a score fit in 64 bits."""


class PodRequests(NamedTuple):
    """The four readings of one pod's requests (spec table of nodeorder)."""

    requested: ScoredAmounts
    """The amounts added to the node's Requested."""
    non_zero: ScoredAmounts
    """The amounts added to NonZeroRequested; GPUs are unused."""
    incoming_non_zero: ScoredAmounts
    """The incoming pod for Least/MostAllocated: defaults, never pod-level requests."""
    incoming: ScoredAmounts
    """The incoming pod for BalancedAllocation."""

    @property
    def is_immense(self) -> bool:
        """Whether an amount is at least IMMENSE_AMOUNT or has wrapped around to below 0."""
        return not all(0 <= amount < IMMENSE_AMOUNT for amounts in self for amount in amounts)


class _RequestOptions(Struct, frozen=True):
    defaults: Mapping[str, int]
    pod_level: bool
    resized: ResizedContainers | None


def pod_requests(
    spec: JsonObject,
    status: JsonObject,
    gate: GateCheck,
    *,
    incoming_pod_level: bool = True,
    sidecars_as_init: bool = False,
) -> PodRequests:
    """All four readings of a pod's requests; `sidecars_as_init`: fill in defaults as older schedulers do."""
    resized = resized_containers(status) if gate("InPlacePodVerticalScaling") else None
    pod_level = gate("PodLevelResources")
    requested = _sum_requests(spec, _RequestOptions({}, pod_level, resized))
    defaults = _default_amounts(spec, requested, pod_level)
    non_zero = (
        _largest_of_parts(spec)
        if sidecars_as_init
        else _sum_requests(spec, _RequestOptions(defaults, pod_level, resized))
    )
    return PodRequests(
        requested=_to_scored(requested),
        non_zero=_to_scored(non_zero),
        incoming_non_zero=_to_scored(_sum_requests(spec, _RequestOptions(DEFAULT_AMOUNTS, False, None))),
        incoming=_to_scored(_sum_requests(spec, _RequestOptions({}, pod_level and incoming_pod_level, None))),
    )


def _default_amounts(spec: JsonObject, requested: Amounts, pod_level: bool) -> Mapping[str, int]:
    """Defaults per container; with pod-level requests only for resources that nothing in the pod requests."""
    if not (pod_level and _pod_level(spec)):
        return DEFAULT_AMOUNTS
    return {name: amount for name, amount in DEFAULT_AMOUNTS.items() if name not in requested}


def _pod_level(spec: JsonObject) -> Amounts:
    raw = (spec.get("resources") or {}).get("requests") or {}
    return list_amounts({n: q for n, q in raw.items() if n in (CPU, MEMORY) or n.startswith("hugepages-")})


def _sum_requests(spec: JsonObject, options: _RequestOptions) -> Amounts:
    total: Amounts = {}
    for amounts in _regular_amounts(spec, options):
        _add_amounts(total, amounts)
    highest: Amounts = {}
    sidecars: Amounts = {}
    for container in spec.get("initContainers") or ():
        sidecar = container.get("restartPolicy") == "Always"
        amounts = container_amounts(container, options.resized if sidecar else None, options.defaults)
        # An init container runs beside the sidecars started before it: both count at the same time.
        if sidecar:
            _add_amounts(total, amounts)
            _add_amounts(sidecars, amounts)
            amounts = sidecars
        else:
            _add_amounts(amounts, sidecars)
        _raise_to(highest, amounts)
    _raise_to(total, highest)
    # Pod-level requests replace sums and maxima; the overhead is added on top of them.
    if options.pod_level:
        total.update(_pod_level(spec))
    _add_amounts(total, list_amounts(spec.get("overhead") or {}))
    return total


def _largest_of_parts(spec: JsonObject) -> Amounts:
    """Containers in sum, or the largest init container, sidecars before it included; each part with defaults."""
    total: Amounts = {}
    for amounts in _regular_amounts(spec, _RequestOptions(DEFAULT_AMOUNTS, False, None)):
        _add_amounts(total, amounts)
    sidecars: Amounts = {}
    for container in spec.get("initContainers") or ():
        amounts = container_amounts(container, None, {})
        _add_amounts(amounts, sidecars)
        if container.get("restartPolicy") == "Always":
            sidecars = dict(amounts)
        _raise_to(total, {**DEFAULT_AMOUNTS, **amounts})
    _add_amounts(total, list_amounts(spec.get("overhead") or {}))
    return total


def _regular_amounts(spec: JsonObject, options: _RequestOptions) -> Iterator[Amounts]:
    for container in spec.get("containers") or ():
        yield container_amounts(container, options.resized, options.defaults)


def _add_amounts(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def _to_scored(amounts: Amounts) -> ScoredAmounts:
    return ScoredAmounts(
        wrap_int64(amounts.get(CPU, 0)), _round_to_units(amounts.get(MEMORY, 0)), _round_to_units(amounts.get(GPU, 0))
    )


def _round_to_units(thousandths: int) -> int:
    """Quantity.Value(): rounded away from zero."""
    return wrap_int64(int_div(thousandths + (999 if thousandths >= 0 else -999), 1000))


Amounts = dict[str, int]
_LARGE_AMOUNT = 2**43


class ResizedContainers(Struct, frozen=True):
    """The resources that the kubelet reports for a pod's containers, by container name."""

    statuses: Mapping[str, JsonObject]
    infeasible: bool


def parse_thousandths(quantity: object) -> int:
    """A quantity in thousandths; from 2^43 on rounded to whole units, where Go's MilliValue would overflow."""
    units = whole_value(quantity)
    return units * 1000 if abs(units) >= _LARGE_AMOUNT else milli_value(quantity)


def list_amounts(resource_list: Mapping[str, object]) -> Amounts:
    """A resource list in thousandths."""
    return {name: parse_thousandths(quantity) for name, quantity in resource_list.items()}


def resized_containers(status: JsonObject) -> ResizedContainers | None:
    """Statuses of containers that report resources; None when no container does."""
    reported = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    statuses = {s.get("name", ""): s for s in reported if s.get("resources") is not None}
    return ResizedContainers(statuses, is_resize_infeasible(status)) if statuses else None


def container_amounts(container: JsonObject, resized: ResizedContainers | None, defaults: Mapping[str, int]) -> Amounts:
    """The container's requests; `defaults` fill in resources that it does not name."""
    amounts = list_amounts((container.get("resources") or {}).get("requests") or {})
    status = resized.statuses.get(container.get("name", "")) if resized else None
    if resized and status is not None:
        amounts = _largest_amounts({} if resized.infeasible else amounts, status)
    for name, default in defaults.items():
        amounts.setdefault(name, default)
    return amounts


def _largest_amounts(spec: Amounts, status: JsonObject) -> Amounts:
    largest = dict(spec)
    reported = (status.get("resources") or {}).get("requests") or {}
    # A resize in progress counts with the largest of spec, allocated and actual amounts until it is done.
    for source in (reported, status.get("allocatedResources") or {}):
        for name, reported_amount in list_amounts(source).items():
            largest[name] = max(largest.get(name, reported_amount), reported_amount)
    return largest


GUARANTEED = "Guaranteed"
BURSTABLE = "Burstable"
BEST_EFFORT = "BestEffort"
COMPUTE_RESOURCES = ("cpu", "memory")


def pod_qos(pod: Pod, flags: SchedulerFlags) -> str:
    """The QoS class, from requests and limits of cpu and memory: a snapshot does not keep that of the status."""
    totals = pod.spec.get("resources")
    if flags.is_gate_on("PodLevelResources") and totals is not None:
        limits = totals.get("limits") or {}
        complete = not limits or len(_positive_amounts(limits)) == len(COMPUTE_RESOURCES)
        return _qos_class(_positive_amounts(totals.get("requests") or {}), _positive_amounts(limits), complete=complete)
    requests: dict[str, int] = {}
    limits = {}
    complete = True
    for container in (*(pod.spec.get("containers") or ()), *(pod.spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        container_limits = _positive_amounts(resources.get("limits") or {})
        _add_amounts(requests, _positive_amounts(resources.get("requests") or {}))
        _add_amounts(limits, container_limits)
        complete = complete and len(container_limits) == len(COMPUTE_RESOURCES)
    return _qos_class(requests, limits, complete=complete)


def _qos_class(requests: Mapping[str, int], limits: Mapping[str, int], *, complete: bool) -> str:
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if complete and requests == limits else BURSTABLE


def _positive_amounts(resources: JsonObject) -> dict[str, int]:
    amounts = {name: nano_value(resources[name]) for name in COMPUTE_RESOURCES if name in resources}
    return {name: amount for name, amount in amounts.items() if amount > 0}
