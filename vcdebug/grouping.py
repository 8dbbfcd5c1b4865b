"""Grouping of pairs by key, which unlike itertools.groupby needs no sorted input, and lists of names as a text."""

from collections.abc import Iterable
from typing import TypeVar

Key = TypeVar("Key")
Thing = TypeVar("Thing")


def group_by_key(pairs: Iterable[tuple[Key, Thing]]) -> dict[Key, list[Thing]]:
    """Key → its values; keys and values keep the order of the pairs."""
    groups: dict[Key, list[Thing]] = {}
    for key, thing in pairs:
        groups.setdefault(key, []).append(thing)
    return groups


def split_names(text: str) -> tuple[str, ...]:
    """The names in a text, in order: for lists of names that would take a line each."""
    return tuple(text.split())
