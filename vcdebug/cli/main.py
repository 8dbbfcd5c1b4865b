"""The entry point: parser, error boundary and exit codes."""

import os
import re
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from typing import Final, NoReturn

from vcdebug import __version__
from vcdebug.cli.commands import Command, CommandOutcome, load_commands
from vcdebug.cli.output import Output, RunFailure, run_or_failure
from vcdebug.errors import VcdebugError, closest_name_hint
from vcdebug.garbage_collection import freeze_heap, raise_gc_threshold

EXIT_ERROR = 1
EXIT_INTERRUPTED = 130
EXIT_CODES = {
    CommandOutcome.DONE: 0,
    CommandOutcome.UNSCHEDULED: 2,
    CommandOutcome.DIFFERENT: 2,
    CommandOutcome.PROBLEMS: 2,
    CommandOutcome.INCONCLUSIVE: 3,
    CommandOutcome.FAILED: EXIT_ERROR,
    CommandOutcome.INTERRUPTED: EXIT_INTERRUPTED,
}
EXIT_READER_LEFT = 141
"""128 + SIGPIPE, as a shell reports a program whose reader has closed the pipe."""
DEFAULT_COMMAND = "open"
DESCRIPTION = """Replay, debug and explain scheduling cycles of Volcano, the Kubernetes batch scheduler.

A re-implementation of the scheduler in Python: it needs no Volcano binary, and only reads from clusters.

examples:
  vcdebug                                    choose a bundled snapshot and debug its cycle
  vcdebug explain preempt-blocked-by-gang    why is each job Pending?
  vcdebug capture -o incident.tar.gz         read a cluster into one file
  vcdebug COMMAND --help                     examples, options and exit status of a command"""
EXIT_STATUS = "Exit status: 0 done, 1 error, 2 an answer that scripts should notice (see each command), 130 interrupted"


KUBECTL_HINTS: Final = {
    **dict.fromkeys(("-n", "--namespace"), "write the job or pod as NAMESPACE/NAME"),
    **dict.fromkeys(("get", "top"), "vcdebug run SNAPSHOT lists jobs and placed pods; `get` works in the debugger"),
    "describe": "vcdebug explain SNAPSHOT JOB_OR_POD explains one; `describe` works in the debugger",
    **dict.fromkeys(("debug", "step"), "vcdebug open SNAPSHOT opens the debugger"),
}


class UsageError(VcdebugError):
    """Raised for a wrong command line; the hint names --help."""


class CommandParser(ArgumentParser):
    """A parser that raises UsageError; argparse would exit with 2, which has another meaning here."""

    _reads_mixed = False
    """Whether argparse's own two passes over the words of a command are running."""

    def parse_known_args(  # type: ignore[override]  # one signature for argparse's overloads
        self, args: Sequence[str] | None = None, namespace: Namespace | None = None
    ) -> tuple[Namespace, list[str]]:
        """As argparse does, with options between arguments too; what is left over is an error of its command."""
        if self._reads_mixed:
            return super().parse_known_args(args, namespace)
        # argparse takes optional arguments as missing at the first option: `explain SNAPSHOT --prove JOB`.
        self._reads_mixed = self._subparsers is None
        parse = self.parse_known_intermixed_args if self._reads_mixed else super().parse_known_args
        try:
            known, unknown = parse(args, namespace)
        finally:
            self._reads_mixed = False
        if unknown:
            kind = "option" if unknown[0].startswith("-") else "argument"
            word = unknown[0].partition("=")[0]
            hint = KUBECTL_HINTS.get(word) or closest_name_hint(word, self._option_string_actions)
            raise UsageError(f"unknown {kind} {word!r}", hint or f"see {self.prog} --help")
        return known, unknown

    def error(self, message: str) -> NoReturn:
        # argparse lists all choices after a wrong one; only the closest one is helpful.
        fault, _, choices = message.partition(" (choose from ")
        word = fault.rpartition(": ")[2].strip("'")
        hint = KUBECTL_HINTS.get(word, "") or closest_name_hint(word, re.findall(r"[\w.-]+", choices))
        raise UsageError(fault if hint else message, hint or f"see {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `argv` is without the program's name, None takes sys.argv."""
    _fill_closed_descriptors()
    raise_gc_threshold()  # millions of event objects live to the end: collecting them again and again is waste
    # Nothing here multiplies matrices, and the threads of numpy's library spin when they start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    output = Output()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        answer = run_or_failure(lambda: _run_command(words, output))
    except KeyboardInterrupt:
        output.write_notice("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _drop_stdout()
        return EXIT_READER_LEFT
    if isinstance(answer, RunFailure):
        output.write_notice(answer.line)
        return EXIT_ERROR
    if argv is None:
        # At exit the interpreter collects garbage once more, which takes seconds over a large recording.
        freeze_heap()
    return answer


def _run_command(argv: list[str], output: Output) -> int:
    words = argv or [DEFAULT_COMMAND]
    commands = load_commands(words)
    args = _build_parser(commands, words).parse_args(words)
    code = EXIT_CODES[commands[args.command or DEFAULT_COMMAND].execute(args, output)]
    output.flush()
    for task in output.exit_callbacks:
        task()
    return code


def _build_parser(commands: dict[str, Command], words: Sequence[str]) -> CommandParser:
    """A parser of all commands; only those among the words have options, since adding them imports the command."""
    formatter = RawDescriptionHelpFormatter
    parser = CommandParser(prog="vcdebug", description=DESCRIPTION, epilog=EXIT_STATUS, formatter_class=formatter)
    parser.add_argument("--version", action="version", version=f"vcdebug {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, command in commands.items():
        subparser = subparsers.add_parser(
            name,
            help=command.HELP,
            description="\n  vcdebug ".join([f"{command.HELP}.\n\nexamples:", *command.EXAMPLES]),
            epilog=command.EXITS,
            formatter_class=formatter,
        )
        if name in words:
            command.add_arguments(subparser)
            # argparse's own usage would list every option before the useful lines.
            subparser.usage = " ".join(["%(prog)s [OPTIONS]", *needed_words(subparser)])
    return parser


def needed_words(parser: ArgumentParser) -> Iterator[str]:
    """The options that must be there, then the names of the positional arguments, optional ones in brackets."""
    for action in sorted(parser._actions, key=lambda action: not action.option_strings):
        if action.option_strings and action.required:
            yield f"{action.option_strings[0]} {action.metavar}"
        elif not action.option_strings:
            name = f"{action.metavar}{'...' * (action.nargs in ('+', '*'))}"
            yield f"[{name}]" if action.nargs in ("?", "*") else name


def _fill_closed_descriptors() -> None:
    """Open the null device for closed standard streams, so that no file of ours gets descriptor 0, 1 or 2."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    if sys.stdin is None:
        sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115  # a descriptor


def _drop_stdout() -> None:
    """Point stdout at the null device: the interpreter flushes it once more when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
