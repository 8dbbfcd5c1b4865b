"""The errors vcdebug raises on purpose; exit codes are decided in `cli/main.py`."""

from __future__ import annotations


class VcdebugError(Exception):
    """Something a person can act on: what is wrong, where, and what to do about it."""

    def __init__(self, message: str, hint: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def format_line(self) -> str:
        """The error in one line: where, what, hint."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return " ".join((f"{text}; {self.hint}" if self.hint else text).split())

    def __str__(self) -> str:
        return self.format_line()


class SnapshotError(VcdebugError):
    """A snapshot from which nothing can be replayed."""


class ConfigError(VcdebugError):
    """A scheduler configuration that the real scheduler would refuse."""


class CaptureError(VcdebugError):
    """A cluster that cannot be read: no connection, no permission, no such API group."""


class UnsupportedError(VcdebugError):
    """Something the real scheduler does and the replay does not."""


class EngineError(VcdebugError):
    """A fault of the replay itself; names the event, the hook and the plugin."""
