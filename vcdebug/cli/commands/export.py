"""`vcdebug export`: writes a recording as tables, or as a trace for Perfetto."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from vcdebug.amount_text import count_noun
from vcdebug.cli.arguments import add_shared_arguments, cached_recordings
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output


class ExportCommand(Command):
    """Replays a snapshot and writes its recording for other programs."""

    HELP = "write the recording as tables, or as a trace for Perfetto"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_shared_arguments(parser, "snapshot", "complete", "release")
        parser.add_argument(
            "--to", metavar="PATH", required=True, help="the folder for the tables, or the file for the trace"
        )
        parser.add_argument(
            "--format",
            choices=("jsonl", "csv", "perfetto"),
            default="jsonl",
            help="jsonl (the default) and csv write a file per table, perfetto one trace with a span per action, "
            "queue, job and task",
        )
        add_shared_arguments(parser, "edits", "extender", "no-cache", "json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.snapshots import replay_arguments
        from vcdebug.files.table_files import export_recording

        recording, _ = replay_arguments(args, keeping=cached_recordings(args, output))
        written = export_recording(recording, Path(args.to), args.format)
        if args.json:
            output.write_json({"written": list(map(str, written)), "format": args.format})
        else:
            output.write_text(f"{count_noun(len(written), 'file')} written to {args.to}\n")
        return CommandOutcome.DONE
