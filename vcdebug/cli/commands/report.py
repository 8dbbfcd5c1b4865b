"""`vcdebug report`: writes one document about a cycle, to attach to an issue."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from vcdebug.amount_text import count_noun
from vcdebug.cli import arguments
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.debugger.notebook import Bookmark
    from vcdebug.recording.recording import Recording
    from vcdebug.views.report import ReportSubject

STDOUT = "-"


class ReportCommand(Command):
    """Writes Markdown or a self-contained HTML file."""

    HELP = "Write a report (Markdown or HTML): cycle summary, Pending jobs, bookmarks, changes over several cycles"
    EXAMPLES = ("report preempt-blocked-by-gang -o report.html", "report preempt-works --cycles 3 -o cycles.html")

    def add_arguments(self, parser: ArgumentParser) -> None:
        arguments.add_shared_options(parser, "SNAPSHOT", "--complete", "--release")
        arguments.add_options(
            parser,
            """
            -o, --output FILE  FILE.md or FILE.html (default: Markdown to standard output)
            --force            overwrite an existing file
            --job JOB_OR_POD   explain this job; repeatable (default: every Pending job)
            -n, --namespace N  explain the Pending jobs of this namespace; with --job, its namespace
            --bookmarks FILE   JSON or YAML file of bookmarks, as the debugger saves them
            """,
            {
                "--output": {"default": STDOUT},
                "--job": {"action": "append", "default": []},
                "--namespace": {"default": ""},
            },
        )
        arguments.add_shared_options(parser, "--set", "--extender-url")
        arguments.add_cycle_arguments(parser)

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.files import report_file

        # Refuse a bad target before the replay, which may take minutes.
        if args.output != STDOUT:
            report_file.report_target(args.output, force=args.force)
        bookmarks = _read_bookmarks(args, output)
        subject = _report_subject(args, bookmarks)
        if args.output == STDOUT:
            output.write_text(report_file.report_text(subject, report_file.MARKDOWN).rstrip("\n"))
        else:
            output.write_notice(report_file.write_report(subject, args.output, force=args.force))
        return CommandOutcome.DONE


def _report_subject(args: Namespace, bookmarks: tuple[Bookmark, ...]) -> ReportSubject:
    from vcdebug import __version__
    from vcdebug.cli.snapshots import replay_arguments
    from vcdebug.explain.subject_names import find_subject, with_namespace
    from vcdebug.views.report import ReportSubject
    from vcdebug.whatif.cycles import CycleChain

    arguments.check_cycle_arguments(args)
    recording = replay_arguments(args).recording
    if args.namespace:
        args.job = [with_namespace(word, args.namespace) for word in args.job] or _pending_jobs(
            recording, args.namespace
        )
    for word in args.job:
        find_subject(recording, word)  # raises VcdebugError for an unknown name, before anything is written
    cycles: tuple[Recording, ...] = ()
    if args.cycles > 1:
        chain = CycleChain(recording, arguments.between_cycles(args))
        chain.run_cycles(args.cycles)
        cycles = tuple(chain.recordings)
    return ReportSubject(recording, __version__, reproduce_commands(args), bookmarks, tuple(args.job), cycles)


def _pending_jobs(recording: Recording, namespace: str) -> list[str]:
    """The names of the Pending jobs of a namespace; raises VcdebugError without any."""
    from vcdebug.explain.pending.survey import survey_jobs

    jobs = [surveyed.explanation.job for surveyed in survey_jobs(recording).unscheduled_jobs]
    if not (names := [job for job in jobs if job.startswith(f"{namespace}/")]):
        raise VcdebugError("no Pending jobs in this namespace", where=f"namespace {namespace}")
    return names


def reproduce_commands(args: Namespace) -> tuple[str, ...]:
    """The command lines for the same recording and the same report."""
    options = [*arguments.snapshot_options(args)]
    jobs = [word for job in args.job for word in ("--job", job)]
    marks = ["--bookmarks", args.bookmarks] if args.bookmarks else []
    cycles = ["--cycles", str(args.cycles)] if args.cycles > 1 else []
    cycles += ["--every", f"{args.every.total_seconds():g}s"] if args.every else []
    cycles += ["--recreate"] if args.recreate else []
    cycles += [
        word for name in ("finish", "arrivals") if getattr(args, name) for word in (f"--{name}", getattr(args, name))
    ]
    written = [] if args.output == STDOUT else ["-o", args.output]
    again = shlex.join(["vcdebug", "report", args.snapshot, *jobs, *marks, *cycles, *options, *written])
    if args.edits:
        return (again,)
    return (shlex.join(["vcdebug", "open", args.snapshot, *options]), again)


def _read_bookmarks(args: Namespace, output: Output) -> tuple[Bookmark, ...]:
    """The bookmarks of the first cycle; the rest of the file is left out with a notice."""
    from vcdebug.files.text_files import read_notebook

    if args.bookmarks is None:
        return ()
    notebook, faults = read_notebook(args.bookmarks)
    for fault in faults:
        output.write_notice(f"{args.bookmarks}: {fault}")
    bookmarks = tuple(notebook.bookmarks.iter_bookmarks_of(1))
    if len(bookmarks) < len(notebook.bookmarks):
        ignored = len(notebook.bookmarks) - len(bookmarks)
        output.write_notice(f"{args.bookmarks}: ignored {count_noun(ignored, 'bookmark')} of other cycles or branches")
    return bookmarks
