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

from vcdebug.stored.form import DamagedError, UnstorableError

ROOMS: Final = (
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
CALLABLE: Final = ("model", "kube", "framework", "plugins", "trace")
"""Rooms whose functions may be named: the others read files."""
BUILT_IN: Final[dict[str, type]] = {kind.__name__: kind for kind in (float, int, str, bool, object, dict, list, tuple)}
Named = Any  # Any: a class, a function, or a member of an enumeration


def name_of(thing: Named) -> str:
    """How a stored recording names it; raises UnstorableError for what has no name."""
    if isinstance(thing, Enum):
        return f"{name_of(type(thing))}:{thing.name}"
    if thing in BUILT_IN.values():
        return f"builtins:{thing.__name__}"
    name = f"{thing.__module__}:{thing.__qualname__}"
    try:
        same = named(name) is thing
    except DamagedError as error:
        raise UnstorableError(f"{thing!r}: {error}") from error
    if not same:
        raise UnstorableError(f"{thing!r} is not what {name} names")
    return name


@cache
def named(name: str) -> Named:
    """What the program has under the name; raises DamagedError for anything that a recording has no business with."""
    module, _, path = name.partition(":")
    if module == "builtins":
        return _built_in(path)
    room = module.split(".")[1] if module.startswith("vcdebug.") else ""
    if room not in ROOMS:
        raise DamagedError(f"{name} is no part of a recording")
    qualname, _, member = path.partition(":")
    found = _found(module, qualname)
    if getattr(found, "__module__", None) != module or getattr(found, "__qualname__", None) != qualname:
        raise DamagedError(f"{name} is defined elsewhere")
    if isinstance(found, FunctionType) and found.__name__ == qualname and room in CALLABLE:
        return found
    if not isinstance(found, type):
        raise DamagedError(f"{name} is no class")
    if member:
        return _member(found, member)
    return found


def _built_in(path: str) -> type:
    if path not in BUILT_IN:
        raise DamagedError(f"{path} is no part of a recording")
    return BUILT_IN[path]


def _found(module: str, qualname: str) -> Named:
    try:
        found: Named = sys.modules.get(module) or import_module(module)
        for part in qualname.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise DamagedError(f"{module} has no {qualname}") from error
    return found


def _member(kind: type, name: str) -> Enum:
    if not issubclass(kind, Enum) or name not in kind.__members__:
        raise DamagedError(f"{kind.__name__} has no {name}")
    return kind.__members__[name]
