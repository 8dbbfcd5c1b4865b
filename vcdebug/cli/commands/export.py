"""`vcdebug export` writes a recording as tables, or as a trace for Perfetto; `vcdebug query` writes chosen events."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vcdebug.amount_text import count_noun
from vcdebug.cli import arguments
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output, RunFailure, run_or_failure

if TYPE_CHECKING:
    from vcdebug.recording.recording import Recording
    from vcdebug.releases.release import Release
    from vcdebug.views.document import Block


class ExportCommand(Command):
    """Replays a snapshot and writes its recording for other programs."""

    HELP = "Write the recording as tables (JSON lines, CSV) or as a trace for Perfetto"
    EXAMPLES = (
        "export preempt-works --to tables --format csv",
        "export preempt-works --to trace.json --format perfetto",
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        arguments.add_shared_options(parser, "SNAPSHOT", "--complete", "--release")
        parser.add_argument("--to", metavar="PATH", required=True, help="folder for the tables, or file for the trace")
        parser.add_argument(
            "--format",
            choices=("jsonl", "csv", "parquet", "arrow", "perfetto"),
            default="jsonl",
            help="jsonl, csv, parquet and arrow write a file per table, perfetto one trace with a span per action, "
            "queue, job and task; parquet and arrow need the extra tables (default: jsonl)",
        )
        arguments.add_shared_options(parser, "--set", "--extender-url", "--no-cache", "--json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.render import write_release_answer
        from vcdebug.cli.snapshots import replay_arguments
        from vcdebug.files.table_files import export_recording

        recording, _ = replay_arguments(args, keeping=arguments.cached_recordings(args, output))
        written = export_recording(recording, Path(args.to), args.format)
        document = {"written": list(map(str, written)), "format": args.format}
        write_release_answer(
            args, output, recording.snapshot.release, lambda *_: document, _export_blocks, args, written
        )
        return CommandOutcome.DONE


def _export_blocks(args: Namespace, written: Sequence[Path]) -> Iterator[Block]:
    from vcdebug.views.document import make_paragraph

    yield make_paragraph(f"{count_noun(len(written), 'file')} written to {args.to}")


class QueryCommand(Command):
    """Lists the events at which a breakpoint would stop, in one cycle or many, of one snapshot or many."""

    HELP = "List the events that match a breakpoint, with the columns that you choose"
    EXAMPLES = ("query preempt-works 'victim if plugin == \"gang\"' --columns seq,task,node",)

    def add_arguments(self, parser: ArgumentParser) -> None:
        arguments.add_options(
            parser,
            f"""
            SNAPSHOT        {arguments.SNAPSHOT_HELP}; also a folder of snapshots or recordings
            WORDS           which events, as break takes them: 'victim if plugin == "gang"'
            --columns LIST  fields and expressions with commas between them: seq,job,'count(victims)' (default: the
                            event with its action, queue, job, task, node, plugin, hook and result)
            """,
        )
        parser.add_argument(
            "--format", choices=("text", "csv", "jsonl"), default="text", help="format of the rows (default: text)"
        )
        arguments.add_cycle_arguments(parser, "; the events of all of them")
        arguments.add_shared_options(parser, "--complete", "--release", "--set", "--no-cache")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.render import write_blocks
        from vcdebug.debugger.tables import query_table
        from vcdebug.files.table_files import TEXT_WRITERS, format_cell
        from vcdebug.views.document import iter_release_paragraphs, make_listing, name_jobs
        from vcdebug.views.notebook import found_table

        arguments.check_cycle_arguments(args)
        recordings = _AskedRecordings(args, output)
        table = query_table(args.words, args.columns or "")
        types = {**dict.fromkeys(recordings.labels, "text"), **table.types}
        if args.format != "text":
            rows = ((*label, *row) for label, recording in recordings for row in table.iter_rows(recording))
            TEXT_WRITERS[args.format](types, rows, lambda text: output.write_text(text.removesuffix("\n")))
            return recordings.outcome
        if args.columns:
            texts = (
                [*label, *(recording.job_names.in_text(format_cell(value)) for value in row)]
                for label, recording in recordings
                for row in table.iter_rows(recording)
            )
            write_blocks([make_listing(list(types), texts)], output)
        else:
            for label, recording in recordings:
                heading = [f"{title} {text}" for title, text in zip(recordings.labels, label, strict=True)]
                matches = found_table(recording, 0, args.words)
                titled = replace(matches, title=", ".join((*heading, matches.title)))
                write_blocks([name_jobs(titled, recording.job_names)], output)
        write_blocks(iter_release_paragraphs(recordings.releases), output)
        return recordings.outcome


class _AskedRecordings:
    """Iterates over (labels, recording) for all snapshots and cycles that the arguments name."""

    def __init__(self, args: Namespace, output: Output) -> None:
        from vcdebug.snapshot.sources import find_snapshots

        self._args, self._output = args, output
        source = arguments.snapshot_source(args.snapshot)
        self._folder = Path(source) if isinstance(source, Path) and source.is_dir() else None
        below: list[str | Path] = [*find_snapshots(self._folder)] if self._folder else []
        self._snapshots = below or [source]
        several = len(self._snapshots) > 1
        self.labels = (*(("snapshot",) if several else ()), *(("cycle",) if args.cycles > 1 else ()))
        self.outcome = CommandOutcome.DONE
        self.releases: dict[Release, list[str]] = {}
        """Release -> the snapshots that are replayed by it, as far as the iteration came."""

    def __iter__(self) -> Iterator[tuple[tuple[str, ...], Recording]]:
        for snapshot in self._snapshots:
            replayed = run_or_failure(partial(self._replay_snapshot, snapshot))
            if isinstance(replayed, RunFailure):
                self._output.write_notice(replayed.line)
                self.outcome = CommandOutcome.FAILED
                continue
            name = str(Path(snapshot).relative_to(self._folder)) if self._folder and len(self._snapshots) > 1 else ""
            self.releases.setdefault(replayed.snapshot.release, []).append(name)
            for cycle, recording in self._iter_cycles(replayed):
                yield tuple(filter(None, (name, str(cycle) if self._args.cycles > 1 else ""))), recording

    def _replay_snapshot(self, snapshot: str | Path) -> Recording:
        from vcdebug.cli.snapshots import replay_snapshot
        from vcdebug.debugger.breakpoint import parse_breakpoint

        args = self._args
        options = {"complete": args.complete, "release": args.release, "edits": args.edits}
        recording = replay_snapshot(
            snapshot, keeping=arguments.cached_recordings(args, self._output), **options
        ).recording
        # Some of many snapshots may lack a named object; in a single snapshot it is misspelt.
        parse_breakpoint(args.words, 0, recording if len(self._snapshots) == 1 else None)
        return recording

    def _iter_cycles(self, recording: Recording) -> Iterator[tuple[int, Recording]]:
        from vcdebug.whatif.cycles import replay_next_cycle

        yield 1, recording
        for cycle in range(2, self._args.cycles + 1):
            recording = replay_next_cycle(recording, arguments.between_cycles(self._args), cycle)
            yield cycle, recording
