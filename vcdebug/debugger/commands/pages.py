"""Commands that open something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from vcdebug.debugger.commands.base import CommandError, Reply, Verb
from vcdebug.debugger.driver import Driver


def _opens(what: str) -> Callable[[Driver, str], Reply]:
    def run(_: Driver, argument: str) -> Reply:
        return Reply(show=what, argument=argument)

    return run


def _log(_: Driver, argument: str) -> Reply:
    if argument not in ("", "3", "4", "5"):
        raise CommandError(f"{argument!r} is no level of the log", hint="3, 4 or 5")
    return Reply(show="log", argument=argument)


VERBS: Final = (
    Verb(("filter", "/"), "TEXT", "filter the table that has the focus", _opens("filter")),
    Verb(
        ("explain", "e"),
        "[JOB]",
        "why a job waits; without one, the present job, else all that wait",
        _opens("explain"),
    ),
    Verb(
        ("prove",),
        "[JOB]",
        "what would let a job in: changes that are carried out, each replayed; Enter makes one",
        _opens("prove"),
    ),
    Verb(
        ("ask",),
        "[QUESTION [SUBJECT]]",
        "other questions: evicted, holders, node, victim, next, when; without one, those about what the cursor is on",
        _opens("ask"),
    ),
    Verb(("overview",), "", "what the cycle came to, on one page; Enter goes into a line", _opens("overview")),
    Verb(("waiting",), "", "every job that waits, with its cause", _opens("waiting")),
    Verb(("log",), "[3 | 4 | 5]", "what the real scheduler would print, at a -v level", _log),
    Verb(("panel",), "[NAME]", "go to a panel; without a name, the list of all", _opens("panel")),
    Verb(("theme",), "NAME", "what the screen looks like: dark, light, ansi, ansi-light", _opens("theme")),
    Verb(("open", "o"), "[SNAPSHOT]", "open another snapshot", _opens("open")),
    Verb(("help", "h", "?"), "", "keys and commands", _opens("help")),
    Verb(("quit", "q", "exit"), "", "leave", _opens("quit")),
)
