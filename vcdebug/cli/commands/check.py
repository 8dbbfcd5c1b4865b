"""`vcdebug check`: compares a real scheduler's log with the replay."""

from argparse import ArgumentParser, Namespace

from vcdebug.cli.arguments import add_options, add_shared_options
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output


class CheckCommand(Command):
    """Finds the first line in which log and replay disagree."""

    HELP = "Compare a scheduler log with the replay, up to the first difference"
    EXAMPLES = ("check scheduler.log incident.tar.gz",)
    EXITS = "Exit status: 0 log and replay agree, 2 they differ, 1 error"

    def add_arguments(self, parser: ArgumentParser) -> None:
        excerpts = "or excerpts of it with ... on a line between them"
        add_options(parser, f"LOG  log of a scheduler with -v=3 or higher, {excerpts}; .gz or - for standard input")
        add_shared_options(parser, "SNAPSHOT", "--complete", "--release")
        cycle = "--cycle N  cycle of the log to compare (default: the one that agrees longest)"
        add_options(parser, cycle, {"--cycle": {"type": int}})
        add_shared_options(parser, "--json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.render import write_release_answer
        from vcdebug.cli.reports import checks
        from vcdebug.cli.snapshots import replay_arguments
        from vcdebug.comparison.scheduler_log import check_log
        from vcdebug.errors import VcdebugError
        from vcdebug.files.text_files import STDIN, read_text
        from vcdebug.snapshot.archive import MAX_BYTES

        if args.log == args.snapshot == STDIN:
            raise VcdebugError("LOG and SNAPSHOT cannot both be standard input")
        lines = read_text(args.log, MAX_BYTES).split("\n")
        recording = replay_arguments(args).recording
        try:
            checked = check_log(lines, recording, cycle=args.cycle)
        except VcdebugError as error:
            raise error if error.where else type(error)(error.message, error.hint, args.log) from error
        report = checks.log_check_document, checks.log_check_blocks
        write_release_answer(args, output, recording.snapshot.release, *report, checked)
        return CommandOutcome.DONE if checked.has_no_disagreement else CommandOutcome.PROBLEMS
