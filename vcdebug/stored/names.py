"""Classes, functions and members of enumerations by name: what a stored recording may name, and nothing else.

A recording may come from anywhere. It can name what the rooms of the engine define, which neither read nor write
anything, and a few of Python's own types.
"""

from __future__ import annotations

import sys
from enum import Enum
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any, Final

from vcdebug.stored.form import DamagedRecordingError, UnstorableError

NAMEABLE_ROOMS: Final = (
    "releases",
    "snapshot",
    "model",
    "kube",
    "framework",
    "plugins",
    "actions",
    "trace",
    "explain",
    "causes",
)
"""Rooms whose classes may be named."""
CALLABLE_ROOMS: Final = ("model", "kube", "framework", "plugins", "trace")
"""Rooms whose functions may be named: the others read files."""
BUILT_IN_TYPES: Final[dict[str, type]] = {
    kind.__name__: kind for kind in (float, int, str, bool, object, dict, list, tuple)
}
NamedThing = Any  # Any: a class, a function, or a member of an enumeration


def stored_name(thing: NamedThing) -> str:
    """How a stored recording names it; raises UnstorableError for what has no name."""
    if isinstance(thing, Enum):
        return f"{stored_name(type(thing))}:{thing.name}"
    if thing in BUILT_IN_TYPES.values():
        return f"builtins:{thing.__name__}"
    name = f"{thing.__module__}:{thing.__qualname__}"
    try:
        same = object_named(name) is thing
    except DamagedRecordingError as error:
        raise UnstorableError(f"{thing!r}: {error}") from error
    if not same:
        raise UnstorableError(f"{thing!r} is not what {name} names")
    return name


@cache
def object_named(name: str) -> NamedThing:
    """What the program has under the name; raises DamagedError for anything that a recording has no business with."""
    module, _, path = name.partition(":")
    if module == "builtins":
        return _built_in_type(path)
    room = module.split(".")[1] if module.startswith("vcdebug.") else ""
    if room not in NAMEABLE_ROOMS:
        raise DamagedRecordingError(f"{name} is no part of a recording")
    qualname, _, member = path.partition(":")
    found = _find_in_module(module, qualname)
    if getattr(found, "__module__", None) != module or getattr(found, "__qualname__", None) != qualname:
        raise DamagedRecordingError(f"{name} is defined elsewhere")
    if isinstance(found, FunctionType) and found.__name__ == qualname and room in CALLABLE_ROOMS:
        return found
    if not isinstance(found, type):
        raise DamagedRecordingError(f"{name} is no class")
    if member:
        return _enum_member(found, member)
    return found


def _built_in_type(path: str) -> type:
    if path not in BUILT_IN_TYPES:
        raise DamagedRecordingError(f"{path} is no part of a recording")
    return BUILT_IN_TYPES[path]


def _find_in_module(module: str, qualname: str) -> NamedThing:
    try:
        found: NamedThing = sys.modules.get(module) or import_module(module)
        for part in qualname.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise DamagedRecordingError(f"{module} has no {qualname}") from error
    return found


def _enum_member(kind: type, name: str) -> Enum:
    if not issubclass(kind, Enum) or name not in kind.__members__:
        raise DamagedRecordingError(f"{kind.__name__} has no {name}")
    return kind.__members__[name]
