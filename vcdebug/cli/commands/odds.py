"""`vcdebug odds`: replays the cycle under many draws of what upstream leaves to chance."""

from argparse import ArgumentParser, Namespace

from vcdebug.cli.arguments import add_shared_arguments, add_workers, positive_number
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output

DEFAULT_DRAWS = 50


class OddsCommand(Command):
    """Runs the cycle once per seed, in worker processes or on a cluster."""

    HELP = "run the cycle under many draws of what upstream leaves to chance: how often each job is placed"
    EXITS = "exit status: 0 every draw comes to the same, 2 outcomes differ, 1 error, 130 interrupted"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_shared_arguments(parser, "snapshot", "complete", "release")
        parser.add_argument(
            "-n",
            "--draws",
            metavar="N",
            type=positive_number,
            default=DEFAULT_DRAWS,
            help=f"seeds 1 to N; {DEFAULT_DRAWS} by default",
        )
        add_workers(parser)
        add_shared_arguments(parser, "edits", "json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.batch import incomplete_outcome, run_batch
        from vcdebug.cli.render import write_release_answer
        from vcdebug.cli.reports import cycle as odds
        from vcdebug.cli.snapshots import replay_arguments
        from vcdebug.whatif.odds import SeedDraws, tally_draws

        base = replay_arguments(args).recording
        draws = SeedDraws(base.snapshot, base)
        runs = run_batch(args, output, "draws", draws, range(1, args.draws + 1), args.draws)
        found = tally_draws(base, runs.results.values())
        if args.json or found.draws:
            report = odds.odds_document, odds.odds_blocks
            write_release_answer(args, output, base.snapshot.release, *report, found, base, args.draws)
        for number, failure in runs.failures.items():
            # Seeds begin at 1, items at 0.
            output.write_notice(f"draw {number + 1}: {failure.line}")
        ended = incomplete_outcome(runs, f"{found.draws} of {args.draws} draws were made", output)
        return ended or (CommandOutcome.DONE if found.is_certain else CommandOutcome.DIFFERENT)
