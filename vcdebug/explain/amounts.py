"""Figures of an answer for programs, and things told by their reason, the most frequent first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from vcdebug.amount_text import is_counted, listed, plural, told_of, unit_value
from vcdebug.explain.answer import Number
from vcdebug.grouping import by_key
from vcdebug.model.resource import CPU, MEMORY, PODS, Resource


def numbers(prefix: str, what: Resource, names: Iterable[str] | None = None) -> dict[str, Number]:
    """`prefix.cpu` and so on of what a text about the resource tells, in cores, bytes and pieces."""
    return {f"{prefix}.{name}": number(name, value) for name, value in told_of(what, names)}


def number(name: str, value: float) -> Number:
    """An amount in the unit that people use for it."""
    if name == MEMORY:
        unit = "bytes"
    elif is_counted(name):
        unit = "pods" if name == PODS else "volumes"
    else:
        unit = "cores" if name == CPU else name
    return Number(unit_value(name, value), unit)


def count(value: int, unit: str) -> Number:
    """A number of things."""
    return Number(float(value), unit)


Thing = TypeVar("Thing")
Histogram = list[tuple[str, list[Thing]]]


def histogram(pairs: Iterable[tuple[Thing, str]]) -> Histogram[Thing]:
    """Reason and what it is the reason of, the most frequent first."""
    found = by_key((reason, thing) for thing, reason in pairs)
    return sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0]))


def pod_lines(order: Iterable[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """One line per reason, with some of the pods."""
    return tuple(f"{plural(len(keys), 'pod')}: {reason}  ({listed(keys)})" for reason, keys in order)
