"""Commands that open a page."""

from __future__ import annotations

from typing import Final

from vcdebug.debugger.driver import CommandError, CommandReply, Driver, Verb, open_command


def _show_log(_: Driver, argument: str) -> CommandReply:
    if argument not in ("", "3", "4", "5"):
        raise CommandError(f"{argument!r} is no level of the log", hint="3, 4 or 5")
    return CommandReply(show="log", argument=argument)


VERBS: Final = (
    Verb(("filter", "/"), "TEXT", "filter the table that has the focus", open_command("filter")),
    Verb(
        ("explain", "e"),
        "[JOB]",
        "why a job waits; without one, the present job, else all that wait",
        open_command("explain"),
    ),
    Verb(
        ("prove",),
        "[JOB]",
        "what would let a job in: changes that are carried out, each replayed; Enter makes one",
        open_command("prove"),
    ),
    Verb(
        ("ask",),
        "[QUESTION [SUBJECT]]",
        "other questions: evicted, holders, node, victim, next, when; without one, those about what the cursor is on",
        open_command("ask"),
    ),
    Verb(("overview",), "", "what the cycle came to, on one page; Enter goes into a line", open_command("overview")),
    Verb(("waiting",), "", "every job that waits, with its cause", open_command("waiting")),
    Verb(("log",), "[3 | 4 | 5]", "what the real scheduler would print, at a -v level", _show_log),
    Verb(("panel",), "[NAME]", "go to a panel; without a name, the list of all", open_command("panel")),
    Verb(("theme",), "NAME", "what the screen looks like: dark, light, ansi, ansi-light", open_command("theme")),
    Verb(("open", "o"), "[SNAPSHOT]", "open another snapshot", open_command("open")),
    Verb(("help", "h", "?"), "", "keys and commands", open_command("help")),
    Verb(("quit", "q", "exit"), "", "leave", open_command("quit")),
)
