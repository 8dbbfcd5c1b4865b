"""Amounts as people write them: cores, Gi, whole devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vcdebug.debugger.figures import SHORT_NAMES
from vcdebug.model.resource import CPU, MAX_FLOAT64, MAX_INT64, MEMORY, PODS, Resource

_BINARY = (("Ei", 2**60), ("Pi", 2**50), ("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def amount(name: str, value: float) -> str:
    """One dimension's amount; the unit follows from the name."""
    if abs(value) >= MAX_FLOAT64 or value in (float("inf"), float(MAX_INT64)):
        return "∞" if value > 0 else "-∞"
    if name == MEMORY or name == "ephemeral-storage" or name.startswith("hugepages-"):
        return _binary(value if name == MEMORY else value / 1000)
    if name == PODS:
        return number(value)
    return number(value / 1000)


def number(value: float) -> str:
    """At most three decimals, none that say nothing."""
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _binary(value: float) -> str:
    for unit, factor in _BINARY:
        if abs(value) >= factor:
            return f"{f'{value / factor:.2f}'.rstrip('0').rstrip('.')}{unit}"
    return number(value)


def short_name(dimension: str) -> str:
    """`nvidia.com/gpu` → `gpu`."""
    return SHORT_NAMES.get(dimension) or dimension.rsplit("/", 1)[-1]


def dimensions(resources: Iterable[Resource]) -> list[str]:
    """cpu, memory and every scalar that one of them holds something of."""
    found: dict[str, None] = {}
    for resource in resources:
        found.update((name, None) for name, value in resource.items() if value)
    return in_order(found)


def in_order(names: Iterable[str]) -> list[str]:
    """cpu, memory, and the scalars among the names."""
    return [CPU, MEMORY, *sorted(name for name in names if name not in (CPU, MEMORY))]


def listed(amounts: Iterable[tuple[str, float]]) -> str:
    """Amounts by dimension, in the order given."""
    return ", ".join(f"{short_name(name)} {amount(name, value)}" for name, value in amounts)


def resource_text(resource: Resource) -> str:
    """`cpu 4, mem 8Gi, gpu 1`; nothing at all is `0`."""
    return listed((name, value) for name, value in resource.items() if value) or "0"


def besides_places(resource: Resource) -> str:
    """The same without the places for pods, of which each task takes one; nothing at all is empty."""
    return listed((name, value) for name, value in resource.items() if value and name != PODS)


def figure(value: object) -> str:
    """A plugin's figure of any kind as text."""
    if isinstance(value, Resource):
        return resource_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "∞" if value >= MAX_FLOAT64 else f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {figure(entry)}" for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(figure(entry) for entry in value)
    return "" if value is None else str(value)
