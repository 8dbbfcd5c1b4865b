"""The commands, in the order of --help; each is imported when it is used."""

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
    "learn": "vcdebug.cli.commands.learn:LearnCommand",
    "run": "vcdebug.cli.commands.run:RunCommand",
    "explain": "vcdebug.cli.commands.explain:ExplainCommand",
    "diff": "vcdebug.cli.commands.diff:DiffCommand",
    "submit": "vcdebug.cli.commands.submit:SubmitCommand",
    "ask": "vcdebug.cli.commands.ask:AskCommand",
    "why": "vcdebug.cli.commands.why:WhyCommand",
    "expect": "vcdebug.cli.commands.expect:ExpectCommand",
    "odds": "vcdebug.cli.commands.odds:OddsCommand",
    "inspect": "vcdebug.cli.commands.inspect:InspectCommand",
    "check": "vcdebug.cli.commands.check:CheckCommand",
    "script": "vcdebug.cli.commands.script:ScriptCommand",
    "dap": "vcdebug.cli.commands.dap:DapCommand",
    "mcp": "vcdebug.cli.commands.mcp:McpCommand",
    "report": "vcdebug.cli.commands.report:ReportCommand",
    "query": "vcdebug.cli.commands.export:QueryCommand",
    "export": "vcdebug.cli.commands.export:ExportCommand",
    "capture": "vcdebug.cli.commands.capture:CaptureCommand",
    "redact": "vcdebug.cli.commands.redact:RedactCommand",
    "verify": "vcdebug.cli.commands.verify:VerifyCommand",
    "watch": "vcdebug.cli.commands.watch:WatchCommand",
    "cache": "vcdebug.cli.commands.cache:CacheCommand",
    "completion": "vcdebug.cli.commands.completion:CompletionCommand",
}


def load_all_commands() -> dict[str, Command]:
    """All commands by name."""
    return {name: _load_command(name) for name in COMMANDS}


def load_commands(words: Sequence[str]) -> dict[str, Command]:
    """The command named by the first word, by name; all commands if that is no command."""
    name = next(iter(words), "")
    return {name: _load_command(name)} if name in COMMANDS else load_all_commands()


def _load_command(name: str) -> Command:
    command: Command = resolve_reference(COMMANDS[name])()
    return command


class CommandOutcome(Enum):
    """The outcome of a command, which `cli/main.py` maps to an exit code."""

    DONE = auto()
    UNSCHEDULED = auto()
    """The job in question stays unscheduled."""
    DIFFERENT = auto()
    """Two runs decided differently."""
    INCONCLUSIVE = auto()
    """No verdict was possible."""
    PROBLEMS = auto()
    """The snapshot has problems."""
    FAILED = auto()
    """Some of several runs failed; the others are reported."""
    INTERRUPTED = auto()
    """Interrupted by the user; partial results are reported."""


class Command(ABC):
    """One subcommand. It imports engine rooms inside `execute`, so that --help stays fast."""

    HELP: ClassVar[str]
    """One sentence, shown by --help."""
    EXAMPLES: ClassVar[tuple[str, ...]]
    """Command lines without the program's name, shown above the options."""
    EXITS: ClassVar[str] = "Exit status: 0 done, 1 error"

    @abstractmethod
    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the command's arguments."""

    @abstractmethod
    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        """Run the command with its parsed arguments and return how it ended; raises VcdebugError."""
