"""Devices that several claims have a part of: what a claim takes of them, and whether that is left.

Upstream: k8s dynamic-resource-allocation structured (consumable_capacity).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vcdebug.gomath import int_div, int_mod
from vcdebug.kube.cel.values import NANO_PER_UNIT
from vcdebug.snapshot.json_values import Json, JsonObject
from vcdebug.snapshot.quantity import nano_value

CapacityAmounts = Mapping[str, int]
"""Capacity → 10^-9 units."""
NO_AMOUNTS: Final[CapacityAmounts] = {}


def parse_amounts(raw: Json) -> CapacityAmounts:
    """Read them."""
    return {name: nano_value(text) for name, text in (raw or {}).items()}


def quantity_text(nano: int) -> str:
    """As a manifest says it."""
    return str(nano // NANO_PER_UNIT) if nano % NANO_PER_UNIT == 0 else f"{nano}n"  # exact: ints


def consumed_capacity(wanted: CapacityAmounts, capacity: JsonObject) -> dict[str, int]:
    """What a request takes of each capacity of a device; all of it where nothing is said."""
    return {name: _round_up(wanted.get(name), raw or {}) for name, raw in capacity.items()}


def fits_capacity(
    wanted: CapacityAmounts, capacity: JsonObject, taken: CapacityAmounts, trying: CapacityAmounts
) -> bool:
    """Whether a request can have its part beside what is taken already and what is being tried."""
    if any(name not in capacity for name in wanted):
        return False
    for name, amount in consumed_capacity(wanted, capacity).items():
        raw = capacity[name] or {}
        if _is_forbidden(amount, raw.get("requestPolicy")):
            return False
        if amount + taken.get(name, 0) + trying.get(name, 0) > nano_value(raw.get("value")):
            return False
    return True


def _round_up(wanted: int | None, raw: JsonObject) -> int:
    """Up to an amount that the device gives away."""
    policy = raw.get("requestPolicy") or {}
    if wanted is None:
        default = policy.get("default")
        return nano_value(default if default is not None else raw.get("value"))
    within, values = policy.get("validRange") or {}, policy.get("validValues")
    if within.get("min") is not None:
        return _round_to_step(wanted, within)
    known = [nano_value(text) for text in values or ()]
    return next((one for one in known if wanted <= one), wanted)


def _round_to_step(wanted: int, within: JsonObject) -> int:
    least = nano_value(within["min"])
    if wanted < least:
        return least
    if within.get("step") is None:
        return wanted
    begin, step = _whole_units(least), _whole_units(nano_value(within["step"]))
    added = _whole_units(wanted) - begin
    return (begin + step * (int_div(added, step) + (int_mod(added, step) != 0))) * NANO_PER_UNIT


def _is_forbidden(amount: int, policy: JsonObject | None) -> bool:
    """Whether the device does not give such an amount away."""
    if policy is None or (policy.get("default") is not None and amount == nano_value(policy["default"])):
        return False
    within = policy.get("validRange")
    if within is None:
        known = [nano_value(text) for text in policy.get("validValues") or ()]
        return bool(known) and amount not in known
    if within.get("max") is not None and amount > nano_value(within["max"]):
        return True
    if within.get("step") is None:
        return False
    begin = _whole_units(nano_value(within.get("min")))
    return int_mod(_whole_units(amount) - begin, _whole_units(nano_value(within["step"]))) != 0


def _whole_units(nano: int) -> int:
    """Units, rounded up."""
    return -(-nano // NANO_PER_UNIT)  # exact: ints
