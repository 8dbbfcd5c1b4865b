"""Amounts as Kubernetes writes them: the largest suffix that leaves no fraction."""

from __future__ import annotations

_DECIMAL = ("", "k", "M", "G", "T", "P", "E")
_NANO = ("n", "u", "m", *_DECIMAL)
BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def decimal_text(amount: int) -> str:
    """Whole units: `25`, `1k`."""
    return _shortened(amount, 1000, _DECIMAL)


def binary_text(amount: int) -> str:
    """Bytes: `37Gi`, `22228329300`."""
    return _shortened(amount, 1024, BINARY)


def milli_text(amount: int) -> str:
    """Milli-units: `9500m`, `25`."""
    return f"{amount}m" if amount % 1000 else decimal_text(amount // 1000)  # exact: ints


def nano_text(amount: int) -> str:
    """Billionths of a unit: `322122547200m`, `3u`."""
    return _shortened(amount, 1000, _NANO) if amount else "0"


def _shortened(amount: int, step: int, suffixes: tuple[str, ...]) -> str:
    index = 0
    while amount and amount % step == 0 and index + 1 < len(suffixes):
        amount //= step  # exact: ints
        index += 1
    return f"{amount}{suffixes[index]}"
