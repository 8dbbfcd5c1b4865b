"""`vcdebug odds`: the same cycle under many draws of what upstream leaves to chance."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from vcdebug.cli.arguments import add_workers, positive, share
from vcdebug.cli.commands.base import Command, Outcome
from vcdebug.cli.output import Output

DRAWS = 50


class Odds(Command):
    """Runs the cycle once per seed, in worker processes or on a cluster."""

    HELP = "run the cycle under many draws of what upstream leaves to chance: how often each job is placed"
    EXITS = "exit status: 0 every draw comes to the same, 2 outcomes differ, 1 error, 130 interrupted"

    def configure(self, parser: ArgumentParser) -> None:
        share(parser, "snapshot", "complete", "release")
        parser.add_argument(
            "-n", "--draws", metavar="N", type=positive, default=DRAWS, help=f"seeds 1 to N; {DRAWS} by default"
        )
        add_workers(parser)
        share(parser, "edits", "json")

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.many import gathered, shortcoming
        from vcdebug.cli.render import answer
        from vcdebug.cli.reports import odds
        from vcdebug.cli.snapshots import replay_of
        from vcdebug.debugger.odds import Draws, tally

        base = replay_of(args).recording
        draws = Draws(base.snapshot, base)
        runs = gathered(args, output, "draws", draws, range(1, args.draws + 1), args.draws)
        found = tally(base, runs.results.values())
        if args.json or found.draws:
            answer(args, output, odds.document, odds.blocks, found, base, args.draws)
        for number, failure in runs.failures.items():
            output.narrate(f"draw {number + 1}: {failure.line}")
        ended = shortcoming(runs, f"{found.draws} of {args.draws} draws were made", output)
        return ended or (Outcome.DONE if found.certain else Outcome.DIFFERENT)
