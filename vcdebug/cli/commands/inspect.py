"""`vcdebug inspect`: what a snapshot holds, what is wrong with it, and what configuration is in force."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from vcdebug.cli.commands.base import Command, Outcome, add_json, add_snapshot
from vcdebug.cli.output import Output


class Inspect(Command):
    """Looks at the input without replaying it."""

    NAME = "inspect"
    HELP = "count the objects, list problems, and show the configuration in force"
    EXITS = "exit status: 0 no problems, 2 problems, 1 error"

    def configure(self, parser: ArgumentParser) -> None:
        add_snapshot(parser)
        add_json(parser)

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.render import show
        from vcdebug.cli.reports import contents
        from vcdebug.cli.snapshots import load_snapshot

        inspection = contents.inspect(load_snapshot(args.snapshot).snapshot)
        if args.json:
            output.json(contents.document(inspection))
        else:
            show(contents.blocks(inspection), output)
        return Outcome.PROBLEMS if inspection.problems else Outcome.DONE
