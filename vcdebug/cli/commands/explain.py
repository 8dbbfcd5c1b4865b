"""`vcdebug explain`: why a job is Pending."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from vcdebug.cli.commands.base import Command, Outcome, add_edits, add_extender, add_json, add_snapshot
from vcdebug.cli.output import Output


class Explain(Command):
    """Names the one gate that keeps a job out, with its numbers and the events that prove it."""

    NAME = "explain"
    HELP = "say why a job is Pending: the gate that keeps it out, the numbers, the proof, and what would help"
    EXITS = "exit status: 0 the job is scheduled in this cycle, 2 it stays unscheduled, 1 error"

    def configure(self, parser: ArgumentParser) -> None:
        add_snapshot(parser)
        parser.add_argument("job", metavar="JOB_OR_POD", help="NAMESPACE/NAME, or a name that is unique")
        add_edits(parser)
        add_extender(parser)
        add_json(parser)

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.render import show
        from vcdebug.cli.reports import pending
        from vcdebug.cli.reports.cycle import problem_count
        from vcdebug.cli.snapshots import replay_snapshot
        from vcdebug.explain.pending import explain

        recording = replay_snapshot(
            args.snapshot, complete=args.complete, edits=args.edits, extender_url=args.extender_url
        ).recording
        explanation = explain(recording, args.job)
        if args.json:
            output.json(pending.document(explanation))
        else:
            show([*pending.blocks(explanation), *problem_count(recording)], output)
        return Outcome.DONE if explanation.scheduled else Outcome.UNSCHEDULED
