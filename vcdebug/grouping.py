"""Grouping by key, without sorting as itertools.groupby needs it."""

from collections.abc import Iterable
from typing import TypeVar

Key = TypeVar("Key")
Thing = TypeVar("Thing")


def group_by_key(pairs: Iterable[tuple[Key, Thing]]) -> dict[Key, list[Thing]]:
    """The things of each key; keys and things keep the order of the pairs."""
    groups: dict[Key, list[Thing]] = {}
    for key, thing in pairs:
        groups.setdefault(key, []).append(thing)
    return groups
