"""A question to the whole recording, without stopping anywhere."""

from __future__ import annotations

from typing import Final

from vcdebug.debugger.breakpoint import parse_breakpoint
from vcdebug.debugger.breakpoints import KINDS
from vcdebug.debugger.commands.base import CommandError, Reply, Verb
from vcdebug.debugger.driver import Driver
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording


def found(recording: Recording, line: str) -> list[Seq]:
    """Every event at which such a breakpoint would stop."""
    return list(parse_breakpoint(line, 0).hits(recording))


def _find(driver: Driver, argument: str) -> Reply:
    if not argument:
        raise CommandError("say what to find", hint=f"KIND [if CONDITION]; kinds are {', '.join(KINDS)}")
    parse_breakpoint(argument, 0)
    return Reply(show="find", argument=argument)


VERBS: Final = (
    Verb(
        ("find", "query"), "KIND [if CONDITION]", "every event that such a breakpoint would stop at, as a list", _find
    ),
)
