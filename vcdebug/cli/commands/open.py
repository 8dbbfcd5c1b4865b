"""`vcdebug open`: the terminal debugger."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from vcdebug.cli.commands.base import SNAPSHOT_HELP, Command, Outcome
from vcdebug.cli.output import Output


class Open(Command):
    """Starts the terminal interface."""

    NAME = "open"
    HELP = "open the debugger on a snapshot; without one, choose among the bundled and recent ones"

    def configure(self, parser: ArgumentParser) -> None:
        parser.add_argument("snapshot", metavar="SNAPSHOT", nargs="?", help=SNAPSHOT_HELP)

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.sources import source

        word = source(args.snapshot) if getattr(args, "snapshot", None) else None
        from vcdebug.tui.app import run_tui

        run_tui(None if word is None else str(word))
        return Outcome.DONE
