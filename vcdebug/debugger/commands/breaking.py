"""Commands about breakpoints."""

from __future__ import annotations

from typing import Final

from vcdebug.debugger.commands.base import CommandError, Reply, Verb, number
from vcdebug.debugger.driver import Driver

NUMBER: Final = "breakpoint's number"


def _break(driver: Driver, argument: str) -> Reply:
    if not argument:
        return Reply(show="panel", argument="breakpoints")
    text = driver.add_breakpoint(argument)
    return Reply(driver.moment(), text)


def _toggle(driver: Driver, argument: str) -> Reply:
    text = driver.toggle_breakpoint(number(argument, NUMBER))
    return Reply(driver.moment(), text)


def _delete(driver: Driver, argument: str) -> Reply:
    text = driver.remove_breakpoint(number(argument, NUMBER)) if argument != "all" else driver.clear_breakpoints()
    return Reply(driver.moment(), text)


def _change(driver: Driver, argument: str) -> Reply:
    word, _, line = argument.partition(" ")
    if not line.strip():
        raise CommandError("say which breakpoint, and what it shall be", "change N KIND [if CONDITION] ...")
    text = driver.change_breakpoint(number(word, NUMBER), line.strip())
    return Reply(driver.moment(), text)


VERBS: Final = (
    Verb(("break", "b"), "KIND [if CONDITION] [hits == N] [once] [log TEXT]", "set a breakpoint", _break),
    Verb(("change",), "N KIND [if CONDITION] ...", "other words for a breakpoint, which keeps its number", _change),
    Verb(("toggle",), "N", "switch a breakpoint off or on", _toggle),
    Verb(("delete", "clear"), "N | all", "remove a breakpoint", _delete),
)
