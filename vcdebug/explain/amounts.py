"""Amounts in words: `8 cpu`, `24Gi memory`, `2 nodes`; and what is told by reason, the most frequent first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeVar

from vcdebug.explain.answer import Number
from vcdebug.gotime import HOUR, MINUTE, SECOND
from vcdebug.grouping import by_key
from vcdebug.model.resource import CPU, MAX_FLOAT64, MAX_INT64, MEMORY, MIN_RESOURCE, PODS, Resource

_VOLUMES = "attachable-volumes-csi-"
_BINARY = ((1 << 50, "Pi"), (1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki"))
_MILLI = 1000.0
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"))


def amount(name: str, value: float) -> str:
    """One amount without its name."""
    if abs(value) >= min(MAX_FLOAT64, float(MAX_INT64)):
        return "unlimited"
    if name == MEMORY:
        return _bytes(value)
    if counted(name):
        return _number(value)
    return _number(value / _MILLI)


def counted(name: str) -> bool:
    """Whether the dimension holds plain counts, where all others hold thousandths."""
    return name == PODS or name.startswith(_VOLUMES)


def _bytes(value: float) -> str:
    for size, unit in _BINARY:
        if abs(value) >= size:
            return f"{_number(value / size)}{unit}"
    return _number(value)


def _number(value: float) -> str:
    rounded = round(value, 3)
    return str(int(rounded)) if rounded == int(rounded) else f"{rounded:g}"


def named(name: str, value: float) -> str:
    """One amount with its name."""
    return f"{amount(name, value)} {name}"


def resource(what: Resource, names: Iterable[str] | None = None) -> str:
    """All dimensions that hold something, or the named ones; a pod's own place is not worth a word."""
    return ", ".join(named(name, value) for name, value in _told(what, names)) or "nothing"


def numbers(prefix: str, what: Resource, names: Iterable[str] | None = None) -> dict[str, Number]:
    """`prefix.cpu` and so on of the same, in cores, bytes and pieces."""
    return {f"{prefix}.{name}": number(name, value) for name, value in _told(what, names)}


def _told(what: Resource, names: Iterable[str] | None) -> list[tuple[str, float]]:
    if names is None:
        return [(name, value) for name, value in what.items() if abs(value) >= MIN_RESOURCE and name != PODS]
    wanted = dict.fromkeys(names)
    return [(name, value) for name, value in what.items() if name in wanted]


def number(name: str, value: float) -> Number:
    """An amount in the unit that people use for it."""
    if name == MEMORY:
        return Number(value, "bytes")
    if counted(name):
        return Number(value, "pods" if name == PODS else "volumes")
    return Number(value / _MILLI, "cores" if name == CPU else name)


def count(value: int, unit: str) -> Number:
    """A number of things."""
    return Number(float(value), unit)


def plural(value: int, noun: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{value} {noun}" if value == 1 else f"{value} {noun}s"


def listed(names: Iterable[str], most: int = 3) -> str:
    """A few names, and how many more there are."""
    every = list(names)
    return listed_first(every, len(every), most)


def listed_first(names: Iterable[str], total: int, most: int = 3) -> str:
    """The same of so many that nobody writes them all."""
    shown = ", ".join(islice(names, most))
    return shown if total <= most else f"{shown} and {total - most} more"


def age(seconds: int) -> str:
    """A span of time in its largest unit: `2d`, `45s`."""
    found = next(((size, unit) for size, unit in _UNITS if seconds >= size), (1, "s"))
    return f"{max(seconds, 0) // found[0]}{found[1]}"  # exact: ints


def duration(nanoseconds: int | None) -> str | None:
    """`1h30m`, `45s`."""
    if nanoseconds is None:
        return None
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    parts = []
    for size, unit in ((HOUR, "h"), (MINUTE, "m"), (SECOND, "s")):
        number, rest = divmod(rest, size)
        if number:
            parts.append(f"{number}{unit}")
    return sign + "".join(parts[:2]) if parts else "0s"


def all_named(values: Sequence[tuple[str, float]]) -> str:
    """`4 cpu and 2Gi memory`."""
    return " and ".join(named(name, value) for name, value in values)


Thing = TypeVar("Thing")
Histogram = list[tuple[str, list[Thing]]]


def histogram(pairs: Iterable[tuple[Thing, str]]) -> Histogram[Thing]:
    """Reason and what it is the reason of, the most frequent first."""
    found = by_key((reason, thing) for thing, reason in pairs)
    return sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0]))


def pod_lines(order: Iterable[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """One line per reason, with some of the pods."""
    return tuple(f"{plural(len(keys), 'pod')}: {reason}  ({listed(keys)})" for reason, keys in order)
