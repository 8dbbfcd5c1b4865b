"""Grouping of pairs by key, which unlike itertools.groupby needs no sorted input, and lists of names as a text."""

from collections.abc import Callable, Iterable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

Key = TypeVar("Key")
Thing = TypeVar("Thing")


def group_by_key(pairs: Iterable[tuple[Key, Thing]]) -> dict[Key, list[Thing]]:
    """Key → its values; keys and values keep the order of the pairs."""
    groups: dict[Key, list[Thing]] = {}
    for key, thing in pairs:
        groups.setdefault(key, []).append(thing)
    return groups


Histogram = list[tuple[str, list[Thing]]]


def histogram(pairs: Iterable[tuple[Thing, str]]) -> Histogram[Thing]:
    """(reason, things with this reason), the most frequent reason first, then by name."""
    by_reason = group_by_key((reason, item) for item, reason in pairs)
    return sorted(by_reason.items(), key=lambda entry: (-len(entry[1]), entry[0]))


def split_names(text: str) -> tuple[str, ...]:
    """The names in a text, in order: for lists of names that would take a line each."""
    return tuple(text.split())


def split_pairs(text: str) -> dict[str, str]:
    """Key → value, in the order of a text of `key=value`, or of one word that is both key and value."""
    return {key: value or key for key, _, value in (word.partition("=") for word in text.split())}


def named_attributes(thing: object, text: str) -> dict[str, Any]:  # Any: the type of each attribute
    """Key → attribute of the thing, in the order of a text of `key=attribute` or `key=part.attribute`, or of one word
    that is both key and attribute.
    """
    return {key: get(thing) for key, get in _attribute_getters(text)}


@cache
def _attribute_getters(text: str) -> list[tuple[str, Callable[[object], object]]]:
    return [(key, attrgetter(attribute)) for key, attribute in split_pairs(text).items()]
