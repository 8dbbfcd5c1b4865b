"""`vcdebug diff`: compares two runs, and finds the changes of upstream that alter decisions."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.amount_text import count_noun
from vcdebug.cli import arguments
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.snapshot.snapshot import Snapshot
    from vcdebug.whatif.upgrades import Upgrade

SECOND_RUN_ONLY = "second run only: "


class DiffCommand(Command):
    """Compares two snapshots' cycles, or one with itself under edits, another configuration or another release."""

    HELP = "Compare two runs: changed decisions, first difference, and the upstream change behind it"
    EXAMPLES = ("diff preempt-works --set 'conf:actions=enqueue, allocate'", "diff preempt-works --release v1.13.0")
    EXITS = "Exit status: 0 same decisions, 2 different decisions, 1 error, 130 interrupted"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "before", metavar="A", help=f"{arguments.SNAPSHOT_HELP}; with --release also a folder of snapshots"
        )
        parser.add_argument(
            "after", metavar="B", nargs="?", help="second snapshot (default: A again, with the changes below)"
        )
        parser.add_argument("--conf", metavar="FILE", help="scheduler configuration of the second run")
        arguments.add_shared_options(parser, "--complete")
        arguments.add_shared_options(
            parser,
            "--release",
            scope=f"{SECOND_RUN_ONLY}if nothing else differs, also find the upstream changes that matter; ",
        )
        arguments.add_shared_options(parser, "--set", scope=SECOND_RUN_ONLY)
        arguments.add_cycle_arguments(parser, "; the first cycle with different decisions is compared")
        arguments.add_workers(parser, "for --release: ")
        arguments.add_shared_options(parser, "--json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:

        if args.after is None and not args.edits and args.conf is None and args.release is None:
            raise VcdebugError("nothing to compare with", "give a second snapshot, --set, --conf or --release")
        arguments.check_cycle_arguments(args)
        source = arguments.snapshot_source(args.before) if _only_release(args) else None
        if isinstance(source, Path) and source.is_dir():
            from vcdebug.snapshot.sources import find_snapshots

            snapshots = find_snapshots(source)
            if len(snapshots) > 1:
                return _compare_releases(source, snapshots, args, output)
        return _compare_two(args, output)


def _only_release(args: Namespace) -> bool:
    """Whether the two runs differ in nothing but the release."""
    has_others = args.after is not None or args.edits or args.conf is not None or args.cycles > 1
    return args.release is not None and not has_others


def _compare_two(args: Namespace, output: Output) -> CommandOutcome:
    """Compare two runs; where only the release differs, search the changes that matter."""
    from vcdebug.cli.render import write_blocks
    from vcdebug.cli.reports import comparison, upgrades
    from vcdebug.cli.reports.comparison import ComparedRuns
    from vcdebug.cli.snapshots import read_snapshot, with_configuration, with_edits
    from vcdebug.comparison.cycles import compare_cycles
    from vcdebug.recording.replay import replay_cycle
    from vcdebug.snapshot.edit import expand_edits
    from vcdebug.whatif.cycles import first_different_cycle

    edits = list(expand_edits(args.edits))
    first = read_snapshot(args.before, args.complete)
    second = first if args.after is None else read_snapshot(args.after, args.complete)
    if args.release is not None:
        second = _with_release(second, args.release, output)
    if args.conf is not None:
        second = with_configuration(second, args.conf)
    base = replay_cycle(first)
    # `reuse_from` lets the second replay reuse what the edits do not touch.
    runs = base, replay_cycle(with_edits(second, edits), reuse_from=base)
    number, before, after = first_different_cycle(*runs, arguments.between_cycles(args), args.cycles)
    output.name_jobs(before, after)
    difference = compare_cycles(before, after)
    sides = ComparedRuns(before, after, _run_titles(args, first, second), tuple(edits), (number, args.cycles))
    parted = _search_upgrade(first, second, args, output)
    if args.json:
        upgrade_part = {} if parted is None else {"upgrade": upgrades.upgrade_document(parted)}
        output.write_json({**comparison.comparison_document(difference, sides), **upgrade_part})
    else:
        write_blocks(comparison.comparison_blocks(difference, sides), output)
        write_blocks([] if parted is None else upgrades.upgrade_blocks(parted), output)
    if parted is not None and not parted.is_finished:
        return CommandOutcome.INTERRUPTED
    return CommandOutcome.DONE if difference.has_same_decisions else CommandOutcome.DIFFERENT


def _with_release(snapshot: Snapshot, text: str, output: Output) -> Snapshot:
    """The snapshot under another release; a notice says which one is replayed for an unknown name."""
    from vcdebug.cli.reports.upgrades import wanted_release
    from vcdebug.snapshot.edited_snapshot import snapshot_at_release

    wanted_release(text, output)
    return snapshot_at_release(snapshot, text)


def _search_upgrade(first: Snapshot, second: Snapshot, args: Namespace, output: Output) -> Upgrade | None:
    if not _only_release(args):
        return None
    from vcdebug.cli.reports.upgrades import search_upgrade

    return search_upgrade(first, second.release, args, output)


def _run_titles(args: Namespace, first: Snapshot, second: Snapshot) -> tuple[str, str]:
    before, after = args.before, args.before if args.after is None else args.after
    after = f"{after} with {args.conf}" if args.conf is not None else str(after)
    if args.release is None:
        return before, after
    return f"{before} under {first.release.display_name()}", f"{after} under {second.release.display_name()}"


def _compare_releases(folder: Path, snapshots: list[Path], args: Namespace, output: Output) -> CommandOutcome:
    from vcdebug.cli.batch import incomplete_outcome, run_snapshots
    from vcdebug.cli.render import write_answer
    from vcdebug.cli.reports import upgrades
    from vcdebug.cli.reports.upgrades import UpgradeSearcher, wanted_release

    release = wanted_release(args.release, output)
    batch, runs = run_snapshots(folder, snapshots, UpgradeSearcher(release, args.complete), args, output)
    report = upgrades.Upgrades(batch.names, batch.results, release)
    write_answer(args, output, upgrades.upgrades_document, upgrades.upgrades_blocks, report)
    report.report_failures(output)
    ended = incomplete_outcome(
        runs, f"checked {len(batch.results)} of {count_noun(len(batch.names), 'snapshot')}", output
    )
    return ended or (CommandOutcome.DIFFERENT if report.different_snapshots else CommandOutcome.DONE)
