"""Panics of the real scheduler, by what still runs after one."""

from __future__ import annotations

from vcdebug.errors import VcdebugError

NIL_POINTER = "runtime error: invalid memory address or nil pointer dereference"
"""What Go says where a pointer leads nowhere."""
Objects = tuple[tuple[str, str], ...]
"""(kind, name) of each, as `("Queue", "a")`."""


class ProcessEnd(VcdebugError):
    """What ends the scheduler's process."""

    def __init__(self, message: str, objects: Objects = (), change: str = "") -> None:
        """`objects` are those to blame, where the raise knows them, and `change` is what to do about them."""
        super().__init__(message)
        self.objects = objects
        self.change = change


class SchedulerPanic(ProcessEnd):
    """A panic on the goroutine of the cycle: what is deferred still runs, the session's close among it."""


class EndsAtOnce(ProcessEnd):
    """A panic beside the goroutine of the cycle, or for want of stack: nothing that is deferred runs any more."""


PANICS = (SchedulerPanic, EndsAtOnce)
