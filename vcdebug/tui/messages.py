"""What panels and workers tell the screen: one message per intent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message

from vcdebug.debugger.commands import CommandReply
from vcdebug.debugger.driver import DebuggerState
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.views.table import Table


@dataclass
class GotoRequested(Message):
    """Stand at another event."""

    seq: Seq


@dataclass
class CommandRequested(Message):
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

    reply: CommandReply | None
    error: str = ""
    ticket: int = 0
    """Which work it was: what somebody has stopped waiting for is not shown."""


@dataclass(eq=False)
class PanelRerunNeeded(Message):
    """A panel cannot be drawn before the cycle has run again up to an event."""

    panel: str
    moment: DebuggerState
    seq: Seq
    view: Callable[[], Table]
    """Runs the cycle and draws it."""


@dataclass(eq=False)
class PanelDrawn(Message):
    """What came of that."""

    asked: PanelRerunNeeded
    table: Table
