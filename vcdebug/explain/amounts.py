"""Figures of an answer for programs, and things told by their reason, the most frequent first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from vcdebug.amount_text import count_noun, is_counted, join_names, listed_dimensions, value_in_units
from vcdebug.explain.answer import Number
from vcdebug.grouping import group_by_key
from vcdebug.model.resource import CPU, MEMORY, PODS, Resource


def numbers(prefix: str, what: Resource, names: Iterable[str] | None = None) -> dict[str, Number]:
    """`prefix.cpu` and so on of what a text about the resource tells, in cores, bytes and pieces."""
    return {f"{prefix}.{name}": number(name, value) for name, value in listed_dimensions(what, names)}


def number(name: str, value: float) -> Number:
    """An amount in the unit that people use for it."""
    if name == MEMORY:
        unit = "bytes"
    elif is_counted(name):
        unit = "pods" if name == PODS else "volumes"
    else:
        unit = "cores" if name == CPU else name
    return Number(value_in_units(name, value), unit)


def count(value: int, unit: str) -> Number:
    """A number of things."""
    return Number(float(value), unit)


Thing = TypeVar("Thing")
Histogram = list[tuple[str, list[Thing]]]


def histogram(pairs: Iterable[tuple[Thing, str]]) -> Histogram[Thing]:
    """Reason and what it is the reason of, the most frequent first."""
    found = group_by_key((reason, thing) for thing, reason in pairs)
    return sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0]))


def pod_lines(order: Iterable[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """One line per reason, with some of the pods."""
    return tuple(f"{count_noun(len(keys), 'pod')}: {reason}  ({join_names(keys)})" for reason, keys in order)
