"""What is told by reason, the most frequent first: nodes that were refused, pods that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from vcdebug.explain.amounts import listed, plural
from vcdebug.grouping import by_key

Thing = TypeVar("Thing")
Histogram = list[tuple[str, list[Thing]]]


def histogram(pairs: Iterable[tuple[Thing, str]]) -> Histogram[Thing]:
    """Reason and what it is the reason of, the most frequent first."""
    found = by_key((reason, thing) for thing, reason in pairs)
    return sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0]))


def pod_lines(order: Iterable[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """One line per reason, with some of the pods."""
    return tuple(f"{plural(len(keys), 'pod')}: {reason}  ({listed(keys)})" for reason, keys in order)
