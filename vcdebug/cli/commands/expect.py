"""`vcdebug expect`: regression tests for a scheduler configuration."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vcdebug.cli.arguments import add_shared_options
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError
from vcdebug.printable import make_printable

if TYPE_CHECKING:
    from vcdebug.cli.reports.checks import CheckedExpectation
    from vcdebug.debugger.expectations import Expectation


class ExpectCommand(Command):
    """Replays snapshots and compares the outcomes with what a file expects."""

    HELP = "Check expected outcomes of snapshots, for CI: jobs placed or Pending with a cause, pods not evicted"
    EXAMPLES = ("expect expectations.yaml --junit results.xml",)
    EXITS = "Exit status: 0 all expectations met, 2 some not met, 1 error"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", metavar="FILE", help="YAML list of snapshots, each with the expected outcomes (docs/expect.md)"
        )
        parser.add_argument("--junit", metavar="XML", help="also write the result as JUnit XML to this file")
        add_shared_options(parser, "--complete", "--json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.render import write_answer
        from vcdebug.cli.reports import checks
        from vcdebug.debugger.expectations import read_expectations
        from vcdebug.files.text_files import check_target, read_text, write_text

        target = None if args.junit is None else check_target(args.junit, force=True)
        text, folder = read_text(args.file), Path(args.file).parent
        cases = [expanded for case in read_expectations(text, args.file) for expanded in _expand_folder(case, folder)]
        checked = [_check_expectation(case, folder, complete=args.complete) for case in cases]
        if target is not None:
            write_text(target, make_printable(checks.junit_xml(checked)))
        write_answer(args, output, checks.expectations_document, checks.expectation_blocks, checked)
        if any(case.error for case in checked):
            return CommandOutcome.FAILED
        return CommandOutcome.DONE if all(case.is_met for case in checked) else CommandOutcome.DIFFERENT


def _expand_folder(case: Expectation, folder: Path) -> Iterator[Expectation]:
    """One expectation per snapshot of a folder; paths are relative to `folder`, that of the file."""
    from vcdebug.snapshot.sources import find_snapshots

    in_folder = folder / case.snapshot
    source = in_folder if in_folder.exists() else Path(case.snapshot)
    snapshots = find_snapshots(source) if source.is_dir() else []
    if not snapshots:
        yield replace(case, snapshot=str(source) if source.exists() else case.snapshot)
    for snapshot in snapshots:
        yield replace(case, snapshot=str(snapshot), name=f"{case.name}: {snapshot.relative_to(source)}")


def _check_expectation(case: Expectation, folder: Path, *, complete: bool | None) -> CheckedExpectation:
    """The verdicts of one expectation; a snapshot that cannot be replayed becomes its error."""
    from vcdebug.cli.reports.checks import CheckedExpectation
    from vcdebug.cli.snapshots import read_snapshot, with_configuration, with_edits
    from vcdebug.debugger.expectations import check_expectation
    from vcdebug.recording.recording import disposing, require_complete
    from vcdebug.recording.replay import replay_cycle

    start = time.perf_counter()
    try:
        snapshot = read_snapshot(case.snapshot, complete)
        if case.conf is not None:
            in_folder = folder / case.conf
            snapshot = with_configuration(snapshot, str(in_folder if in_folder.exists() else case.conf))
        with disposing(replay_cycle(with_edits(snapshot, case.all_edits))) as recording:
            verdicts = tuple(check_expectation(case, require_complete(recording)))
    except (VcdebugError, OSError) as error:  # the other expectations are still checked
        return CheckedExpectation(case.name, (), time.perf_counter() - start, str(error))
    seconds, release = time.perf_counter() - start, recording.snapshot.release
    return CheckedExpectation(case.name, verdicts, seconds, release=release, job_names=recording.job_names)
