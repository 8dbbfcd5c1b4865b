"""The commands: one line each, in the order in which --help shows them; imported on use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from enum import Enum, auto
from typing import ClassVar, Final

from vcdebug.cli.output import Output
from vcdebug.framework.registry import resolve_reference

COMMANDS: Final = {
    "open": "vcdebug.cli.commands.open:OpenCommand",
    "serve": "vcdebug.cli.commands.serve:ServeCommand",
    "run": "vcdebug.cli.commands.run:RunCommand",
    "explain": "vcdebug.cli.commands.explain:ExplainCommand",
    "diff": "vcdebug.cli.commands.diff:DiffCommand",
    "submit": "vcdebug.cli.commands.submit:SubmitCommand",
    "ask": "vcdebug.cli.commands.ask:AskCommand",
    "expect": "vcdebug.cli.commands.expect:ExpectCommand",
    "odds": "vcdebug.cli.commands.odds:OddsCommand",
    "inspect": "vcdebug.cli.commands.inspect:InspectCommand",
    "check": "vcdebug.cli.commands.check:CheckCommand",
    "script": "vcdebug.cli.commands.script:ScriptCommand",
    "report": "vcdebug.cli.commands.report:ReportCommand",
    "capture": "vcdebug.cli.commands.capture:CaptureCommand",
    "redact": "vcdebug.cli.commands.redact:RedactCommand",
    "verify": "vcdebug.cli.commands.verify:VerifyCommand",
    "cache": "vcdebug.cli.commands.cache:CacheCommand",
    "completion": "vcdebug.cli.commands.completion:CompletionCommand",
}


def load_all_commands() -> dict[str, Command]:
    """All of them by name."""
    return {name: _load_command(name) for name in COMMANDS}


def load_commands(words: Sequence[str]) -> dict[str, Command]:
    """The one that a command line begins with; all of them where it begins with none."""
    name = next(iter(words), "")
    return {name: _load_command(name)} if name in COMMANDS else load_all_commands()


def _load_command(name: str) -> Command:
    command: Command = resolve_reference(COMMANDS[name])()
    return command


# What a command is: a name, its arguments, and one method that answers.


class CommandOutcome(Enum):
    """How a command ended; `cli/main.py` makes an exit code of it."""

    DONE = auto()
    UNSCHEDULED = auto()
    """The job that was asked about stays unscheduled."""
    DIFFERENT = auto()
    """Two runs decided differently."""
    PROBLEMS = auto()
    """The snapshot has problems."""
    FAILED = auto()
    """Some of several runs failed; the others are reported."""
    INTERRUPTED = auto()
    """Somebody had enough; what was done until then is reported."""


class Command(ABC):
    """One subcommand. Engine rooms are imported inside `execute`, so that help stays quick."""

    HELP: ClassVar[str]
    """One sentence, shown by --help."""
    EXITS: ClassVar[str] = "exit status: 0 done, 1 error"

    @abstractmethod
    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the command's arguments."""

    @abstractmethod
    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        """Do it."""
