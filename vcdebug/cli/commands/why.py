"""`vcdebug why`: where a value or a decision comes from, back to the manifest's line."""

from argparse import ArgumentParser, Namespace

from vcdebug.cli.arguments import add_options, add_shared_options, cached_recordings, positive_number
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output


class WhyCommand(Command):
    """Prints the tree of facts below one fact."""

    HELP = "Show where a value or decision comes from, event by event, back to the line of the manifest"
    EXAMPLES = (
        "why preempt-blocked-by-gang research/llm-finetune",
        "why preempt-works node gpu-l40s-01 idle gpu at 60",
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_shared_options(parser, "SNAPSHOT")
        add_options(
            parser,
            """
            WHAT       a job, a pod, the number of an event, or a figure such as `node n1 idle cpu` or `queue q
                       allocated cpu`; append `at N` for the value after event N (default: at the end)
            --depth N  number of levels to show (default: 4)
            """,
            {"WHAT": {"nargs": "+"}, "--depth": {"type": positive_number, "default": 4}},
        )
        add_shared_options(
            parser, "--namespace", "--complete", "--release", "--set", "--extender-url", "--no-cache", "--json"
        )

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.render import write_release_answer
        from vcdebug.cli.snapshots import replay_arguments
        from vcdebug.debugger.figures import FIGURE_KINDS
        from vcdebug.debugger.origins import find_fact
        from vcdebug.explain.subject_names import with_namespace
        from vcdebug.views.origins import why_blocks, why_document

        recording, _ = replay_arguments(args, keeping=cached_recordings(args, output))
        output.name_jobs(recording)
        kind, *names = args.what
        if kind in ("job", "task") and names:
            args.what[1] = with_namespace(names[0], args.namespace)
        elif kind not in FIGURE_KINDS and not kind.isdigit():
            args.what[0] = with_namespace(kind, args.namespace)
        fact = find_fact(recording, len(recording), recording.job_names.to_ids(" ".join(args.what)))
        release = recording.snapshot.release
        write_release_answer(args, output, release, why_document, why_blocks, recording, fact, args.depth)
        return CommandOutcome.DONE
