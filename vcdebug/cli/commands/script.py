"""`vcdebug script`: runs debugger commands from a file or standard input."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.cli.arguments import STDIN, add_options, add_shared_options, cached_recordings, source_reader
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.debugger.driver import Driver


class ScriptCommand(Command):
    """Runs the debugger without a screen; stops at the first line that fails."""

    HELP = "Run debugger commands from a file or standard input, one per line"
    EXAMPLES = ("script preempt-works commands.txt",)
    EXITS = "Exit status: 0 done, 2 an explained job is still Pending, 1 error (with the number of the line)"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_shared_options(parser, "SNAPSHOT", "--complete", "--release")
        add_options(parser, "FILE  file of debugger commands; - for standard input")
        add_shared_options(parser, "--set", "--extender-url", "--no-cache", "--source", "--json")
        stream = "answer each line immediately with one line of JSON; the answer to a line that fails is its error"
        add_options(parser, f"--stream  {stream}")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.snapshots import replay_arguments
        from vcdebug.debugger.driver import Driver
        from vcdebug.files.text_files import read_text

        if args.snapshot == STDIN and args.file == STDIN:
            raise VcdebugError("SNAPSHOT and FILE cannot both be standard input")
        lines = [] if args.stream else read_text(args.file).splitlines()
        replayed = replay_arguments(args, keeping=cached_recordings(args, output))
        driver = Driver(replayed.recording)
        driver.source = source_reader(args)
        if args.stream:
            return _answer_lines(driver, args.file, output)
        waits = _run_lines(driver, lines, args, output)
        return CommandOutcome.UNSCHEDULED if waits else CommandOutcome.DONE


def _answer_lines(driver: Driver, file: str, output: Output) -> CommandOutcome:
    """Answer line by line, up to the end of the file or `quit`."""
    import sys

    from vcdebug.cli.reports.script import answer_document, run_command

    waits = False
    with Path(file).open(encoding="utf-8", errors="replace") if file != STDIN else nullcontext(sys.stdin) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                report = run_command(driver, line.strip(), number)
            except VcdebugError as error:
                output.write_json_line({"line": number, "command": line.strip(), "error": error.format_line()})
                continue
            if report.script_answer.show == "quit":
                break
            waits = waits or report.is_pending
            output.write_json_line(answer_document(report))
    return CommandOutcome.UNSCHEDULED if waits else CommandOutcome.DONE


def _run_lines(driver: Driver, lines: list[str], args: Namespace, output: Output) -> bool:
    """Run and print all lines; returns whether some explained job stays unscheduled."""
    from vcdebug.cli.render import write_blocks
    from vcdebug.cli.reports import script
    from vcdebug.debugger.commands import ScriptError, run_script
    from vcdebug.views.document import release_paragraph

    steps: list[dict[str, object]] = []
    failed: ScriptError | None = None
    waits = False
    try:
        for answer in run_script(driver, lines):
            report = script.AnswerReport(answer, driver)
            waits = waits or report.is_pending
            if args.json:
                steps.append(script.answer_document(report))
            else:
                write_blocks(script.answer_blocks(report), output)
    except ScriptError as error:
        # The steps so far are written before the error ends the command.
        error.where = f"{args.file}: {error.where}"
        failed = error
    release = driver.current_state().recording.snapshot.release
    if args.json:
        stop = {"line": failed.number, "message": failed.message} if failed is not None else None
        output.write_json({"steps": steps, "error": stop, "release": release.build_document()})
    if failed is not None:
        raise failed
    if not args.json:
        write_blocks([release_paragraph(release)], output)
    return waits
