"""Damage to the structure of manifests: dropped, duplicated, retyped and nested values, amounts, added fields."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any, Final

from tests.snapshot.damage import WRONG
from vcdebug.snapshot.schema import SHAPES
from vcdebug.snapshot.shapes import ListOf, MapOf, QuantityMap, Struct

Spot = tuple[Any, Any]
"""A container and the key or place in it."""

NUMBERS: Final[tuple[Any, ...]] = (
    *(0, 1, -1, 2, 2**31 - 1, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 10**19, 10**30, 10**400),
    *(0.5, -0.0, 1e-320, 1e17, 1e308, float("nan"), float("inf"), -float("inf")),
)
QUANTITIES: Final[tuple[Any, ...]] = (
    *("0", "-1", "1n", "1u", "999m", "-5Gi", "10Ei", "16Ei", "9223372036854775807", "9223372036854775808", "1e400"),
    *("1e-400", "1e9", "Gi", ".", "", "+1", "1.", ".5", "1e", "0x10", "1_000", "1 Gi", "1gi", "1KI", "\u0661", "lots"),
    *(
        "9" * 5000,
        "0." + "0" * 400 + "1",
        "1e2147483648",
        "nan",
        "inf",
        "-0",
        "1E3",
        "1Ei5",
        "100k",
        "3.3333333333333333",
    ),
)
TEXTS: Final = (
    *(
        "",
        " ",
        "a",
        "a/b",
        "/",
        "a/b/c",
        "-",
        "none",
        "null",
        "true",
        "0",
        "default",
        "root",
        "*",
        "(",
        "^(a+)+$",
        "\n",
    ),
    *("kubernetes.io/hostname", "2026-11-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2026-13-01"),
    *(
        "NoSchedule",
        "NoExecute",
        "In",
        "NotIn",
        "Exists",
        "DoesNotExist",
        "Gt",
        "Lt",
        "Equal",
        "hard",
        "soft",
        "Always",
    ),
    *("PreferNoSchedule", "DoNotSchedule", "ScheduleAnyway", "Never", "WaitForFirstConsumer", "x" * 300, "ü\u0301🚀"),
    *(
        "device.driver == 'a'",
        "1 / 0 == 1",
        "[1][9]",
        "device.attributes['a'].b",
        "quantity('1')",
        "true || (",
        "size('a')",
    ),
)
DEPTHS: Final = (1, 2, 20, 150)


def damage_structure(objects: list[Any], lot: Random) -> None:
    """Add one to eight faults to the objects, in place."""
    for _ in range(lot.choice((1, 1, 2, 3, 5, 8))):
        if found := find_spots(objects):
            lot.choices(_FAULTS, _WEIGHTS)[0](found, lot)


def find_spots(tree: Any) -> list[Spot]:
    """Every position in nested lists and mappings."""
    spots: list[Spot] = []
    stack = [tree]
    while stack:
        one = stack.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        for key in keys:
            spots.append((one, key))
            stack.append(one[key])
    return spots


def random_value(lot: Random) -> Any:
    """A random value of any type at the edge of what a field may hold."""
    pool = lot.choice((WRONG, NUMBERS, QUANTITIES, TEXTS, (None,)))
    return copy.deepcopy(lot.choice(pool))


def _drop(spots: list[Spot], lot: Random) -> None:
    parent, key = lot.choice(spots)
    del parent[key]


def _double(spots: list[Spot], lot: Random) -> None:
    parent, key = lot.choice(spots)
    again = copy.deepcopy(parent[key])
    if isinstance(parent, list):
        parent.insert(lot.randrange(len(parent) + 1), again)
    else:
        parent[lot.choice((f"{key}x", str(key).upper(), str(key).lower(), f" {key}", ""))] = again


def _retype(spots: list[Spot], lot: Random) -> None:
    parent, key = lot.choice(spots)
    parent[key] = random_value(lot)


def _retype_everywhere(spots: list[Spot], lot: Random) -> None:
    _, name = lot.choice(spots)
    value = random_value(lot)
    for parent, key in spots:
        if key == name and isinstance(parent, dict):
            parent[key] = copy.deepcopy(value)


def _deepen(spots: list[Spot], lot: Random) -> None:
    parent, key = lot.choice(spots)
    for _ in range(lot.choice(DEPTHS)):
        parent[key] = [parent[key]] if lot.random() < 0.5 else {"a": parent[key]}


def _renumber(spots: list[Spot], lot: Random) -> None:
    numbers = [(parent, key) for parent, key in spots if isinstance(parent[key], int | float)]
    if numbers:
        parent, key = lot.choice(numbers)
        parent[key] = lot.choice(NUMBERS)


AMOUNTS: Final = (
    *(
        "requests",
        "limits",
        "allocatable",
        "capacity",
        "capability",
        "deserved",
        "guarantee",
        "resource",
        "hard",
        "used",
    ),
    *("minResources", "overhead", "allocated"),
)


def _requantify(spots: list[Spot], lot: Random) -> None:
    amounts = [parent[key] for parent, key in spots if key in AMOUNTS and isinstance(parent[key], dict)]
    if amounts:
        table = lot.choice(amounts)
        name = lot.choice(
            [*table, "cpu", "memory", "pods", "nvidia.com/gpu", "volcano.sh/vgpu-number", "hugepages-2Mi"]
        )
        table[name] = lot.choice((*QUANTITIES, *NUMBERS))


def _swap(spots: list[Spot], lot: Random) -> None:
    (one, first), (other, second) = lot.choice(spots), lot.choice(spots)
    one[first], other[second] = copy.deepcopy(other[second]), copy.deepcopy(one[first])


def _retext(spots: list[Spot], lot: Random) -> None:
    texts = [(parent, key) for parent, key in spots if isinstance(parent[key], str)]
    if texts:
        parent, key = lot.choice(texts)
        source, place = lot.choice(texts)
        parent[key] = lot.choice((lot.choice(TEXTS), source[place], parent[key] + "x", parent[key].upper()))


def _add_field(spots: list[Spot], lot: Random) -> None:
    """Add a field that the engine reads, deep in an object, with a fitting or a wrong value."""
    objects = [
        parent[key] for parent, key in spots if isinstance(parent[key], dict) and str(parent[key].get("kind")) in SHAPES
    ]
    if not objects:
        return
    target = lot.choice(objects)
    shape: Any = SHAPES[target["kind"]]
    while isinstance(shape, Struct) and shape.fields:
        name = lot.choice(list(shape.fields))
        shape = shape.fields[name]
        inner = target.get(name)
        if not isinstance(inner, dict) or not isinstance(shape, Struct):
            target[name] = _made_value(shape, lot, 0)
            return
        target = inner


def _made_value(shape: Any, lot: Random, depth: int) -> Any:
    if lot.random() < 0.05 or depth > 6:
        return random_value(lot)
    if isinstance(shape, Struct):
        chosen = [name for name in shape.fields if lot.random() < 0.7]
        return {name: _made_value(shape.fields[name], lot, depth + 1) for name in chosen}
    if isinstance(shape, ListOf):
        return [_made_value(shape.item, lot, depth + 1) for _ in range(lot.choice((0, 1, 1, 2)))]
    if isinstance(shape, MapOf):
        return {lot.choice(TEXTS): _made_value(shape.item, lot, depth + 1) for _ in range(lot.choice((0, 1, 2)))}
    if isinstance(shape, QuantityMap):
        return {lot.choice(("cpu", "memory", "a.b/c", "")): lot.choice(QUANTITIES)}
    fitting = [value for value in (*TEXTS, *NUMBERS, *QUANTITIES, True, False) if shape.accepts(value)]
    return lot.choice(fitting) if fitting else random_value(lot)


def _circle_parents(spots: list[Spot], lot: Random) -> None:
    queues = [
        parent[key] for parent, key in spots if isinstance(parent[key], dict) and parent[key].get("kind") == "Queue"
    ]
    if not queues:
        return
    ring = [lot.choice(queues) for _ in range(lot.choice((1, 2, 3)))]
    for queue, above in zip(ring, [*ring[1:], ring[0]], strict=True):
        spec, about = queue.setdefault("spec", {}), above.get("metadata")
        if isinstance(spec, dict) and isinstance(about, dict):
            spec["parent"] = about.get("name")


_FAULTS: Final[tuple[Callable[[list[Spot], Random], None], ...]] = (
    *(_drop, _double, _retype, _retype_everywhere, _deepen, _renumber, _requantify, _swap, _retext, _add_field),
    _circle_parents,
)
_WEIGHTS: Final = (12, 8, 12, 6, 3, 10, 14, 5, 8, 20, 3)
