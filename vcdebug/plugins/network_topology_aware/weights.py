"""What the arguments say: the plugin's weight, weights of resources, weights of tiers.

Upstream: plugins/network-topology-aware (getPriorityWeight, getNormalPodConfig).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import isfinite, log2
from typing import Final, NamedTuple

from vcdebug.framework.arguments import Arguments
from vcdebug.gomath import int_power
from vcdebug.model.resource import CPU, MEMORY, Resource

RESOURCES_KEY = "hypernode.binpack.resources"
MAX_SCORE = 100.0
MAX_ABSENT_TIERS: Final = 10_000
"""How many absent tier numbers in a row are added up where the weights hardly fade; further ones are left out."""
FEW_TIERS: Final = 4
"""Beyond the rounding of the bounds below, and around tier 1, where the exponent changes its sign."""
GONE_DOUBLINGS: Final = 54.0
INFINITE_DOUBLINGS: Final = 2200.0


class ResourceFill(NamedTuple):
    """One resource of how full a HyperNode would be."""

    name: str
    weight: int
    wanted: float
    """Used and requested."""
    capacity: float


class TopologyWeights:
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
    def score_scale(self) -> float:
        """What turns a score of 0 to 1 into the plugin's answer."""
        return MAX_SCORE * float(self.overall)

    def tier_weights(self, present: Sequence[int]) -> dict[int, float]:
        """The weight of each tier number for pods without topology; `present` are those of HyperNodes, ascending.

        Upstream weighs all numbers from the lowest to the highest, and a number that no HyperNode has counts as full.
        Numbers can be 2^31 apart, but in such a gap the weights soon vanish beside their sum, or are infinite: what
        follows changes no sum, and is left out.
        """
        weights: dict[int, float] = {}
        for tier, following in pairwise([*present, present[-1] + 1]):
            counted = range(tier, min(following, tier + 1 + self._counted_in_a_gap))
            weights.update((number, int_power(self.fading, number - 1)) for number in counted)
        return weights

    @property
    def _counted_in_a_gap(self) -> int:
        """How many absent tiers one after the other can change a sum of weights.

        Two numbers of which one is 2^54 times the other add up to the larger one; weights that grow are infinite after
        2^11 doublings.
        """
        if self.fading in (0.0, 1.0) or not isfinite(self.fading):
            return FEW_TIERS if self.fading != 1.0 else MAX_ABSENT_TIERS
        doublings = GONE_DOUBLINGS if self.fading < 1.0 else INFINITE_DOUBLINGS
        return min(int(doublings / abs(log2(self.fading))) + FEW_TIERS, MAX_ABSENT_TIERS)

    def fill_score(self, requests: dict[str, float], used: Resource, allocatable: Resource) -> float:
        """Weighted mean of (used + request) / allocatable; 0 where one resource does not fit."""
        score, weights = 0.0, 0
        for _, weight, wanted, capacity in self.iter_fills(requests, used, allocatable):
            if wanted > capacity:
                return 0.0
            score = score + float(weight) * (wanted / capacity)
            weights += weight
        return score / float(weights) if weights > 0 else 0.0

    def iter_fills(self, requests: dict[str, float], used: Resource, allocatable: Resource) -> Iterator[ResourceFill]:
        """What is added up, resource by resource."""
        for name, request in requests.items():
            yield ResourceFill(name, self.resources[name], used.get(name) + request, allocatable.get(name))

    def weighed_request(self, request: Resource) -> dict[str, float]:
        """The request's dimensions that have a weight."""
        return {name: request.get(name) for name in request.resource_names() if name in self.resources}


def _resource_weights(arguments: Arguments) -> dict[str, int]:
    """cpu and memory come from their own keys whatever the list says."""
    stated = arguments.raw.get(RESOURCES_KEY)
    listed = (name.strip() for name in (stated if isinstance(stated, str) else "").split(","))
    weights = {name: _not_negative(arguments, f"{RESOURCES_KEY}.{name}") for name in listed if name}
    weights[CPU] = _not_negative(arguments, "hypernode.binpack.cpu")
    weights[MEMORY] = _not_negative(arguments, "hypernode.binpack.memory")
    return weights


def _not_negative(arguments: Arguments, key: str) -> int:
    weight = arguments.get_int(key, 1)
    return 1 if weight < 0 else weight
