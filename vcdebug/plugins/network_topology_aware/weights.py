"""What the arguments say: the plugin's weight, weights of resources, weights of tiers.

Upstream: plugins/network-topology-aware (getPriorityWeight, getNormalPodConfig).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vcdebug.framework.arguments import Arguments
from vcdebug.gomath import power
from vcdebug.model.resource import CPU, MEMORY, Resource

RESOURCES = "hypernode.binpack.resources"
MAX_SCORE = 100.0


class Fill(NamedTuple):
    """One resource of how full a HyperNode would be."""

    name: str
    weight: int
    wanted: float
    """Used and requested."""
    capacity: float


class Weights:
    """Arguments with upstream's defaults; a negative number falls back to the default."""

    __slots__ = ("evict_hyper_nodes", "fading", "normal_pods", "overall", "resources")

    def __init__(self, arguments: Arguments) -> None:
        self.overall = _not_negative(arguments, "weight")
        self.resources = _resource_weights(arguments)
        self.normal_pods = arguments.get_bool("hypernode.binpack.normal-pod.enable", default=True)
        fading = arguments.get_float64("hypernode.binpack.normal-pod.fading", 0.8)
        self.fading = 0.8 if fading < 0 else fading
        limit = arguments.get_int("hypernode.gradient.evict.max-hypernodes", 8)
        self.evict_hyper_nodes = limit if limit > 0 else 8

    @property
    def scale(self) -> float:
        """What turns a score of 0 to 1 into the plugin's answer."""
        return MAX_SCORE * float(self.overall)

    def tiers(self, lowest: int, highest: int) -> dict[int, float]:
        """Each tier number's weight for pods without topology, absent tiers included."""
        return {tier: power(self.fading, tier - 1) for tier in range(lowest, highest + 1)}

    def fill(self, requests: dict[str, float], used: Resource, allocatable: Resource) -> float:
        """Weighted mean of (used + request) / allocatable; 0 where one resource does not fit."""
        score, weights = 0.0, 0
        for _, weight, wanted, capacity in self.fills(requests, used, allocatable):
            if wanted > capacity:
                return 0.0
            score = score + float(weight) * (wanted / capacity)
            weights += weight
        return score / float(weights) if weights > 0 else 0.0

    def fills(self, requests: dict[str, float], used: Resource, allocatable: Resource) -> Iterator[Fill]:
        """What is added up, resource by resource."""
        for name, request in requests.items():
            yield Fill(name, self.resources[name], used.get(name) + request, allocatable.get(name))

    def weighed(self, request: Resource) -> dict[str, float]:
        """The request's dimensions that have a weight."""
        return {name: request.get(name) for name in request.resource_names() if name in self.resources}


def _resource_weights(arguments: Arguments) -> dict[str, int]:
    """cpu and memory come from their own keys whatever the list says."""
    stated = arguments.raw.get(RESOURCES)
    listed = (name.strip() for name in (stated if isinstance(stated, str) else "").split(","))
    weights = {name: _not_negative(arguments, f"{RESOURCES}.{name}") for name in listed if name}
    weights[CPU] = _not_negative(arguments, "hypernode.binpack.cpu")
    weights[MEMORY] = _not_negative(arguments, "hypernode.binpack.memory")
    return weights


def _not_negative(arguments: Arguments, key: str) -> int:
    weight = arguments.get_int(key, 1)
    return 1 if weight < 0 else weight
