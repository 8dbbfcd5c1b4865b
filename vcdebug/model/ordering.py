"""The order in which Go's maps are visited: ascending by key, or drawn from a seed."""

from __future__ import annotations

from collections.abc import Iterable

from vcdebug.snapshot.chance import mix_text


class MapOrder:
    """One fixed order of keys for a whole cycle."""

    __slots__ = ("_seed",)

    def __init__(self, seed: int | None = None) -> None:
        self._seed = seed

    def order_keys(self, keys: Iterable[str]) -> list[str]:
        """The keys in the order of this cycle."""
        seed = self._seed
        if seed is None:
            return sorted(keys)
        return sorted(keys, key=lambda key: (mix_text(seed, key), key))


ASCENDING = MapOrder()
