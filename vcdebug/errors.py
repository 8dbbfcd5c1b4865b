"""The errors that vcdebug raises on purpose; `cli/main.py` decides the exit codes."""

from collections.abc import Iterable
from typing import TypeVar


class VcdebugError(Exception):
    """An error that a user can fix: the fault, its place, and a hint."""

    def __init__(self, message: str, hint: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def format_line(self) -> str:
        """The error in one line: place, fault, hint."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return " ".join((f"{text}; {self.hint}" if self.hint else text).split())

    def __str__(self) -> str:
        return self.format_line()


def closest_name_hint(word: str, names: Iterable[str], otherwise: str = "") -> str:
    """A hint with the closest of the names; `otherwise` if none is close."""
    close = closest_name(word, names)
    return f"did you mean {close}?" if close else otherwise


def closest_name(word: str, names: Iterable[str], near: float = 0.6) -> str:
    """The name that is most like the word; empty where none is near enough (0 to 1)."""
    return next(iter(closest_names(word, names, 1, near)), "")


def closest_names(word: str, names: Iterable[str], most: int, near: float = 0.6) -> list[str]:
    """The names that are most like the word."""
    from difflib import get_close_matches  # slow to import, and needed only for a misspelt name

    return get_close_matches(word, list(names), most, near)


class SnapshotError(VcdebugError):
    """Raised for a snapshot that cannot be replayed."""


class ConfigError(VcdebugError):
    """Raised for a scheduler configuration that the real scheduler rejects."""


class UnknownActionError(ConfigError):
    """Raised for a configuration with an action that the release does not have."""

    def __init__(self, action: str) -> None:
        super().__init__(f"failed to find Action {action}", where="actions")
        self.action = action


class CaptureError(VcdebugError):
    """Raised if a cluster cannot be read: no connection, no permission, no such API group."""


class UnsupportedError(VcdebugError):
    """Raised for a feature of the real scheduler that is not replayed."""


def missing_extra(extra: str, need: str = "") -> UnsupportedError:
    """The error of a part that needs packages of an extra; vcdebug is in no index, so only its clone names them."""
    message = f"the extra {extra} is not installed" + (f"; {need} needs it" if need else "")
    return UnsupportedError(message, f"run in vcdebug's clone: pip install '.[{extra}]'")


class EngineError(VcdebugError):
    """Raised for a fault of the replay itself; names the event, the hook and the plugin."""


# Panics of the real scheduler.

NIL_POINTER_TEXT = "runtime error: invalid memory address or nil pointer dereference"
"""Go's error text for a nil pointer."""
Objects = tuple[tuple[str, str], ...]
"""(kind, name) of objects, e.g. `("Queue", "a")`."""


class SchedulerPanic(VcdebugError):
    """A panic in the goroutine of the cycle: deferred functions still run, including the session's close."""

    objects: Objects = ()
    change: str = ""


class ProcessExit(VcdebugError):
    """A panic in another goroutine, or a stack overflow: the process ends without running deferred functions."""

    objects: Objects = ()
    change: str = ""


Panic = TypeVar("Panic", SchedulerPanic, ProcessExit)
PANICS = (SchedulerPanic, ProcessExit)


def blame_objects(panic: Panic, objects: Objects, change: str = "") -> Panic:
    """Attach to a panic the objects that cause it and the change that avoids it; returns the panic."""
    panic.objects, panic.change = objects, change
    return panic
