"""Amounts as Kubernetes writes them: the largest suffix that leaves no fraction."""

from __future__ import annotations

_DECIMAL_SUFFIXES = ("", "k", "M", "G", "T", "P", "E")
_NANO_SUFFIXES = ("n", "u", "m", *_DECIMAL_SUFFIXES)
BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def decimal_text(amount: int) -> str:
    """Whole units: `25`, `1k`."""
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


def _shorten_amount(amount: int, step: int, suffixes: tuple[str, ...]) -> str:
    index = 0
    while amount and amount % step == 0 and index + 1 < len(suffixes):
        amount //= step  # exact: ints
        index += 1
    return f"{amount}{suffixes[index]}"
