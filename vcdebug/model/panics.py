"""Panics of the real scheduler, by what still runs after one."""

from __future__ import annotations

from vcdebug.errors import VcdebugError

NIL_POINTER = "runtime error: invalid memory address or nil pointer dereference"
"""What Go says where a pointer leads nowhere."""


class SchedulerPanic(VcdebugError):
    """A panic on the goroutine of the cycle: what is deferred still runs, the session's close among it."""


class EndsAtOnce(VcdebugError):
    """A panic beside the goroutine of the cycle, or for want of stack: nothing that is deferred runs any more."""


PANICS = (SchedulerPanic, EndsAtOnce)
