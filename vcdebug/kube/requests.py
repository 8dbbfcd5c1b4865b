"""What a pod requests, as the Kubernetes scorers count it: integers, with and without defaults for missing ones.

Upstream: k8s component-helpers resource (PodRequests), scheduler util non_zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from vcdebug.gomath import div, wrap_int64
from vcdebug.kube.container_requests import Amounts, Resized, container_amounts, list_amounts, resized_containers
from vcdebug.snapshot.json_values import JsonObject

CPU = "cpu"
MEMORY = "memory"
GPU = "nvidia.com/gpu"
DEFAULT_AMOUNTS: Mapping[str, int] = {CPU: 100, MEMORY: 200 * 1024 * 1024 * 1000}
"""Per container, in thousandths: 100m of cpu, 200 MiB of memory."""

Gate = Callable[[str], bool]


class Scored(NamedTuple):
    """Amounts of the resources that scorers look at: milli cpu, bytes, whole GPUs."""

    milli_cpu: int
    memory: int
    gpu: int


IMMENSE = 2**50
"""Below it, sums over the pods of a node and their products with a score fit in 64 bits."""


class PodRequests(NamedTuple):
    """The four readings of one pod's requests (spec table of nodeorder)."""

    requested: Scored
    """What the pod adds to its node's Requested."""
    non_zero: Scored
    """What it adds to NonZeroRequested; gpu unused."""
    incoming_non_zero: Scored
    """The incoming pod for Least/MostAllocated: defaults, never pod-level requests."""
    incoming: Scored
    """The incoming pod for BalancedAllocation."""

    @property
    def immense(self) -> bool:
        """Whether some amount is so large, or has wrapped around."""
        return not all(0 <= amount < IMMENSE for amounts in self for amount in amounts)


class _Options(NamedTuple):
    defaults: Mapping[str, int]
    pod_level: bool
    resized: Resized | None


def pod_requests(spec: JsonObject, status: JsonObject, gate: Gate, *, incoming_pod_level: bool = True) -> PodRequests:
    """All four readings of a pod."""
    resized = resized_containers(status) if gate("InPlacePodVerticalScaling") else None
    pod_level = gate("PodLevelResources")
    requested = _sum(spec, _Options({}, pod_level, resized))
    return PodRequests(
        requested=_scored(requested),
        non_zero=_scored(_sum(spec, _Options(_defaults(spec, requested, pod_level), pod_level, resized))),
        incoming_non_zero=_scored(_sum(spec, _Options(DEFAULT_AMOUNTS, False, None))),
        incoming=_scored(_sum(spec, _Options({}, pod_level and incoming_pod_level, None))),
    )


def _defaults(spec: JsonObject, requested: Amounts, pod_level: bool) -> Mapping[str, int]:
    """With pod-level requests only what nothing in the pod names is defaulted."""
    if not (pod_level and _pod_level(spec)):
        return DEFAULT_AMOUNTS
    return {name: amount for name, amount in DEFAULT_AMOUNTS.items() if name not in requested}


def _pod_level(spec: JsonObject) -> Amounts:
    raw = (spec.get("resources") or {}).get("requests") or {}
    return list_amounts({n: q for n, q in raw.items() if n in (CPU, MEMORY) or n.startswith("hugepages-")})


def _sum(spec: JsonObject, options: _Options) -> Amounts:
    total: Amounts = {}
    for amounts in _regular(spec, options):
        _add(total, amounts)
    highest: Amounts = {}
    sidecars: Amounts = {}
    for container in spec.get("initContainers") or ():
        sidecar = container.get("restartPolicy") == "Always"
        amounts = container_amounts(container, options.resized if sidecar else None, options.defaults)
        if sidecar:
            _add(total, amounts)
            _add(sidecars, amounts)
            amounts = sidecars
        else:
            _add(amounts, sidecars)
        _raise_to(highest, amounts)
    _raise_to(total, highest)
    if options.pod_level:
        total.update(_pod_level(spec))
    _add(total, list_amounts(spec.get("overhead") or {}))
    return total


def _regular(spec: JsonObject, options: _Options) -> Iterator[Amounts]:
    for container in spec.get("containers") or ():
        yield container_amounts(container, options.resized, options.defaults)


def _add(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def _scored(amounts: Amounts) -> Scored:
    return Scored(wrap_int64(amounts.get(CPU, 0)), _whole(amounts.get(MEMORY, 0)), _whole(amounts.get(GPU, 0)))


def _whole(thousandths: int) -> int:
    """Quantity.Value(): rounded away from zero."""
    return wrap_int64(div(thousandths + (999 if thousandths >= 0 else -999), 1000))
