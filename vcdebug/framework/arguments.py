"""Typed access to a plugin's or action's untyped arguments. Upstream: framework/arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from vcdebug.errors import SchedulerPanic, blame_objects
from vcdebug.model.resource import CPU, MEMORY
from vcdebug.releases.change import Change
from vcdebug.releases.release import Release
from vcdebug.releases.scheduling import GETBOOL_STRINGS
from vcdebug.snapshot.settings import parse_bool

Read = TypeVar("Read")

AS_TEXT = "text, in quotes"


def wrong_argument(message: str, key: str, form: str) -> SchedulerPanic:
    """The panic of a plugin over an argument of another type than its own, which `form` describes."""
    return blame_objects(SchedulerPanic(message), (), f"write argument {key} as {form}")


def _float_or_none(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _int_or_none(value: object) -> int | None:
    # Python's bool is an int; Go's is not.
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class TrackedMapping(Mapping[object, object]):
    """A mapping that remembers which of its keys were read."""

    def __init__(self, values: Mapping[object, object]) -> None:
        self._values = values
        self._read_keys: dict[object, None] = {}

    def __getitem__(self, key: object) -> object:
        self._read_keys[key] = None
        return self._values[key]

    def __contains__(self, key: object) -> bool:
        self._read_keys[key] = None
        return key in self._values

    def __iter__(self) -> Iterator[object]:
        self._read_keys.update(dict.fromkeys(self._values))
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def unread_keys(self) -> list[object]:
        """Keys that were never read."""
        return [key for key in self._values if key not in self._read_keys]


class Arguments:
    """The arguments of a plugin or action from YAML; a value of the wrong type is replaced by the default."""

    def __init__(self, raw: Mapping[object, object] | None = None, *, quoted: bool = True) -> None:
        """`quoted`: whether a quoted string such as "true" counts as a boolean."""
        self.raw = TrackedMapping(raw or {})
        self.defaults: dict[str, object] = {}
        """Default values of the keys that were looked up and are not in the configuration."""
        self.replaced_defaults: dict[str, object] = {}
        """Default values of the keys whose configured value was rejected."""
        self.sections: dict[str, Arguments] = {}
        """The maps among the values that were looked up."""
        self._quoted = quoted

    def _read_value(self, key: str, default: Read, read: Callable[[object], Read | None]) -> Read:
        """What `read` makes of the key's value; the default where the map has none, or one that cannot be read (None).

        Either kind of default is noted.
        """
        if key not in self.raw:
            self.defaults[key] = default
            return default
        value = read(self.raw[key])
        if value is None:
            value = self.replaced_defaults[key] = default
        return value

    def get_section(self, key: str) -> Arguments:
        """The key's map as arguments, empty if it is none or has a key that is no string.

        Upstream: plugins/usage.getUsageSectionArgs.
        """
        raw = self.raw.get(key)
        is_valid = isinstance(raw, Mapping) and all(isinstance(name, str) for name in raw)
        section = self.sections[key] = Arguments(raw if isinstance(raw, Mapping) and is_valid else None)
        return section

    def get_int(self, key: str, default: int) -> int:
        """The key's YAML integer; the default for floats and strings. Upstream: framework/arguments.GetInt."""
        return self._read_value(key, default, _int_or_none)

    def get_weight(self, key: str) -> int:
        """The key's integer, 1 by default; a negative one is replaced by 1."""
        weight = self.get_int(key, 1)
        if weight < 0:
            weight = self.replaced_defaults[key] = 1
        return weight

    def get_resource_weights(self, prefix: str, names: str) -> dict[str, int]:
        """Weight by resource of a comma-separated list; cpu and memory always come from their own keys."""
        listed = [name for part in names.split(",") if (name := part.strip())]
        weights = {name: self.get_weight(f"{prefix}.resources.{name}") for name in listed}
        return weights | {name: self.get_weight(f"{prefix}.{name}") for name in (CPU, MEMORY)}

    def get_float64(self, key: str, default: float) -> float:
        """The key's YAML float or integer, else the default. Upstream: framework/arguments.GetFloat64."""
        return self._read_value(key, default, _float_or_none)

    def get_bool(self, key: str, *, default: bool) -> bool:
        """The key's YAML boolean, or a string that Go's ParseBool accepts. Upstream: framework/arguments.GetBool."""

        def read_bool(value: object) -> bool | None:
            if isinstance(value, bool):
                return value
            return parse_bool(value) if self._quoted and isinstance(value, str) else None

        return self._read_value(key, default, read_bool)

    def get_string(self, key: str, default: str) -> str:
        """The key's YAML string; the default for a bare number. Upstream: framework/arguments.GetString."""
        return self._read_value(key, default, lambda value: value if isinstance(value, str) else None)


def release_arguments(
    release: Release, raw: Mapping[object, object] | None, later: Mapping[str, Change] | None = None
) -> Arguments:
    """The arguments that a release reads: `later` names keys and the changes that introduced them."""
    absent = [key for key, change in (later or {}).items() if release.has_older_form(change)]
    arguments = {key: value for key, value in (raw or {}).items() if key not in absent} if absent else raw
    return Arguments(arguments, quoted=not release.has_older_form(GETBOOL_STRINGS))
