"""What a command is, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from vcdebug.debugger.driver import DebuggerState, Driver
from vcdebug.errors import VcdebugError


class CommandError(VcdebugError):
    """A line that is no command."""


@dataclass(frozen=True, slots=True)
class CommandReply:
    """What a command came to: a new moment, words for the status line, something to open, or work to be done first."""

    moment: DebuggerState | None = None
    text: str = ""
    show: str = ""
    """What the front end shows: help, explain, panel, log, filter, open, quit."""
    argument: str = ""
    """Of what is opened: a job, a panel's name, a level, a snapshot."""
    work: Callable[[], CommandReply] | None = None
    """Gives the reply proper after a cycle or more; a screen does it away from the keys and shows `text` meanwhile."""
    then: Callable[[], CommandReply] | None = None
    """What work ends with: it puts its result in place, and is called where commands run, never beside one."""


class Verb(NamedTuple):
    """One command."""

    names: tuple[str, ...]
    usage: str
    help: str
    run: Callable[[Driver, str], CommandReply]


def open_command(what: str) -> Callable[[Driver, str], CommandReply]:
    """A command that only has the front end show something."""

    def open_view(_: Driver, argument: str) -> CommandReply:
        return CommandReply(show=what, argument=argument)

    return open_view


def parse_number(argument: str, what: str) -> int:
    """A whole number, or an error that says which one is missing."""
    if not argument.isdigit():
        raise CommandError(f"{argument!r} is no {what}")
    return int(argument)
