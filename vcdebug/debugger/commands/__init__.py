"""The commands of `:` and of scripts. A group of them is one file with VERBS, and one line here."""

from __future__ import annotations

from vcdebug.debugger.commands import movement
from vcdebug.debugger.commands.base import CommandError, CommandReply, Verb
from vcdebug.debugger.driver import Driver
from vcdebug.framework.registry import resolve_reference

__all__ = ["CommandError", "CommandReply", "Verb", "execute_line", "find_verb", "list_verbs"]

COMMAND_GROUPS = (
    "movement",
    "notebook",
    "what_if",
    "cycles",
    "captures",
    "find_and_fit",
    "pages",
)
"""In the order in which the help shows them."""


def list_verbs() -> tuple[Verb, ...]:
    """Every command; each group is imported when somebody asks for the first time."""
    return tuple(
        verb for group in COMMAND_GROUPS for verb in resolve_reference(f"vcdebug.debugger.commands.{group}:VERBS")
    )


def find_verb(name: str) -> Verb | None:
    """The verb of this name, or the only one that begins so."""
    every = list_verbs()
    exact = next((verb for verb in every if name in verb.names), None)
    if exact is not None or not name:
        return exact
    close = [verb for verb in every if any(known.startswith(name) for known in verb.names)]
    return close[0] if len(close) == 1 else None


def execute_line(driver: Driver, line: str) -> CommandReply:
    """Run one line; an error says what is wrong with it."""
    name, _, argument = line.strip().removeprefix(":").partition(" ")
    if not name:
        return CommandReply()
    if name.isdigit():
        return movement.goto_event(driver, name)
    verb = find_verb(name)
    if verb is None:
        raise CommandError(f"no command {name!r}", hint="? lists them")
    return verb.run(driver, argument.strip())
