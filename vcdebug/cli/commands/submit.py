"""`vcdebug submit`: what would become of a workload if it were submitted now."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from vcdebug.cli.arguments import add_workers, share
from vcdebug.cli.commands.base import Command, Outcome
from vcdebug.cli.output import Output


class Submit(Command):
    """Adds what the controllers would make of a manifest, replays, and explains it."""

    HELP = "what if this were submitted: add a Volcano Job, Deployment, Job or pods with a PodGroup, and explain it"
    EXITS = "exit status: 0 all of it is scheduled in the next cycle, 2 some of it stays unscheduled, 1 error"

    def configure(self, parser: ArgumentParser) -> None:
        parser.add_argument("snapshot", metavar="SNAPSHOT", help="a snapshot, as for run")
        parser.add_argument(
            "manifest", metavar="MANIFEST", help="YAML or JSON of what is submitted; - is standard input"
        )
        share(parser, "prove", "budget")
        add_workers(parser, "for --prove: ")
        share(parser, "complete", "release", "edits", "json")

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.causes.pending import explain
        from vcdebug.cli.answering import answered, to_go_on_with
        from vcdebug.cli.snapshots import edited_snapshot, load_snapshot
        from vcdebug.errors import SnapshotError
        from vcdebug.files.text import read_text
        from vcdebug.snapshot.workloads import submitted
        from vcdebug.snapshot.yaml_documents import DocumentError, yaml_documents
        from vcdebug.trace.cut import whole
        from vcdebug.trace.replay import replay

        try:
            manifests = [one for one in yaml_documents(read_text(args.manifest)) if isinstance(one, dict)]
        except DocumentError as error:
            raise SnapshotError(f"not YAML: {error}", where=args.manifest) from error
        snapshot = edited_snapshot(load_snapshot(args.snapshot, args.complete, args.release).snapshot, args.edits)
        added = submitted(snapshot, manifests)
        recording = whole(replay(added.snapshot))
        explanations = [explain(recording, job) for job in added.jobs]
        documents = [answered(recording, one, args, output, to_go_on_with) for one in explanations]
        if args.json:
            output.json({"submitted": documents})
        return Outcome.DONE if all(one.scheduled for one in explanations) else Outcome.UNSCHEDULED
