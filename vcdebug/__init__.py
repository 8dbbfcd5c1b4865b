"""vcdebug: an omniscient debugger for the scheduling cycles of Volcano."""

from importlib import import_module

__version__ = "0.2.0"


def __getattr__(name: str) -> object:
    """The Python API (`__init__.pyi`), imported when it is first used, so that commands do not wait for it."""
    if name not in ("ReplayedCycle", "replay"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module("vcdebug.api"), name)
    return value
