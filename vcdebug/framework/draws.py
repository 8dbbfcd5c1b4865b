"""Random numbers of a cycle: 0 by the rule of the recordings, or drawn from a seed.

Upstream: math/rand, wherever the scheduler draws.
"""

from __future__ import annotations

from vcdebug.gomath import mod
from vcdebug.snapshot.chance import mix


class Draws:
    """A sequence of numbers that is the same for the same seed."""

    __slots__ = ("_count", "_seed")

    def __init__(self, seed: int | None) -> None:
        self._seed = seed
        self._count = 0

    def below(self, bound: int) -> int:
        """A number from 0 to bound - 1."""
        if self._seed is None:
            return 0
        self._count += 1
        return mod(mix(self._seed + self._count) >> 1, bound)
