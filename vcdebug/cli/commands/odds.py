"""`vcdebug odds`: the same cycle under many draws of what upstream leaves to chance."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING

from vcdebug.cli.commands.base import Command, Outcome, add_edits, add_json, add_snapshot
from vcdebug.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Iterator

DRAWS = 50


class Odds(Command):
    """Runs the cycle once per seed, in worker processes."""

    NAME = "odds"
    HELP = "run the cycle under many draws of what upstream leaves to chance: how often each job is placed"
    EXITS = "exit status: 0 every draw comes to the same, 2 outcomes differ, 1 error"

    def configure(self, parser: ArgumentParser) -> None:
        add_snapshot(parser)
        parser.add_argument("-n", "--draws", metavar="N", type=_positive, default=DRAWS, help="seeds 1 to N")
        parser.add_argument("--workers", metavar="N", type=_positive, help="worker processes; one per processor")
        add_edits(parser)
        add_json(parser)

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.executor import executor, processors
        from vcdebug.cli.progress import count_progress
        from vcdebug.cli.render import show
        from vcdebug.cli.reports import odds
        from vcdebug.cli.snapshots import replay_snapshot
        from vcdebug.debugger.odds import Draw, Draws, portions, tally

        base = replay_snapshot(args.snapshot, complete=args.complete, edits=args.edits).recording
        workers = min(args.workers or processors(), args.draws)
        draws: list[Draw] = []
        results: Iterator[list[Draw]] = executor(workers).run(Draws(base.snapshot), portions(args.draws, workers))
        with count_progress(output, "draws", args.draws) as done:
            for some in results:
                draws += some
                done(len(some))
        found = tally(base, draws)
        if args.json:
            output.json(odds.document(found, base))
        else:
            show(odds.blocks(found, base), output)
        return Outcome.DONE if found.certain else Outcome.DIFFERENT


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)
