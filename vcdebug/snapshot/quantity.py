"""Kubernetes quantities as the scheduler reads them: whole and milli-units in int64; rounding and overflow as in Go."""

import re
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

MAX_INT64 = (1 << 63) - 1
MAX_LENGTH = 1000
"""Maximum length of a quantity's text."""

_DECIMAL_SUFFIX = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIX = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SHAPE = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*)([+-]?[0-9]*)", re.ASCII)
_MAX_INT64_DIGITS = 18
_BINARY_DIGITS = 14
_NANO = 9
NANO_PER_UNIT = 10**9
_BEYOND_INT64 = 400
"""A decimal exponent from which every amount is a multiple of 2^64, or less than one nano-unit."""


class QuantityError(ValueError):
    """A text that is not a quantity."""


class _Int64Amount(Struct, frozen=True):
    """`mantissa` x 10^`scale`: Go's short form, exact in int64."""

    mantissa: int
    scale: int


class _DecimalAmount(Struct, frozen=True):
    """`unscaled` x 10^-`scale`: Go's long form, of any size."""

    unscaled: int
    scale: int


class _QuantityParts(NamedTuple):
    negative: bool
    integer: str
    fraction: str
    suffix: str
    digits: bool
    """False for a text such as `Gi`, which Go reads as 0."""


def whole_value(text: object) -> int:
    """The amount in whole units, rounded away from zero; raises QuantityError."""
    return _scaled_value(_quantity_text(text), 0)


def milli_value(text: object) -> int:
    """The amount in thousandths, rounded away from zero; raises QuantityError."""
    return _scaled_value(_quantity_text(text), 3)


def nano_value(text: object) -> int:
    """The amount in 10^-9 units, the smallest unit of a quantity, of any size; raises QuantityError."""
    amount = _parse_amount(_split_quantity(_quantity_text(text)))
    if isinstance(amount, _Int64Amount):
        return amount.mantissa * _ten_to(min(amount.scale + _NANO, _BEYOND_INT64))
    return amount.unscaled * _ten_to(_NANO - amount.scale)


def approximate_float(text: object) -> float:
    """Go's AsApproximateFloat64: mantissa and power of ten, each as a float; raises QuantityError."""
    amount = _parse_amount(_split_quantity(_quantity_text(text)))
    if isinstance(amount, _Int64Amount):
        mantissa, exponent = float(amount.mantissa), amount.scale
    else:
        mantissa, exponent = float(amount.unscaled), -amount.scale
    return mantissa if exponent == 0 else mantissa * float(f"1e{exponent}")


def go_struct_text(text: object) -> str:
    """Go's `%v` of a parsed Quantity: value and scale, the long form, the cached text, the format."""
    stated = _quantity_text(text)
    parts = _split_quantity(stated)
    amount = _parse_amount(parts)
    decimal = (
        "DecimalExponent" if parts.suffix[:1] in ("e", "E") and parts.suffix not in _DECIMAL_SUFFIX else "DecimalSI"
    )
    format_name = "BinarySI" if parts.suffix in _BINARY_SUFFIX else decimal
    if isinstance(amount, _Int64Amount):
        cached = stated if stated == "0" or _is_canonical(parts, amount.scale) else ""
        return f"{{{{{amount.mantissa} {amount.scale}}} {{<nil>}} {cached} {format_name}}}"
    return f"{{{{0 0}} {{{amount.unscaled}e-{amount.scale}}}  {format_name}}}"


def _is_canonical(parts: _QuantityParts, scale: int) -> bool:
    """Whether Go keeps the text of a parsed Quantity: that of `3`, not that of `3000m`. Upstream: k8s ParseQuantity."""
    digits = (parts.integer or "0") + parts.fraction
    if parts.suffix in _BINARY_SUFFIX:
        return int(digits) % 8 != 0  # exact: ints
    return scale % 3 == 0 and not digits.endswith("000") and not digits.startswith("0")  # exact: ints


def overflows_int64(text: object, power: int = 0) -> bool:
    """Whether the amount times 10^`power` does not fit int64, so that the scheduler reads another number."""
    negative, integer, fraction, suffix, _ = _split_quantity(_quantity_text(text))
    exponent = _decimal_exponent(suffix)
    digits = int(integer + fraction)
    if digits == 0 or negative:
        return False
    if exponent is None:
        return (digits << _BINARY_SUFFIX[suffix]) * _ten_to(power) > MAX_INT64 * _ten_to(len(fraction))
    shift = exponent + power - len(fraction)
    if shift >= 0:
        return shift >= _BEYOND_INT64 or digits * _ten_to(shift) > MAX_INT64
    return len(integer) + exponent + power > 0 and digits > MAX_INT64 * _ten_to(-shift)


def has_digits(text: object) -> bool:
    """Whether a quantity has digits; one without, such as `Gi`, is 0. Raises QuantityError."""
    return _split_quantity(_quantity_text(text)).digits


def _quantity_text(text: object) -> str:
    """A manifest's value as the text in the API; null is 0."""
    if isinstance(text, str):
        return text.strip()
    if text is None:
        return "0"
    if isinstance(text, bool) or not isinstance(text, int | float):
        raise QuantityError(f"{type(text).__name__} is not a quantity")
    return repr(text)


@lru_cache(maxsize=65536)
def _scaled_value(text: str, power: int) -> int:
    amount = _parse_amount(_split_quantity(text))
    if isinstance(amount, _Int64Amount):
        return _scale_int64(amount, power)
    return _scale_decimal(amount, power)


def _split_quantity(text: str) -> _QuantityParts:
    match = _SHAPE.fullmatch(text)
    if match is None or not text or len(text) > MAX_LENGTH:
        raise QuantityError(f"{_quote_short(text)} is not a quantity")
    sign, integer, fraction, letters, number = match.groups()
    suffix = letters + number
    if _decimal_exponent(suffix) is None and suffix not in _BINARY_SUFFIX:
        raise QuantityError(f"{_quote_short(text)} has the unknown suffix {_quote_short(suffix)}")
    digits = any(map(str.isdigit, text[: match.start(4)]))
    return _QuantityParts(sign == "-", integer or "0", fraction or "", suffix, digits)


def _quote_short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _decimal_exponent(suffix: str) -> int | None:
    """The power of ten of a decimal suffix or of an exponent; None for anything else."""
    if suffix in _DECIMAL_SUFFIX:
        return _DECIMAL_SUFFIX[suffix]
    number = suffix[1:]
    if suffix[0] not in "eE" or not number.lstrip("+-").isdigit() or len(number) > 20:
        return None
    exponent = int(number)
    if not -MAX_INT64 - 1 <= exponent <= MAX_INT64:
        return None
    # Go parses an int64 and converts it to int32, which wraps around.
    return (exponent + 2**31) % 2**32 - 2**31


def _parse_amount(parts: _QuantityParts) -> _Int64Amount | _DecimalAmount:
    """The amount in the short form if Go uses that, else in the long one; raises QuantityError without digits there."""
    amount = _short_or_long(parts)
    if not parts.digits and isinstance(amount, _DecimalAmount):
        raise QuantityError(f"{_quote_short(parts.suffix)} has no digits")
    return amount


def _short_or_long(parts: _QuantityParts) -> _Int64Amount | _DecimalAmount:
    exponent = _decimal_exponent(parts.suffix)
    digits = int(parts.integer + parts.fraction)
    sign = -1 if parts.negative else 1
    # Go takes the short form only for few digits, and the two forms round and overflow differently.
    if exponent is None:
        power = _BINARY_SUFFIX[parts.suffix]
        if not parts.fraction and len(parts.integer) <= _BINARY_DIGITS - power * 3 // 10:
            return _Int64Amount(sign * (digits << power), 0)
        return _binary_decimal(sign, (digits << power), len(parts.fraction))
    scale = exponent - len(parts.fraction)
    if len(parts.integer) + len(parts.fraction) <= _MAX_INT64_DIGITS and scale >= -_NANO:
        return _Int64Amount(sign * digits, scale)
    return _DecimalAmount(sign * _nano_units(digits, scale), _NANO)


def _binary_decimal(sign: int, digits: int, fraction_digits: int) -> _DecimalAmount:
    if digits > MAX_INT64 * _ten_to(fraction_digits):
        return _DecimalAmount(sign * MAX_INT64, 0)
    return _DecimalAmount(sign * _nano_units(digits, -fraction_digits), _NANO)


def _nano_units(digits: int, scale: int) -> int:
    """`digits` x 10^`scale` in nano-units, rounded up; an amount far beyond int64 is a multiple of 2^64."""
    shift = scale + _NANO
    if shift >= _BEYOND_INT64:
        return digits * _ten_to(_BEYOND_INT64)
    if shift >= 0:
        return digits * _ten_to(shift)
    if digits == 0:
        return 0
    return -(-digits // _ten_to(-shift)) if -shift <= len(str(digits)) else 1


def _scale_int64(amount: _Int64Amount, power: int) -> int:
    shift = amount.scale + power
    if shift < 0:
        number, divisor = amount.mantissa, _ten_to(-shift)
        return -(-number // divisor) if number > 0 else number // divisor
    # On overflow Go returns the wrapped product for these powers, and 0 for any other.
    if shift in (0, 1, 2, 3, 6, 9):
        return _wrap_int64(amount.mantissa * _ten_to(shift))
    if amount.mantissa == 0 or shift > _MAX_INT64_DIGITS:
        return 0
    scaled = amount.mantissa * _ten_to(shift)
    return scaled if scaled == _wrap_int64(scaled) else 0


def _scale_decimal(amount: _DecimalAmount, power: int) -> int:
    """The number of 10^-`power` units; a remainder adds 1, whatever the sign."""
    shift = amount.scale - power
    if shift <= 0:
        return _wrap_int64(_wrap_int64(amount.unscaled) * _ten_to(-shift))
    if amount.unscaled < 0:
        quotient, remainder = divmod(-_wrap_int64(amount.unscaled), _ten_to(shift))
        return 1 - quotient if remainder else -quotient
    quotient, remainder = divmod(amount.unscaled, _ten_to(shift))
    return _wrap_int64(quotient) + (1 if remainder else 0)


def _ten_to(exponent: int) -> int:
    return int("1" + "0" * exponent)


def _wrap_int64(number: int) -> int:
    """The low 64 bits, as a signed number."""
    return ((number + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


_DECIMAL_SUFFIXES = ("", "k", "M", "G", "T", "P", "E")
_NANO_SUFFIXES = ("n", "u", "m", *_DECIMAL_SUFFIXES)
BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def decimal_text(amount: int) -> str:
    """Whole units as Kubernetes writes them, with the largest suffix that leaves no fraction: `25`, `1k`."""
    return _shorten_amount(amount, 1000, _DECIMAL_SUFFIXES)


def binary_text(amount: int) -> str:
    """Bytes: `37Gi`, `22228329300`."""
    return _shorten_amount(amount, 1024, BINARY_SUFFIXES)


def milli_text(amount: int) -> str:
    """Milli-units: `9500m`, `25`."""
    return f"{amount}m" if amount % 1000 else decimal_text(amount // 1000)  # exact: ints


def nano_text(amount: int) -> str:
    """Billionths of a unit: `322122547200m`, `3u`."""
    return _shorten_amount(amount, 1000, _NANO_SUFFIXES) if amount else "0"


def text_like(nano: int, like: str) -> str:
    """Billionths of a unit as Go writes a sum that began with the quantity `like`: in binary units, with an exponent,
    or with a decimal suffix; in decimal units also where binary ones cannot say it exactly, or below 1024.
    Raises QuantityError for a `like` that is no quantity.

    Upstream: apimachinery resource.Quantity.CanonicalizeBytes.
    """
    suffix = _split_quantity(like).suffix
    units, fraction = divmod(nano, NANO_PER_UNIT)  # exact: ints
    if suffix in BINARY_SUFFIXES[1:] and not fraction and abs(units) >= 1024:
        return binary_text(units)
    text = nano_text(nano)
    if suffix in _DECIMAL_SUFFIX or suffix in BINARY_SUFFIXES:
        return text
    number = text.rstrip("".join(_NANO_SUFFIXES))
    power = _DECIMAL_SUFFIX[text.removeprefix(number)]
    return f"{number}e{power}" if power else number


def _shorten_amount(amount: int, step: int, suffixes: tuple[str, ...]) -> str:
    index = 0
    while amount and amount % step == 0 and index + 1 < len(suffixes):
        amount //= step  # exact: ints
        index += 1
    return f"{amount}{suffixes[index]}"
