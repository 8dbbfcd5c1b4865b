"""`vcdebug diff`: two runs side by side, and what another release would decide."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.cli.arguments import SNAPSHOT, add_workers, share
from vcdebug.cli.commands.base import Command, Outcome
from vcdebug.cli.cycling import add_cycles, between_of, check_cycles
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.debugger.upgrades.search import Upgrade
    from vcdebug.snapshot.snapshot import Snapshot

SECOND = "for the second run only; "


class Diff(Command):
    """Compares two snapshots' cycles, or one with itself under edits, another configuration or another release."""

    HELP = (
        "compare two runs: which decisions changed, at which event and vote they part, which change of upstream did it"
    )
    EXITS = "exit status: 0 the same decisions, 2 different ones, 1 error, 130 interrupted"

    def configure(self, parser: ArgumentParser) -> None:
        parser.add_argument("before", metavar="A", help=f"{SNAPSHOT}; with --release, or a folder of snapshots")
        parser.add_argument("after", metavar="B", nargs="?", help="the other snapshot; without one, A once more")
        parser.add_argument("--conf", metavar="FILE", help="the second run takes its configuration from this file")
        share(parser, "complete")
        share(parser, "release", scope=f"{SECOND}where nothing else differs, the changes that part the two: ")
        share(parser, "edits", scope=SECOND)
        add_cycles(parser, "; the first one in which the two decide otherwise is compared")
        add_workers(parser, "for --release: ")
        share(parser, "json")

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.sources import source

        if args.after is None and not args.edits and args.conf is None and args.release is None:
            raise VcdebugError("there is nothing to compare with", "give a second snapshot, --set, --conf or --release")
        check_cycles(args)
        where = source(args.before) if _only_release(args) else None
        if isinstance(where, Path) and where.is_dir():
            from vcdebug.snapshot.collection import snapshots_in

            snapshots = snapshots_in(where)
            if len(snapshots) > 1:
                return _many(where, snapshots, args, output)
        return _two(args, output)


def _only_release(args: Namespace) -> bool:
    """Whether the two runs differ in nothing but the release."""
    others = args.after is not None or args.edits or args.conf is not None or args.cycles > 1
    return args.release is not None and not others


def _two(args: Namespace, output: Output) -> Outcome:
    """Two runs; where only the release differs, with the changes that part them."""
    from vcdebug.cli.render import show
    from vcdebug.cli.reports import comparison, upgrades
    from vcdebug.cli.reports.comparison import Sides
    from vcdebug.cli.snapshots import edited_snapshot, load_snapshot, with_conf
    from vcdebug.compare.cycles import compare
    from vcdebug.debugger.cycles import first_apart
    from vcdebug.snapshot.edit_file import expanded
    from vcdebug.trace.replay import replay

    edits = list(expanded(args.edits))
    first = load_snapshot(args.before, args.complete).snapshot
    second = first if args.after is None else load_snapshot(args.after, args.complete).snapshot
    if args.release is not None:
        second = _released(second, args.release, output)
    if args.conf is not None:
        second = with_conf(second, args.conf)
    base = replay(first)
    runs = base, replay(edited_snapshot(second, edits), beside=base)
    number, before, after = first_apart(*runs, between_of(args), args.cycles)
    found = compare(before, after)
    sides = Sides(before, after, _titles(args, first, second), tuple(edits), (number, args.cycles))
    parted = _parted(first, second, args, output)
    if args.json:
        more = {} if parted is None else {"upgrade": upgrades.document(parted)}
        output.json({**comparison.document(found, sides), **more})
    else:
        show(comparison.blocks(found, sides), output)
        show([] if parted is None else upgrades.blocks(parted), output)
    if parted is not None and not parted.finished:
        return Outcome.INTERRUPTED
    return Outcome.DONE if found.same else Outcome.DIFFERENT


def _released(snapshot: Snapshot, text: str, output: Output) -> Snapshot:
    """The snapshot under the release that is asked for; where another one is replayed for it, this is said."""
    from vcdebug.cli.upgrading import wanted_release
    from vcdebug.snapshot.edit_apply import released

    wanted_release(text, output)
    return released(snapshot, text)


def _parted(first: Snapshot, second: Snapshot, args: Namespace, output: Output) -> Upgrade | None:
    if not _only_release(args):
        return None
    from vcdebug.cli.upgrading import searched

    return searched(first, second.release, args, output)


def _titles(args: Namespace, first: Snapshot, second: Snapshot) -> tuple[str, str]:
    before, after = args.before, args.before if args.after is None else args.after
    after = f"{after} with {args.conf}" if args.conf is not None else str(after)
    if args.release is None:
        return before, after
    return f"{before} under {first.release.text()}", f"{after} under {second.release.text()}"


def _many(folder: Path, snapshots: list[Path], args: Namespace, output: Output) -> Outcome:
    """Every snapshot below a folder."""
    from vcdebug.cli.many import of_snapshots, shortcoming
    from vcdebug.cli.render import answer
    from vcdebug.cli.reports import upgrades
    from vcdebug.cli.upgrading import Upgrader, wanted_release

    release = wanted_release(args.release, output)
    done, runs = of_snapshots(folder, snapshots, Upgrader(release, args.complete), args, output)
    found = upgrades.Upgrades(done.names, done.done, release)
    answer(args, output, upgrades.document_of_many, upgrades.blocks_of_many, found)
    found.tell_failures(output)
    ended = shortcoming(runs, f"{len(found.done)} of {len(found.names)} snapshots were looked at", output)
    return ended or (Outcome.DIFFERENT if found.different else Outcome.DONE)
