"""`vcdebug serve`: serves the debugger to browsers."""

import shlex
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator

from vcdebug.cli.arguments import STDIN, add_options, snapshot_source
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.commands.open import OpenCommand
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError, missing_extra

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8000
LAST_PORT = 65535
REACH_WARNING = "any client that can connect can read every file that you can read"


class ServeCommand(Command):
    """Starts a web server whose page runs the debugger, one process per browser window."""

    HELP = "Serve the debugger to a browser on this machine, with the options of open"
    EXAMPLES = ("serve preempt-blocked-by-gang --port 0",)
    EXITS = "Exit status: 0 stopped by Ctrl-C, 1 error"

    def add_arguments(self, parser: ArgumentParser) -> None:
        OpenCommand().add_arguments(parser)
        add_options(
            parser,
            f"""
            --host HOST  address to listen on (default: {DEFAULT_HOST})
            --port PORT  port to listen on; 0 picks a free one (default: {DEFAULT_PORT})
            --expose     allow a --host that other machines can reach; {REACH_WARNING}
            """,
            {"--host": {"default": DEFAULT_HOST}, "--port": {"type": parse_port, "default": DEFAULT_PORT}},
        )

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:

        if args.snapshot == STDIN:
            raise VcdebugError(
                "SNAPSHOT cannot be standard input", "save it to a file: each browser window reads it again"
            )
        # Each browser window starts a process, so a wrong name is reported here once.
        if args.snapshot is not None:
            snapshot_source(args.snapshot)
        try:
            from vcdebug.cli.browser import BrowserServer, is_loopback, open_socket
        except ImportError as error:
            raise missing_extra("serve") from error
        exposed = not is_loopback(args.host)
        if exposed and not args.expose:
            raise VcdebugError(
                f"reachable from other machines, and {REACH_WARNING}", "add --expose to allow this", args.host
            )
        with open_socket(args.host, args.port) as bound:
            if exposed:
                output.write_notice(f"warning: other machines can reach {args.host}, and {REACH_WARNING}")
            title = f"vcdebug {args.snapshot or ''}".rstrip()
            BrowserServer(open_command(args), title, bound, output, exposed=exposed).run()
        return CommandOutcome.DONE


def parse_port(text: str) -> int:
    """Parses a port number; raises ArgumentTypeError for other texts."""
    if not text.isdecimal() or int(text) > LAST_PORT:
        raise ArgumentTypeError(f"{text!r} is not a port (0 to {LAST_PORT})")
    return int(text)


def open_command(args: Namespace) -> str:
    """The shell command of one debugger, with the same options."""
    # The same interpreter: another `vcdebug` may be first in PATH.
    words = [sys.executable, "-m", "vcdebug", "open", *_open_options(args)]
    return f"exec {shlex.join(words)}"


def _open_options(args: Namespace) -> Iterator[str]:
    """The options of `open` that differ from their defaults, as words of a command line."""
    parser = ArgumentParser(add_help=False)
    OpenCommand().add_arguments(parser)
    positional = []
    for action in parser._actions:
        value = getattr(args, action.dest)
        if value == action.default or value is None:
            continue
        if not action.option_strings:
            positional.append(str(value))
        elif action.nargs == 0:
            yield action.option_strings[-1]
        else:
            several = value if isinstance(value, list) else [value]
            # Written with =, because a value such as -1 would be read as an option.
            yield from (f"{action.option_strings[-1]}={item}" for item in several)
    yield from positional
