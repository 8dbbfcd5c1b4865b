"""Amounts that others are fractions of, dimension by dimension.

Upstream: plugins/drf (calculateShare), plugins/proportion (updateShare), api/helpers (Share).
"""

from __future__ import annotations

from collections.abc import Mapping

from vcdebug.model.resource import CPU, MEMORY, MIN_RESOURCE, Resource

_NO_SCALARS: Mapping[str, float] = {}


class ShareTotals:
    """What shares are taken of: the cluster, or what a queue deserves."""

    __slots__ = ("_cpu", "_memory", "_scalars", "dimensions", "resource")

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.dimensions = [(name, amount) for name, amount in resource.items() if amount >= MIN_RESOURCE]
        """Dimensions that hold something: cpu, memory, then scalars ascending; `pods` is one of them."""
        self._cpu = resource.milli_cpu if resource.milli_cpu >= MIN_RESOURCE else 0.0
        self._memory = resource.memory if resource.memory >= MIN_RESOURCE else 0.0
        self._scalars = [(name, amount) for name, amount in self.dimensions if name not in (CPU, MEMORY)]

    def calculate_share(self, allocated: Resource) -> tuple[str, float]:
        """(dimension, share) of the largest share; the earlier dimension where two are equal.
        Upstream: plugins/drf.calculateShare.
        """
        name, value = "", 0.0
        if self._cpu and (share := allocated.milli_cpu / self._cpu) > value:
            name, value = CPU, share
        if self._memory and (share := allocated.memory / self._memory) > value:
            name, value = MEMORY, share
        scalars = allocated.scalars or _NO_SCALARS
        for dimension, total in self._scalars:
            if (share := scalars.get(dimension, 0.0) / total) > value:
                name, value = dimension, share
        return name, value

    def share_with(self, allocated: Resource, request: Resource) -> float:
        """The largest share of both together. Upstream: plugins/drf.calculateShare."""
        largest = 0.0
        held, wanted = allocated.scalars or _NO_SCALARS, request.scalars or _NO_SCALARS
        for dimension, total in self.dimensions:
            if dimension == CPU:
                share = (allocated.milli_cpu + request.milli_cpu) / total
            elif dimension == MEMORY:
                share = (allocated.memory + request.memory) / total
            else:
                share = (held.get(dimension, 0.0) + wanted.get(dimension, 0.0)) / total
            if share > largest:
                largest = share
        return largest

    def share_by_dimension(self, allocated: Resource) -> list[tuple[str, float]]:
        """What an amount takes of each dimension."""
        return [(name, allocated.get(name) / total) for name, total in self.dimensions]

    def largest_share(self, allocated: Resource) -> float:
        """The largest share alone."""
        return self.calculate_share(allocated)[1]


def share_of(left: float, right: float) -> float:
    """left / right; anything of nothing is 1, nothing of nothing is 0. Upstream: api/helpers.Share."""
    if right == 0:
        return 0.0 if left == 0 else 1.0
    return left / right
