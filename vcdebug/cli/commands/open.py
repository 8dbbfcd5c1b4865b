"""`vcdebug open`: the terminal debugger."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from vcdebug.cli.commands.base import SNAPSHOT_HELP, Command, Outcome, add_complete, add_extender
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.framework.webhook import AskExtender


class Open(Command):
    """Starts the terminal interface."""

    NAME = "open"
    HELP = "open the debugger on a snapshot; without one, choose among the bundled and recent ones"

    def configure(self, parser: ArgumentParser) -> None:
        parser.add_argument("snapshot", metavar="SNAPSHOT", nargs="?", help=SNAPSHOT_HELP)
        add_complete(parser)
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
        add_extender(parser)

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.sources import source

        word = source(args.snapshot) if getattr(args, "snapshot", None) else None
        if not output.is_terminal or not output.err.isatty():
            raise VcdebugError("the debugger needs a terminal", "run, explain and inspect do without")
        ask_extender = _client(getattr(args, "extender_url", None))
        from vcdebug.tui.app import run_tui

        place = {name: getattr(args, name, None) for name in ("goto", "job", "breaks", "complete")}
        run_tui(None if word is None else str(word), ask_extender=ask_extender, **place)
        return Outcome.DONE


def _client(url: str | None) -> AskExtender | None:
    if url is None:
        return None
    from vcdebug.cli.extender_client import ExtenderClient

    return ExtenderClient(url)
