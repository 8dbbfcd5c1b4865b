"""The commands of `:` and of scripts. A group of commands is one file with VERBS, and one line here."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from vcdebug.debugger.commands import movement
from vcdebug.debugger.driver import CommandError, CommandReply, DebuggerState, Driver, Verb
from vcdebug.debugger.notebook import BreakpointLogLine
from vcdebug.errors import VcdebugError, closest_name_hint
from vcdebug.framework.registry import resolve_reference

__all__ = ["CommandError", "CommandReply", "Verb", "execute_line", "find_verb", "list_verbs", "split_line"]

COMMAND_GROUPS = ("movement", "notebook", "what_if", "cycles", "pages")
"""Names of the command modules, in the order of the help."""


PANEL_NAMES: Final = (
    "flow", "moment", "equation", "inside", "statement", "order", "funnel", "dryrun", "session", "effects", "evictions",
    "request", "quirks", "hypernodes", "problems", "conf", "tiers", "breaks",
)  # fmt: skip
"""Panels that have no command of their own."""
PANEL_WORDS: Final = {
    **dict(zip(PANEL_NAMES, PANEL_NAMES, strict=True)),
    "breakpoints": "breaks", "watches": "watch", "watchpoints": "watch", "marks": "bookmarks", "plugins": "tiers",
    "events": "effects", "logs": "log", "configmap": "conf", "cm": "conf", "locals": "moment", "args": "moment",
}  # fmt: skip
"""Words that open a panel where no command has the name."""
WORDS_BEFORE: Final = ("kubectl", "get", "describe", "top", "info", "show")
"""Words that kubectl and gdb put before what is shown: `get pods`, `describe node n1`, `info breakpoints`."""
MEANINGFUL_ALONE: Final = ("break", "watch", "force", "filter", "theme")
"""Commands that list or clear without their argument."""
NAMED_OBJECTS: Final = ("jobs", "pods", "nodes", "queues", "explain", "prove", "why", "fits")
"""Commands that take an object as kubectl does: with its kind, with -n NAMESPACE."""
_NAMESPACE: Final = re.compile(r"(?:^|\s)(?:-n|--namespace)[\s=]\s*(\S+)")
_OTHER_OPTIONS: Final = re.compile(r"(?:^|\s)(?:-A|--all-namespaces|-w|--watch|(?:-o|--output)[\s=]\s*\S+)(?=\s|$)")
VERBATIM_COMMANDS = ("filter", "bookmark", "note", "save", "load", "report", "set", "edits", "open")
"""Commands whose argument is a text, an edit or a file: no job is looked up by a name in it."""


def list_verbs() -> tuple[Verb, ...]:
    """Every command; a group is imported on first use."""
    return tuple(
        verb for group in COMMAND_GROUPS for verb in resolve_reference(f"vcdebug.debugger.commands.{group}:VERBS")
    )


def find_verb(name: str) -> Verb | None:
    """The verb with this name, else the only one with this prefix; None otherwise."""
    every = list_verbs()
    exact = next((verb for verb in every if name in verb.names), None)
    if exact is not None or not name:
        return exact
    # A prefix counts only if it is unique: guessing between commands could undo or overwrite work.
    close = [verb for verb in every if any(name_of_verb.startswith(name) for name_of_verb in verb.names)]
    return close[0] if len(close) == 1 else None


def split_line(line: str) -> tuple[str, str]:
    """The command of a line and its argument; of `kubectl describe pod/NAME` the command is `pod`."""
    name, _, argument = line.strip().removeprefix(":").partition(" ")
    while name in WORDS_BEFORE and argument.strip():
        name, _, argument = argument.strip().partition(" ")
        name = "queues" if name == "q" else name
    kind, _, subject = name.partition("/")
    kind = kind.partition(".")[0]
    if kind not in ("", name) and find_verb(kind) is not None:
        name, argument = kind, f"{subject} {argument}"
    return name, argument.strip()


def _named_object(argument: str) -> str:
    """`NAMESPACE/NAME` of `NAME -n NAMESPACE`; kubectl's options about the output are dropped."""
    namespace = _NAMESPACE.search(argument)
    name = _OTHER_OPTIONS.sub("", _NAMESPACE.sub("", argument)).strip()
    return "/".join(filter(None, (namespace[1], name))) if namespace and "/" not in name else name


def execute_line(driver: Driver, line: str) -> CommandReply:
    """Run one command line; raises CommandError if it is unknown or its argument is wrong."""
    name, argument = split_line(line)
    if not name or name.startswith("#"):
        return CommandReply()
    if name.isdigit():
        return movement.goto_event(driver, name)
    verb = find_verb(name)
    if verb is None and (name in PANEL_WORDS or name in WORDS_BEFORE) and not argument:
        return CommandReply(show="panel", argument=PANEL_WORDS.get(name, ""))
    if verb is None:
        verb_names = [*PANEL_WORDS, *(word for verb in list_verbs() for word in verb.names)]
        raise CommandError(f"no command {name!r}", hint=closest_name_hint(name, verb_names, "? lists them"))
    if argument and not verb.usage:
        raise CommandError(f"{name} takes no argument")
    if not argument and verb.usage and not verb.usage.startswith("[") and verb.names[0] not in MEANINGFUL_ALONE:
        raise CommandError(f"{name} needs an argument", verb.example or f"{verb.names[0]} {verb.usage}")
    typed = _named_object(argument) if verb.names[0] in NAMED_OBJECTS else argument
    if verb.names[0] not in VERBATIM_COMMANDS:
        typed = driver.debugger.recording.job_names.to_ids(typed)
    if verb.run is None:
        return CommandReply(show=verb.view or verb.names[0], argument=typed)
    reply = verb.run(driver, typed)
    return CommandReply(driver.current_state(), reply) if isinstance(reply, str) else reply


SCREEN_ONLY: tuple[str, ...] = ("filter", "lesson", "open", "theme")
"""Views that need a screen: a script line that opens one fails."""


class ScriptError(VcdebugError):
    """Raised for a script line that failed; `number` is the line's number, from 1."""

    def __init__(self, error: VcdebugError, number: int) -> None:
        place = f"line {number}: {error.where}" if error.where else f"line {number}"
        super().__init__(error.message, error.hint, place)
        self.number = number


class ScriptAnswer(Struct, frozen=True):
    """The result of one line."""

    number: int
    command: str
    state: DebuggerState
    """The debugger's state after the command."""
    is_position: bool
    """Whether the line's result is a position, and no text."""
    text: str
    log: tuple[BreakpointLogLine, ...]
    """Log lines of breakpoints that were passed."""
    show: str
    """The view that the front end opens: help, an explanation, a panel; empty for none."""
    argument: str


def run_script(driver: Driver, lines: Iterable[str]) -> Iterator[ScriptAnswer]:
    """Run the lines in order up to `quit`; raises ScriptError at the first one that fails."""
    for number, line in enumerate(lines, start=1):
        command = line.strip()
        if not command or command.startswith("#"):
            continue
        answer = run_line(driver, number, command)
        if answer.show == "quit":
            return
        yield answer


def run_line(driver: Driver, number: int, command: str) -> ScriptAnswer:
    """Run one line and its work to the end; raises ScriptError if it fails."""
    # The log grows over the whole session; only lines after this point belong to this command.
    log_length = len(driver.debugger.log)
    try:
        reply = execute_line(driver, command).run_to_end()
        if reply.show in SCREEN_ONLY:
            raise CommandError(f"{command.split()[0].lstrip(':')} needs the screen")
    except VcdebugError as error:
        raise ScriptError(error, number) from error
    state = reply.state or driver.current_state()
    log = tuple(driver.debugger.log[log_length:])
    moved = reply.state is not None and not reply.text
    return ScriptAnswer(number, command, state, moved, reply.text, log, reply.show, reply.argument)
