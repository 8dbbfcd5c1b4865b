"""What panels and workers tell the screen: one message per intent."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from vcdebug.debugger.commands import Reply
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording


@dataclass
class Goto(Message):
    """Stand at another event."""

    seq: Seq


@dataclass
class Command(Message):
    """Run a command, or put it into the line to be changed first."""

    text: str
    to_edit: bool = False


@dataclass
class CycleReady(Message):
    """The replay has run to its end."""

    recording: Recording


@dataclass
class CycleFailed(Message):
    """There is nothing to show: one line says why."""

    line: str


@dataclass
class Progress(Message):
    """How far loading is."""

    text: str


@dataclass
class WorkDone(Message):
    """A command's long work has ended: with its reply, or with one line of error."""

    reply: Reply | None
    error: str = ""
    ticket: int = 0
    """Which work it was: what somebody has stopped waiting for is not shown."""
