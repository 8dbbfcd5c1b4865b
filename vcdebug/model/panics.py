"""Panics that end the process there and then."""

from __future__ import annotations

from vcdebug.errors import VcdebugError


class EndsAtOnce(VcdebugError):
    """A panic beside the goroutine of the cycle, or for want of stack: nothing that is deferred runs any more."""
