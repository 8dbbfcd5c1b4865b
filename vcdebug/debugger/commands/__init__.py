"""The commands of `:` and of scripts. A group of them is one file with VERBS, and one line here."""

from __future__ import annotations

from vcdebug.debugger.commands import movement
from vcdebug.debugger.commands.base import CommandError, Reply, Verb
from vcdebug.debugger.driver import Driver
from vcdebug.framework.registry import resolve

__all__ = ["CommandError", "Reply", "Verb", "execute", "find", "verbs"]

GROUPS = (
    "movement",
    "notebook",
    "what_if",
    "cycles",
    "captures",
    "asking",
    "pages",
)
"""In the order in which the help shows them."""


def verbs() -> tuple[Verb, ...]:
    """Every command; each group is imported when somebody asks for the first time."""
    return tuple(verb for group in GROUPS for verb in resolve(f"vcdebug.debugger.commands.{group}:VERBS"))


def find(name: str) -> Verb | None:
    """The verb of this name, or the only one that begins so."""
    every = verbs()
    exact = next((verb for verb in every if name in verb.names), None)
    if exact is not None or not name:
        return exact
    close = [verb for verb in every if any(known.startswith(name) for known in verb.names)]
    return close[0] if len(close) == 1 else None


def execute(driver: Driver, line: str) -> Reply:
    """Run one line; an error says what is wrong with it."""
    name, _, argument = line.strip().removeprefix(":").partition(" ")
    if not name:
        return Reply()
    if name.isdigit():
        return movement.goto(driver, name)
    verb = find(name)
    if verb is None:
        raise CommandError(f"no command {name!r}", hint="? lists them")
    return verb.run(driver, argument.strip())
