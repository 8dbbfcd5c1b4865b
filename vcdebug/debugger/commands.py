"""The commands of `:` and of scripts: one row per verb, with its names, its help, and what it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from vcdebug.debugger.driver import Driver, Here
from vcdebug.errors import VcdebugError

Opens = Literal["", "help", "explain", "quit", "filter", "open", "panel", "log"]


class CommandError(VcdebugError):
    """A line that is no command."""


class Reply(NamedTuple):
    """What a command came to: a new moment, words for the status line, or something to open."""

    moment: Here | None = None
    text: str = ""
    opens: Opens = ""
    argument: str = ""


class Verb(NamedTuple):
    """One command."""

    names: tuple[str, ...]
    usage: str
    help: str
    run: Callable[[Driver, str], Reply]


def _step(verb: Literal["into", "over", "out", "continue"], *, back: bool = False) -> Callable[[Driver, str], Reply]:
    def run(driver: Driver, _: str) -> Reply:
        return Reply(driver.step(verb, back=back))

    return run


def _goto(driver: Driver, argument: str) -> Reply:
    text = argument.replace(" ", "")
    if not text.removeprefix("+").removeprefix("-").isdigit():
        raise CommandError(f"{argument!r} is no event number", hint=f"events are 1 to {driver.debugger.last_seq}")
    target = driver.debugger.seq + int(text) if text[0] in "+-" else int(text)
    moment = driver.goto(target)
    return Reply(moment, "" if moment.seq == target else f"events are 1 to {driver.debugger.last_seq}")


def _last(driver: Driver, _: str) -> Reply:
    return Reply(driver.last_position())


def _where(driver: Driver, _: str) -> Reply:
    path = " > ".join(span.name for span in driver.debugger.path()[1:])
    return Reply(driver.moment(), f"event {driver.debugger.seq} of {driver.debugger.last_seq}: {path or 'cycle'}")


def _break(driver: Driver, argument: str) -> Reply:
    if not argument:
        return Reply(opens="panel", argument="breakpoints")
    text = driver.add_breakpoint(argument)
    return Reply(driver.moment(), text)


def _log(_: Driver, argument: str) -> Reply:
    if argument not in ("", "3", "4", "5"):
        raise CommandError(f"{argument!r} is no level of the log", hint="3, 4 or 5")
    return Reply(opens="log", argument=argument)


def _number(argument: str) -> int:
    if not argument.isdigit():
        raise CommandError(f"{argument!r} is no breakpoint's number")
    return int(argument)


def _toggle(driver: Driver, argument: str) -> Reply:
    text = driver.toggle_breakpoint(_number(argument))
    return Reply(driver.moment(), text)


def _delete(driver: Driver, argument: str) -> Reply:
    text = driver.remove_breakpoint(_number(argument)) if argument != "all" else driver.clear_breakpoints()
    return Reply(driver.moment(), text)


def _about(*, back: bool) -> Callable[[Driver, str], Reply]:
    def run(driver: Driver, argument: str) -> Reply:
        kind, _, name = argument.partition(" ")
        if kind not in ("job", "task", "node", "queue", "plugin") or not name:
            raise CommandError("say what about", hint="job NAME, task NAME, node NAME, queue NAME or plugin NAME")
        return Reply(driver.next_about(kind, name.strip(), back=back))

    return run


def _opens(what: Opens) -> Callable[[Driver, str], Reply]:
    def run(_: Driver, argument: str) -> Reply:
        return Reply(opens=what, argument=argument)

    return run


VERBS: tuple[Verb, ...] = (
    Verb(("next", "n", "over"), "", "next event or span on this level", _step("over")),
    Verb(("step", "s", "into"), "", "next event, however deep", _step("into")),
    Verb(("out", "f", "finish"), "", "what follows the enclosing span", _step("out")),
    Verb(("continue", "c"), "", "to the next breakpoint, else the end", _step("continue")),
    Verb(("back-next", "N", "back-over"), "", "previous event or span on this level", _step("over", back=True)),
    Verb(("back-step", "S", "back", "back-into"), "", "previous event", _step("into", back=True)),
    Verb(("back-out", "F"), "", "beginning of the enclosing span", _step("out", back=True)),
    Verb(("back-continue", "C", "reverse-continue"), "", "to the previous breakpoint, else the start",
         _step("continue", back=True)),
    Verb(("goto", "g"), "N | +N | -N", "to an event by number", _goto),
    Verb(("last", "-"), "", "where the last jump began", _last),
    Verb(("about", "]"), "job|task|node|queue|plugin NAME", "next event about it", _about(back=False)),
    Verb(("back-about", "["), "job|task|node|queue|plugin NAME", "previous event about it", _about(back=True)),
    Verb(("where",), "", "the spans around the event", _where),
    Verb(("break", "b"), "KIND [if CONDITION] [hits == N] [once] [log TEXT]", "set a breakpoint", _break),
    Verb(("toggle",), "N", "switch a breakpoint off or on", _toggle),
    Verb(("delete", "clear"), "N | all", "remove a breakpoint", _delete),
    Verb(("filter", "/"), "TEXT", "filter the table that has the focus", _opens("filter")),
    Verb(("explain", "e"), "[JOB]", "why a job waits", _opens("explain")),
    Verb(("log",), "[3 | 4 | 5]", "what the real scheduler would print, at a -v level", _log),
    Verb(("panel",), "NAME", "go to a panel", _opens("panel")),
    Verb(("open", "o"), "[SNAPSHOT]", "open another snapshot", _opens("open")),
    Verb(("help", "h", "?"), "", "keys and commands", _opens("help")),
    Verb(("quit", "q", "exit"), "", "leave", _opens("quit")),
)  # fmt: skip


def find(name: str) -> Verb | None:
    """The verb of this name, or the only one that begins so."""
    exact = next((verb for verb in VERBS if name in verb.names), None)
    if exact is not None or not name:
        return exact
    close = [verb for verb in VERBS if any(known.startswith(name) for known in verb.names)]
    return close[0] if len(close) == 1 else None


def execute(driver: Driver, line: str) -> Reply:
    """Run one line; an error says what is wrong with it."""
    name, _, argument = line.strip().removeprefix(":").partition(" ")
    if not name:
        return Reply()
    if name.isdigit():
        return _goto(driver, name)
    verb = find(name)
    if verb is None:
        raise CommandError(f"no command {name!r}", hint="? lists them")
    return verb.run(driver, argument.strip())
