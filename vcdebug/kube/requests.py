"""What a pod requests, as the Kubernetes scorers count it: integers, with and without defaults for missing ones.

Upstream: k8s component-helpers resource (PodRequests), scheduler util non_zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from vcdebug.gomath import int_div, wrap_int64
from vcdebug.kube.container_requests import (
    Amounts,
    ResizedContainers,
    container_amounts,
    list_amounts,
    resized_containers,
)
from vcdebug.snapshot.json_values import JsonObject

CPU = "cpu"
MEMORY = "memory"
GPU = "nvidia.com/gpu"
DEFAULT_AMOUNTS: Mapping[str, int] = {CPU: 100, MEMORY: 200 * 1024 * 1024 * 1000}
"""Per container, in thousandths: 100m of cpu, 200 MiB of memory."""

GateCheck = Callable[[str], bool]


class ScoredAmounts(NamedTuple):
    """Amounts of the resources that scorers look at: milli cpu, bytes, whole GPUs."""

    milli_cpu: int
    memory: int
    gpu: int


IMMENSE_AMOUNT = 2**50
"""Below it, sums over the pods of a node and their products with a score fit in 64 bits."""


class PodRequests(NamedTuple):
    """The four readings of one pod's requests (spec table of nodeorder)."""

    requested: ScoredAmounts
    """What the pod adds to its node's Requested."""
    non_zero: ScoredAmounts
    """What it adds to NonZeroRequested; gpu unused."""
    incoming_non_zero: ScoredAmounts
    """The incoming pod for Least/MostAllocated: defaults, never pod-level requests."""
    incoming: ScoredAmounts
    """The incoming pod for BalancedAllocation."""

    @property
    def is_immense(self) -> bool:
        """Whether some amount is so large, or has wrapped around."""
        return not all(0 <= amount < IMMENSE_AMOUNT for amounts in self for amount in amounts)


class _RequestOptions(NamedTuple):
    defaults: Mapping[str, int]
    pod_level: bool
    resized: ResizedContainers | None


def pod_requests(
    spec: JsonObject, status: JsonObject, gate: GateCheck, *, incoming_pod_level: bool = True
) -> PodRequests:
    """All four readings of a pod."""
    resized = resized_containers(status) if gate("InPlacePodVerticalScaling") else None
    pod_level = gate("PodLevelResources")
    requested = _sum_requests(spec, _RequestOptions({}, pod_level, resized))
    return PodRequests(
        requested=_to_scored(requested),
        non_zero=_to_scored(
            _sum_requests(spec, _RequestOptions(_default_amounts(spec, requested, pod_level), pod_level, resized))
        ),
        incoming_non_zero=_to_scored(_sum_requests(spec, _RequestOptions(DEFAULT_AMOUNTS, False, None))),
        incoming=_to_scored(_sum_requests(spec, _RequestOptions({}, pod_level and incoming_pod_level, None))),
    )


def _default_amounts(spec: JsonObject, requested: Amounts, pod_level: bool) -> Mapping[str, int]:
    """With pod-level requests only what nothing in the pod names is defaulted."""
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
        if sidecar:
            _add_amounts(total, amounts)
            _add_amounts(sidecars, amounts)
            amounts = sidecars
        else:
            _add_amounts(amounts, sidecars)
        _raise_to(highest, amounts)
    _raise_to(total, highest)
    if options.pod_level:
        total.update(_pod_level(spec))
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
