"""Arithmetic as in Go: truncating division, rounding half away from zero, sums from left to right."""

import math
import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MAX_INT64 = 2**63 - 1
MIN_INT64 = -(2**63)
MAX_FLOAT64 = 1.7976931348623157e308
DECIMAL_INTEGER = re.compile(r"[+-]?[0-9]+")
"""Text that Go's strconv.Atoi parses, if the number is in range."""
SHORT_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
"""DECIMAL_INTEGER of so few digits that an int64 holds it."""


def int_div(a: int, b: int) -> int:
    """Go's `a / b` of integers: truncated toward zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


def int_mod(a: int, b: int) -> int:
    """Go's `a % b`: the remainder has the sign of `a`."""
    return a - b * int_div(a, b)


def wrap_int64(value: int) -> int:
    """The low 64 bits of `value` as a signed integer: what an overflowing int64 holds."""
    return (value + 2**63) % 2**64 - 2**63


def trunc_int64(value: float) -> int:
    """Go's `int64(f)` on amd64: toward zero; NaN and values out of range become the smallest int64."""
    if math.isnan(value) or not -9.223372036854775808e18 <= value < 9.223372036854775808e18:
        return MIN_INT64
    return int(value)


def int_power(base: float, exponent: int) -> float:
    """Go's `math.Pow` for an integer exponent, by squaring the mantissa: a C library may round differently."""
    if exponent == 0 or base == 1:
        return 1.0
    if exponent == 1 or not math.isfinite(base):
        return base if exponent > 0 or math.isnan(base) else 0.0
    if base == 0:
        return 0.0 if exponent > 0 else math.inf
    # The steps of Go's pow: another order of multiplications rounds differently.
    result, scale = 1.0, 0
    mantissa, binary = math.frexp(base)
    remaining = abs(exponent)
    while remaining and abs(binary) <= 1 << 12:
        if remaining & 1:
            result, scale = result * mantissa, scale + binary
        mantissa, binary = mantissa * mantissa, binary << 1
        if abs(mantissa) < 0.5:
            mantissa, binary = mantissa + mantissa, binary - 1
        remaining >>= 1
    scale += binary if remaining else 0
    if exponent < 0:
        result, scale = 1 / result, -scale
    return _ldexp_or_inf(result, scale)


def _ldexp_or_inf(mantissa: float, exponent: int) -> float:
    try:
        return math.ldexp(mantissa, exponent)
    except OverflowError:
        return math.copysign(math.inf, mantissa)


def ordered_sum(values: Iterable[float]) -> float:
    """The sum of floats, added from left to right, starting from 0."""
    total = 0.0
    for value in values:
        total = total + value
    return total


def div_rows(a: IntArray, b: IntArray | int) -> IntArray:
    """int_div for every row; 0 for rows where `b` is 0."""
    b = np.asarray(b, dtype=np.int64)
    # For non-negative operands, numpy's floor division equals Go's truncation and is much faster.
    if a.size and a.min() >= 0 and b.min() > 0:
        return a // b
    safe = np.where(b == 0, 1, b)
    quotient = np.abs(a) // np.abs(safe)
    signed = np.where((a >= 0) == (safe >= 0), quotient, -quotient)
    return np.where(b == 0, 0, signed).astype(np.int64)


def weighted_rows(values: IntArray, weight: float) -> FloatArray:
    """The integers as floats, times the weight."""
    return np.asarray(values * weight, dtype=np.float64)


def trunc_rows(values: FloatArray) -> IntArray:
    """Truncate every row toward zero; the values must be finite and small."""
    return np.trunc(values).astype(np.int64)


def round_half_away_rows(values: FloatArray) -> IntArray:
    """Go's `math.Round` for every row as integers: halves go away from zero; the values must be finite and small."""
    truncated = np.trunc(values)
    step = np.where(np.abs(values - truncated) >= 0.5, np.copysign(1.0, values), 0.0)
    return (truncated + step).astype(np.int64)
