"""What the fields of events hold, so that a condition that could never hold is refused when it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from vcdebug.grouping import group_by_key

FieldType = Literal["number", "text", "list", "yes or no", "any"]
KnownFields = Mapping[str, FieldType]
"""Field → what it holds."""
COUNT_FIELDS: Final = ("ops", "considered", "processed", "feasible", "failed", "scored", "tied", "left")
NUMBER_FIELDS: Final = ("seq", "tier", "vote", "score", *COUNT_FIELDS)
LIST_FIELDS: Final = ("candidates", "victims")


def field_type(field: str) -> FieldType:
    """What one of the fields of every event holds."""
    if field in NUMBER_FIELDS:
        return "number"
    if field in LIST_FIELDS:
        return "list"
    if field == "eviction":
        return "yes or no"
    return "any" if field == "result" else "text"


def type_of_value(value: object) -> FieldType:
    """What a constant is."""
    if isinstance(value, bool):
        return "yes or no"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    return "list" if isinstance(value, tuple) else "any"


def type_clash(left: FieldType, sign: str, right: FieldType) -> str:
    """Why a comparison can never hold; empty where it can."""
    if "any" in (left, right):
        return ""
    if sign == "in":
        return "" if (left, right) in (("text", "list"), ("text", "text")) else f"{left} is never in {right}"
    if sign == "matches":
        return "" if left in ("text", "list") else f"a pattern is looked for in text, not in {left}"
    if left != right:
        return f"{left} is compared with {right}"
    return f"{left} has no order" if sign not in ("==", "!=") and left not in ("number", "text") else ""


def describe_fields(known: KnownFields) -> str:
    """Fields by what they hold, for a help: `number: seq, tier`."""
    held = group_by_key((kind, name) for name, kind in known.items())
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in held.items())
