"""The entry point: parser, error boundary and exit codes."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import NoReturn

from vcdebug import __version__
from vcdebug.cli.commands import COMMANDS
from vcdebug.cli.commands.base import Command, Outcome
from vcdebug.cli.output import Output
from vcdebug.errors import EngineError, VcdebugError

EXIT_CODES = {Outcome.DONE: 0, Outcome.UNSCHEDULED: 2, Outcome.DIFFERENT: 2, Outcome.PROBLEMS: 2}
EXIT_ERROR = 1
EXIT_INTERRUPTED = 130
EXIT_READER_LEFT = 141
"""As a program that SIGPIPE ends: nobody is there to be told."""
DEFAULT_COMMAND = "open"
DESCRIPTION = "An omniscient debugger for the scheduling cycles of Volcano."
REPORT = "this is a fault of vcdebug; run it again with VCDEBUG_TRACEBACK=1 and report what it says"


class UsageError(VcdebugError):
    """A command line that cannot be understood."""


class Parser(ArgumentParser):
    """Reports a wrong command line like any other error."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"see {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; never a traceback."""
    output = Output()
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv), output)
        output.flush()
        return code
    except VcdebugError as error:
        output.narrate(error.line())
    except KeyboardInterrupt:
        output.narrate("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _drop_stdout()
        return EXIT_READER_LEFT
    except OSError as error:
        output.narrate(_os_error_line(error))
    except RecursionError:
        output.narrate("the input is nested too deeply")
    except MemoryError:
        output.narrate("not enough memory")
    except Exception as error:  # boundary: a fault of ours is one line too
        if os.environ.get("VCDEBUG_TRACEBACK"):
            raise
        output.narrate(EngineError(f"{type(error).__name__}: {error}", REPORT).line())
    return EXIT_ERROR


def _run(argv: list[str], output: Output) -> int:
    commands = {command.NAME: command() for command in COMMANDS}
    args = _parser(commands).parse_args(argv or [DEFAULT_COMMAND])
    return EXIT_CODES[_command(commands, args).execute(args, output)]


def _command(commands: dict[str, Command], args: Namespace) -> Command:
    return commands[args.command or DEFAULT_COMMAND]


def _parser(commands: dict[str, Command]) -> Parser:
    parser = Parser(prog="vcdebug", description=DESCRIPTION, epilog="Without a command: open.")
    parser.add_argument("--version", action="version", version=f"vcdebug {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in commands.values():
        subparser = subparsers.add_parser(
            command.NAME,
            help=command.HELP,
            description=command.HELP,
            epilog=command.EXITS,
            formatter_class=RawDescriptionHelpFormatter,
        )
        command.configure(subparser)
    return parser


def _os_error_line(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


def _drop_stdout() -> None:
    """The reader has gone: nothing may be written to it again, not even when the interpreter ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
