"""`vcdebug diff`: two runs side by side, and what another release would decide."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.cli.commands.base import (
    SNAPSHOT_HELP,
    Command,
    Outcome,
    add_complete,
    add_edits,
    add_json,
    add_release,
    add_workers,
)
from vcdebug.cli.cycling import add_cycles, between_of, check_cycles
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.cli.failure import Failure
    from vcdebug.cli.reports.upgrades import Upgrades
    from vcdebug.debugger.upgrades.upgrade import Upgrade
    from vcdebug.snapshot.snapshot import Snapshot


class Diff(Command):
    """Compares two snapshots' cycles, or one with itself under edits, another configuration or another release."""

    NAME = "diff"
    HELP = (
        "compare two runs: which decisions changed, at which event and vote they part, which change of upstream did it"
    )
    EXITS = "exit status: 0 the same decisions, 2 different ones, 1 error, 130 interrupted"

    def configure(self, parser: ArgumentParser) -> None:
        parser.add_argument("before", metavar="A", help=f"{SNAPSHOT_HELP}; with --release, or a folder of snapshots")
        parser.add_argument("after", metavar="B", nargs="?", help="the other snapshot; without one, A once more")
        parser.add_argument("--conf", metavar="FILE", help="the second run takes its configuration from this file")
        add_complete(parser)
        add_release(parser, "for the second run only; where nothing else differs, the changes that part the two: ")
        add_edits(parser, "for the second run only; ")
        add_cycles(parser, "; the first one in which the two decide otherwise is compared")
        add_workers(parser, "for --release: ")
        add_json(parser)

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

    named = wanted_release(text)
    if named.what:
        output.narrate(f"{named.what}: {named.effect}")
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
    """Every snapshot below a folder; one that cannot be replayed does not keep the others from it."""
    from vcdebug.cli.executors import executor
    from vcdebug.cli.executors.base import gather
    from vcdebug.cli.packing import packed
    from vcdebug.cli.progress import count_progress
    from vcdebug.cli.reports.upgrades import Upgrades
    from vcdebug.cli.upgrading import Upgrader, wanted_release

    named = wanted_release(args.release)
    if named.what:
        output.narrate(f"{named.what}: {named.effect}")
    names = tuple(path.relative_to(folder).as_posix() for path in snapshots)
    items = (packed(path, name) for path, name in zip(snapshots, names, strict=True))
    where = executor(args.workers, len(snapshots), args.scheduler, output.narrate)
    with count_progress(output, "snapshots", len(snapshots)) as done:
        gathered = gather(where, Upgrader(named.release, args.complete), items, done)
    answers: dict[int, Upgrade | Failure] = {**gathered.results, **gathered.failures}
    found = Upgrades(named.release, names, {names[number]: answers[number] for number in sorted(answers)})
    _report(found, args, output)
    if gathered.interrupted:
        output.narrate(f"interrupted: {len(answers)} of {len(names)} snapshots were looked at")
        return Outcome.INTERRUPTED
    if gathered.broken is not None:
        output.narrate(gathered.broken.line)
    if gathered.failures or gathered.broken is not None:
        return Outcome.FAILED
    return Outcome.DIFFERENT if found.different else Outcome.DONE


def _report(found: Upgrades, args: Namespace, output: Output) -> None:
    from vcdebug.cli.render import show
    from vcdebug.cli.reports import upgrades

    if args.json:
        output.json(upgrades.document_of_many(found))
    else:
        show(upgrades.blocks_of_many(found), output)
    for name, line in found.failures.items():
        output.narrate(line if line.startswith(name) else f"{name}: {line}")
