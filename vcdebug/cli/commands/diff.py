"""`vcdebug diff`: two runs side by side."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from vcdebug.cli.commands.base import Command, Outcome, add_complete, add_edits, add_json
from vcdebug.cli.cycling import add_cycles, between_of, check_cycles
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError


class Diff(Command):
    """Compares two snapshots' cycles, or one with itself under edits or another configuration."""

    NAME = "diff"
    HELP = "compare two runs: which decisions changed, and at which event and vote they part"
    EXITS = "exit status: 0 the same decisions, 2 different ones, 1 error"

    def configure(self, parser: ArgumentParser) -> None:
        parser.add_argument("before", metavar="A", help="a snapshot, as for run")
        parser.add_argument("after", metavar="B", nargs="?", help="the other snapshot; without one, A once more")
        parser.add_argument("--conf", metavar="FILE", help="the second run takes its configuration from this file")
        add_complete(parser)
        add_edits(parser, "for the second run only; ")
        add_cycles(parser, "; the first one in which the two decide otherwise is compared")
        add_json(parser)

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.render import show
        from vcdebug.cli.reports import comparison
        from vcdebug.cli.reports.comparison import Sides
        from vcdebug.cli.snapshots import edited_snapshot, load_snapshot, with_conf
        from vcdebug.debugger.cycles import first_apart
        from vcdebug.explain.divergence import compare
        from vcdebug.snapshot.edit_file import expanded
        from vcdebug.trace.replay import replay

        if args.after is None and not args.edits and args.conf is None:
            raise VcdebugError("there is nothing to compare with", "give a second snapshot, --set or --conf")
        check_cycles(args)
        edits = list(expanded(args.edits))
        first = load_snapshot(args.before, args.complete).snapshot
        second = first if args.after is None else load_snapshot(args.after, args.complete).snapshot
        if args.conf is not None:
            second = with_conf(second, args.conf)
        runs = replay(first), replay(edited_snapshot(second, edits))
        number, before, after = first_apart(*runs, between_of(args), args.cycles)
        found = compare(before, after)
        sides = Sides(before, after, (args.before, _title(args)), tuple(edits), (number, args.cycles))
        if args.json:
            output.json(comparison.document(found, sides))
        else:
            show(comparison.blocks(found, sides), output)
        return Outcome.DONE if found.same else Outcome.DIFFERENT


def _title(args: Namespace) -> str:
    name = args.before if args.after is None else args.after
    return f"{name} with {args.conf}" if args.conf is not None else str(name)
