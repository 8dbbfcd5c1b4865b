"""`vcdebug open`: the terminal debugger."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from vcdebug.cli.commands.base import SNAPSHOT_HELP, Command, Outcome
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError


class Open(Command):
    """Starts the terminal interface."""

    NAME = "open"
    HELP = "open the debugger on a snapshot; without one, choose among the bundled and recent ones"

    def configure(self, parser: ArgumentParser) -> None:
        parser.add_argument("snapshot", metavar="SNAPSHOT", nargs="?", help=SNAPSHOT_HELP)
        parser.add_argument("--goto", metavar="N", type=int, help="begin at this event")
        parser.add_argument("--job", metavar="JOB", help="begin at the first event about this job")
        parser.add_argument(
            "--break",
            metavar="WORDS",
            dest="breaks",
            action="append",
            default=[],
            help="set a breakpoint, such as 'victim if plugin == \"gang\"'; may be repeated",
        )

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.sources import source

        word = source(args.snapshot) if getattr(args, "snapshot", None) else None
        if not output.is_terminal:
            raise VcdebugError("the debugger needs a terminal", "run, explain and inspect do without")
        from vcdebug.tui.app import run_tui

        place = {name: getattr(args, name, None) for name in ("goto", "job", "breaks")}
        run_tui(None if word is None else str(word), **place)
        return Outcome.DONE
