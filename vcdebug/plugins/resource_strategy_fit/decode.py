"""Arguments decoded by structure: a value of the wrong kind ends the scheduler's process.

Upstream: framework/arguments (Get), mapstructure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from vcdebug.framework.arguments import Arguments
from vcdebug.gomath import trunc_int64
from vcdebug.model.panics import SchedulerPanic

T = TypeVar("T")
DecodeFunction = Callable[[object], T]

FATAL = "Could not parse argument for key {key} to type {kind}: {error}"


class DecodeError(Exception):
    """A value of another kind than its field."""


def decode_argument(arguments: Arguments, key: str, kind: str, decode: DecodeFunction[T]) -> T | None:
    """The decoded argument, or None when it is absent."""
    if key not in arguments.raw:
        return None
    try:
        return decode(arguments.raw[key])
    except DecodeError as error:
        raise SchedulerPanic(FATAL.format(key=key, kind=kind, error=error)) from error


def decode_int(value: object) -> int:
    """An int; a float is cut, null is 0."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _type_error("int", value)
    return trunc_int64(value) if isinstance(value, float) else value


def decode_float(value: object) -> float:
    """A float or an int, null is 0."""
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _type_error("float64", value)
    return float(value)


def decode_text(value: object) -> str:
    """A string, null is empty."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _type_error("string", value)
    return value


def decode_bool(value: object) -> bool:
    """A boolean, null is false."""
    if value is None:
        return False
    if not isinstance(value, bool):
        raise _type_error("bool", value)
    return value


def decode_table(value: object, entry: DecodeFunction[T]) -> dict[str, T]:
    """A map with string keys; null is empty."""
    return {decode_text(key): entry(item) for key, item in _require_mapping(value).items()}


class FieldReader:
    """A map read as a structure: a field's name matches in any case, the exact one first."""

    def __init__(self, value: object) -> None:
        self._raw = _require_mapping(value)

    def get_field(self, name: str) -> object:
        """The field's value, None when it is absent."""
        if name in self._raw:
            return self._raw[name]
        alike = sorted(key for key in self._raw if isinstance(key, str) and key.lower() == name.lower())
        return self._raw[alike[0]] if alike else None


def _require_mapping(value: object) -> Mapping[object, object]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DecodeError(f"expected a map, got {_go_kind(value)!r}")
    return value


def _type_error(kind: str, value: object) -> DecodeError:
    return DecodeError(f"expected type {kind!r}, got unconvertible type {_go_kind(value)!r}, value: {str(value)!r}")


def _go_kind(value: object) -> str:
    names = {"str": "string", "float": "float64", "list": "slice", "dict": "map"}
    return names.get(type(value).__name__, type(value).__name__)
