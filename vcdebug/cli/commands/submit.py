"""`vcdebug submit`: explains what would happen to a workload that is submitted now."""

from argparse import ArgumentParser, Namespace

from vcdebug.cli.arguments import add_options, add_shared_options, add_workers
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output


class SubmitCommand(Command):
    """Adds the pods that controllers would create for a manifest, replays the cycle, and explains the jobs."""

    HELP = "Add a workload to a snapshot and explain whether it would be scheduled"
    EXAMPLES = ("submit preempt-works job.yaml --prove",)
    EXITS = "Exit status: 0 scheduled in the next cycle, 2 some of it is still Pending, 1 error"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_shared_options(parser, "SNAPSHOT")
        manifest = "YAML or JSON of a Volcano Job, Deployment, StatefulSet, Job, PodGroup or pods; - for standard input"
        add_options(parser, f"MANIFEST  {manifest}")
        add_shared_options(parser, "--verbose", "--prove", "--budget")
        add_workers(parser, "for --prove: ")
        add_shared_options(parser, "--complete", "--release", "--set", "--json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.reports.explanation import write_explanation
        from vcdebug.cli.snapshots import read_snapshot, with_edits
        from vcdebug.errors import SnapshotError
        from vcdebug.explain.pending.explanation import explain_by_name
        from vcdebug.files.text_files import read_text
        from vcdebug.recording.recording import require_complete
        from vcdebug.recording.replay import replay_cycle
        from vcdebug.snapshot.workloads import submit_workloads
        from vcdebug.snapshot.yaml_documents import DocumentError, yaml_documents

        try:
            manifests = [item for item in yaml_documents(read_text(args.manifest)) if isinstance(item, dict)]
        except DocumentError as error:
            raise SnapshotError(f"not YAML: {error}", where=args.manifest) from error
        snapshot = with_edits(read_snapshot(args.snapshot, args.complete, args.release), args.edits)
        added = submit_workloads(snapshot, manifests)
        recording = require_complete(replay_cycle(added.snapshot))
        output.name_jobs(recording)
        answers = [explain_by_name(recording, job) for job in added.jobs]
        documents = [write_explanation(recording, answer, args, output) for answer in answers]
        if args.json:
            output.write_json({"submitted": documents})
        return CommandOutcome.DONE if all(answer.scheduled for answer in answers) else CommandOutcome.UNSCHEDULED
