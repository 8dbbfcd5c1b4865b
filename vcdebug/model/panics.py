"""Panics of the real scheduler, by what still runs after one."""

from __future__ import annotations

from typing import TypeVar

from vcdebug.errors import VcdebugError

NIL_POINTER_TEXT = "runtime error: invalid memory address or nil pointer dereference"
"""What Go says where a pointer leads nowhere."""
Objects = tuple[tuple[str, str], ...]
"""(kind, name) of each, as `("Queue", "a")`."""


class SchedulerPanic(VcdebugError):
    """A panic on the goroutine of the cycle: what is deferred still runs, the session's close among it."""

    objects: Objects = ()
    change: str = ""


class ProcessExit(VcdebugError):
    """A panic beside the goroutine of the cycle, or for want of stack: nothing that is deferred runs any more."""

    objects: Objects = ()
    change: str = ""


Panic = TypeVar("Panic", SchedulerPanic, ProcessExit)
PANICS = (SchedulerPanic, ProcessExit)


def blame_objects(panic: Panic, objects: Objects, change: str = "") -> Panic:
    """The panic, with the objects that a person should look at, and what to change about them."""
    panic.objects, panic.change = objects, change
    return panic
