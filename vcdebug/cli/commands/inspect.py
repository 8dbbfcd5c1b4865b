"""`vcdebug inspect`: shows objects, problems and configuration of a snapshot."""

from argparse import ArgumentParser, Namespace

from vcdebug.cli.arguments import add_options, add_shared_options
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError
from vcdebug.snapshot.snapshot import Snapshot


class InspectCommand(Command):
    """Says what a snapshot contains and what is wrong with it."""

    HELP = "Show contents, problems and effective configuration of a snapshot"
    EXAMPLES = ("inspect preempt-works",)
    EXITS = (
        "Exit status: 0 no input problems (with --against: no differences), 2 input problems or differences, 1 error"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_shared_options(parser, "SNAPSHOT", "--complete", "--release")
        dump = "dump of a scheduler's cache, written on SIGUSR1: list its differences from the replay"
        add_options(parser, f"--against DUMP  {dump}")
        add_shared_options(parser, "--json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.render import write_answer
        from vcdebug.cli.reports import contents
        from vcdebug.cli.snapshots import read_snapshot

        snapshot = read_snapshot(args.snapshot, args.complete, args.release)
        if args.against is not None:
            return _compare_with_dump(snapshot, args, output)
        inspection = contents.inspect_snapshot(snapshot)
        write_answer(args, output, contents.inspection_document, contents.inspection_blocks, inspection)
        return CommandOutcome.PROBLEMS if inspection.problems else CommandOutcome.DONE


def _compare_with_dump(snapshot: Snapshot, args: Namespace, output: Output) -> CommandOutcome:
    """Compare a dump of the real scheduler's cache with the state that the replay starts from."""
    from vcdebug.cli.render import write_answer
    from vcdebug.cli.reports import checks
    from vcdebug.comparison.cache_dump import compare_dump
    from vcdebug.files.text_files import read_text
    from vcdebug.snapshot.archive import MAX_BYTES

    try:
        comparison = compare_dump(read_text(args.against, MAX_BYTES), snapshot)
    except VcdebugError as error:
        raise error if error.where else type(error)(error.message, error.hint, args.against) from error
    write_answer(args, output, checks.dump_document, checks.dump_blocks, comparison)
    return CommandOutcome.DONE if comparison.has_no_difference else CommandOutcome.PROBLEMS
