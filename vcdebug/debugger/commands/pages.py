"""Commands that open something."""

from __future__ import annotations

from typing import Final

from vcdebug.debugger.commands.base import CommandError, Reply, Verb, opens
from vcdebug.debugger.driver import Driver


def _log(_: Driver, argument: str) -> Reply:
    if argument not in ("", "3", "4", "5"):
        raise CommandError(f"{argument!r} is no level of the log", hint="3, 4 or 5")
    return Reply(show="log", argument=argument)


VERBS: Final = (
    Verb(("filter", "/"), "TEXT", "filter the table that has the focus", opens("filter")),
    Verb(
        ("explain", "e"),
        "[JOB]",
        "why a job waits; without one, the present job, else all that wait",
        opens("explain"),
    ),
    Verb(
        ("prove",),
        "[JOB]",
        "what would let a job in: changes that are carried out, each replayed; Enter makes one",
        opens("prove"),
    ),
    Verb(
        ("ask",),
        "[QUESTION [SUBJECT]]",
        "other questions: evicted, holders, node, victim, next, when; without one, those about what the cursor is on",
        opens("ask"),
    ),
    Verb(("overview",), "", "what the cycle came to, on one page; Enter goes into a line", opens("overview")),
    Verb(("waiting",), "", "every job that waits, with its cause", opens("waiting")),
    Verb(("log",), "[3 | 4 | 5]", "what the real scheduler would print, at a -v level", _log),
    Verb(("panel",), "[NAME]", "go to a panel; without a name, the list of all", opens("panel")),
    Verb(("theme",), "NAME", "what the screen looks like: dark, light, ansi, ansi-light", opens("theme")),
    Verb(("open", "o"), "[SNAPSHOT]", "open another snapshot", opens("open")),
    Verb(("help", "h", "?"), "", "keys and commands", opens("help")),
    Verb(("quit", "q", "exit"), "", "leave", opens("quit")),
)
