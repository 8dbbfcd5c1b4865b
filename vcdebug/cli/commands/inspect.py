"""`vcdebug inspect`: what a snapshot holds, what is wrong with it, and what configuration is in force."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from vcdebug.cli.arguments import share
from vcdebug.cli.commands.base import Command, Outcome
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.snapshot.snapshot import Snapshot


class Inspect(Command):
    """Looks at the input without replaying it."""

    HELP = "count the objects, list problems, and show the configuration in force"
    EXITS = "exit status: 0 no problems (or differences), 2 problems (or differences), 1 error"

    def configure(self, parser: ArgumentParser) -> None:
        share(parser, "snapshot", "complete", "release")
        parser.add_argument(
            "--against", metavar="DUMP", help="a dump of the scheduler's cache: list every difference to the replay"
        )
        share(parser, "json")

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.render import answer
        from vcdebug.cli.reports import contents
        from vcdebug.cli.snapshots import load_snapshot

        snapshot = load_snapshot(args.snapshot, args.complete, args.release).snapshot
        if args.against is not None:
            return _against(snapshot, args, output)
        inspection = contents.inspect(snapshot)
        answer(args, output, contents.document, contents.blocks, inspection)
        return Outcome.PROBLEMS if inspection.problems else Outcome.DONE


def _against(snapshot: Snapshot, args: Namespace, output: Output) -> Outcome:
    """What the real scheduler's cache held, beside what the replay starts from."""
    from vcdebug.cli.render import answer
    from vcdebug.cli.reports import dumped
    from vcdebug.compare.dump import compare_dump
    from vcdebug.files.text import read_text
    from vcdebug.snapshot.archive import MAX_BYTES

    try:
        comparison = compare_dump(read_text(args.against, MAX_BYTES), snapshot)
    except VcdebugError as error:
        raise error if error.where else type(error)(error.message, error.hint, args.against) from error
    answer(args, output, dumped.document, dumped.blocks, comparison)
    return Outcome.DONE if comparison.agrees else Outcome.PROBLEMS
