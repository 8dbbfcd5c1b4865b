"""`vcdebug odds`: replays the cycle with many random seeds."""

from argparse import ArgumentParser, Namespace

from vcdebug.cli.arguments import add_options, add_shared_options, add_workers, positive_number
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output

DEFAULT_RUNS = 50


class OddsCommand(Command):
    """Runs the cycle once per seed, in worker processes or on a cluster."""

    HELP = "Replay with many random seeds and report how often each job is scheduled"
    EXAMPLES = ("odds preempt-works -n 20",)
    EXITS = "Exit status: 0 all runs have the same result, 2 results differ, 1 error, 130 interrupted"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_shared_options(parser, "SNAPSHOT", "--complete", "--release")
        runs = f"-n, --runs N  number of random seeds (default: {DEFAULT_RUNS})"
        add_options(parser, runs, {"--runs": {"type": positive_number, "default": DEFAULT_RUNS}})
        add_workers(parser)
        add_shared_options(parser, "--set", "--json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.batch import incomplete_outcome, run_batch
        from vcdebug.cli.render import write_release_answer
        from vcdebug.cli.reports import cycle as odds
        from vcdebug.cli.snapshots import replay_arguments
        from vcdebug.whatif.odds import SeedDraws, tally_draws

        base = replay_arguments(args).recording
        output.name_jobs(base)
        draws = SeedDraws(base.snapshot, base)
        runs = run_batch(args, output, "runs", draws, range(1, args.runs + 1), args.runs)
        tally = tally_draws(base, runs.results.values())
        if args.json or tally.draw_count:
            report = odds.odds_document, odds.odds_blocks
            write_release_answer(args, output, base.snapshot.release, *report, tally, base, args.runs)
        for number, failure in runs.failures.items():
            # Seeds begin at 1, items at 0.
            output.write_notice(f"run {number + 1}: {failure.line}")
        ended = incomplete_outcome(runs, f"{tally.draw_count} of {args.runs} random runs completed", output)
        return ended or (CommandOutcome.DONE if tally.is_certain else CommandOutcome.DIFFERENT)
