"""How Go prints values into a line: %v of numbers, truths, maps and tasks, and JSON.

Upstream: fmt, k8s.io/klog; the String methods of api types.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

LARGEST_PLAIN, SMALLEST_PLAIN = 1e21, 1e-4


def format_go_value(value: object) -> str:
    """%v of a value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format_float(float(value))
    if isinstance(value, Mapping):
        return f"map[{' '.join(f'{key}:{format_go_value(value[key])}' for key in sorted(value))}]"
    return str(value)


def format_float(value: float) -> str:
    """%v of a float64: the shortest text, with an exponent below 1e-4 and from 1e21 on."""
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}[str(value)]
    digits, exponent = _shortest_digits(abs(value))
    sign = "-" if value < 0 else ""
    if not SMALLEST_PLAIN <= abs(value) < LARGEST_PLAIN:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, rest = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"


def _shortest_digits(value: float) -> tuple[str, int]:
    """(digits without a point, exponent of the first one)."""
    mantissa, _, exponent = f"{value!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    first = len(whole) - 1 if whole.strip("0") else -(len(fraction) - len(fraction.lstrip("0"))) - 1
    return digits.rstrip("0") or "0", first + int(exponent or 0)


def format_json_object(entries: Mapping[str, object]) -> str:
    """An object in Go's JSON, its keys in order."""
    return f"{{{','.join(f'{format_json_text(key)}:{format_go_value(entries[key])}' for key in sorted(entries))}}}"


def format_json_text(text: str) -> str:
    """A text in Go's JSON, with its quotes."""
    shown = json.dumps(text, ensure_ascii=False)
    return shown.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
