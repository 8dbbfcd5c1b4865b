"""Messages of panels and workers to the main screen."""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec import Struct
from textual.message import Message

from vcdebug.debugger.commands import CommandReply
from vcdebug.debugger.driver import DebuggerState
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.views.table import Table


@dataclass(eq=False, repr=False)
class GotoRequested(Message):
    """Go to an event."""

    seq: Seq


@dataclass(eq=False, repr=False)
class CommandRequested(Message):
    """Run a command, or open the command line with it."""

    text: str
    to_edit: bool = False


@dataclass(eq=False, repr=False)
class CycleReady(Message):
    """The recording is ready."""

    recording: Recording


@dataclass(eq=False, repr=False)
class CycleFailed(Message):
    """Loading or replaying failed."""

    line: str


@dataclass(eq=False, repr=False)
class Progress(Message):
    """The progress of loading."""

    text: str


@dataclass(eq=False, repr=False)
class WorkDone(Message):
    """A command's long work has ended with a reply or an error."""

    reply: CommandReply | None
    error: str = ""
    work_number: int = 0
    """The number of the work; results of stopped work are not shown."""


@dataclass(eq=False, repr=False)
class PanelRerunNeeded(Message):
    """A panel needs a rerun of the cycle, or other long work."""

    panel: str
    state: DebuggerState
    work: str
    """The work in words."""
    make_table: Callable[[], Table]
    """Does the work and builds the table."""


@dataclass(eq=False, repr=False)
class PanelDrawn(Message):
    """The table of a rerun."""

    rerun: PanelRerunNeeded
    table: Table


class TypedCommand(Struct, frozen=True):
    """The result of a screen that closes for a command typed there."""

    text: str
