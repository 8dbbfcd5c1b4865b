"""`vcdebug odds`: the same cycle under many draws of what upstream leaves to chance."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from vcdebug.cli.commands.base import Command, Outcome, add_edits, add_json, add_snapshot, add_workers, positive
from vcdebug.cli.output import Output

if TYPE_CHECKING:
    from vcdebug.cli.executors.base import Gathered
    from vcdebug.debugger.odds import Draw
    from vcdebug.debugger.odds import Odds as Found
    from vcdebug.trace.recording import Recording

DRAWS = 50


class Odds(Command):
    """Runs the cycle once per seed, in worker processes or on a cluster."""

    NAME = "odds"
    HELP = "run the cycle under many draws of what upstream leaves to chance: how often each job is placed"
    EXITS = "exit status: 0 every draw comes to the same, 2 outcomes differ, 1 error, 130 interrupted"

    def configure(self, parser: ArgumentParser) -> None:
        add_snapshot(parser)
        parser.add_argument(
            "-n", "--draws", metavar="N", type=positive, default=DRAWS, help=f"seeds 1 to N; {DRAWS} by default"
        )
        add_workers(parser)
        add_edits(parser)
        add_json(parser)

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.snapshots import replay_snapshot
        from vcdebug.debugger.odds import tally

        base = replay_snapshot(args.snapshot, complete=args.complete, release=args.release, edits=args.edits).recording
        gathered = _gathered(base, args, output)
        found = tally(base, gathered.results.values())
        _report(found, base, args, output)
        for number, failure in gathered.failures.items():
            output.narrate(f"draw {number + 1}: {failure.line}")
        if gathered.interrupted:
            output.narrate(f"interrupted: {found.draws} of {args.draws} draws were made")
        if gathered.interrupted:
            return Outcome.INTERRUPTED
        if gathered.broken is not None:
            output.narrate(gathered.broken.line)
        if gathered.failures or gathered.broken is not None:
            return Outcome.FAILED
        return Outcome.DONE if found.certain else Outcome.DIFFERENT


def _gathered(base: Recording, args: Namespace, output: Output) -> Gathered[Draw]:
    from vcdebug.cli.executors import executor
    from vcdebug.cli.executors.base import gather
    from vcdebug.cli.progress import count_progress
    from vcdebug.debugger.odds import Draws

    where = executor(args.workers, args.draws, args.scheduler, output.narrate)
    with count_progress(output, "draws", args.draws) as done:
        return gather(where, Draws(base.snapshot, base), range(1, args.draws + 1), done)


def _report(found: Found, base: Recording, args: Namespace, output: Output) -> None:
    from vcdebug.cli.render import show
    from vcdebug.cli.reports import odds

    if args.json:
        output.json(odds.document(found, base, args.draws))
    elif found.draws:
        show(odds.blocks(found, base, args.draws), output)
