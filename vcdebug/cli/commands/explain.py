"""`vcdebug explain`: why a job is Pending, or why each of many is."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.cli.arguments import SNAPSHOT, add_workers, share
from vcdebug.cli.commands.base import Command, Outcome
from vcdebug.cli.keeping import keeping_of
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.cli.reports.surveys import Again, Surveys
    from vcdebug.cli.surveying import Surveyor
    from vcdebug.trace.recording import Recording


class Explain(Command):
    """Names the one gate that keeps a job out, with its numbers and the events that prove it."""

    HELP = "say why a job is Pending: the gate that keeps it out, the numbers, the proof, and what would help"
    EXITS = (
        "exit status: 0 what was asked about is scheduled in this cycle, 2 some of it stays unscheduled, 1 error, "
        "130 interrupted"
    )

    def configure(self, parser: ArgumentParser) -> None:
        parser.add_argument("snapshot", metavar="SNAPSHOT", help=f"{SNAPSHOT}, or a folder of snapshots")
        parser.add_argument(
            "job",
            metavar="JOB_OR_POD",
            nargs="?",
            help="NAMESPACE/NAME, or a name that is unique; without it, every job that stays unscheduled",
        )
        share(parser, "prove", "budget", "complete", "release")
        add_workers(parser, "for a folder, and for --prove: ")
        share(parser, "edits", "extender", "no-cache", "json")

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.sources import source
        from vcdebug.cli.surveying import Surveyor
        from vcdebug.snapshot.collection import snapshots_in

        if args.prove and args.job is None:
            from vcdebug.cli.answering import again

            raise VcdebugError(
                "--prove is about one job", f"name it: {again(args, 'explain', args.snapshot, 'JOB', '--prove')}"
            )
        where = source(args.snapshot)
        surveyor = Surveyor(args.job, args.complete, tuple(args.edits), args.extender_url, args.release)
        snapshots = snapshots_in(where) if isinstance(where, Path) and where.is_dir() else []
        if isinstance(where, Path) and snapshots:
            return _many(where, snapshots, surveyor, args, output)
        recording = surveyor.replay(where, keeping_of(args, output))
        if args.job is not None:
            return _one(recording, args, output)
        from vcdebug.cli.progress import counted, told
        from vcdebug.cli.reports.surveys import Surveys

        name = recording.snapshot.name or args.snapshot
        with told(output, "explaining every job that waits (Ctrl-C stops)") as tell:
            found = surveyor.survey(recording, counted(tell))
        return _report(Surveys((name,), {name: found}, _again(args)), args, output)


def _one(recording: Recording, args: Namespace, output: Output) -> Outcome:
    """Everything about one job."""
    from vcdebug.causes.pending import explain
    from vcdebug.cli.answering import answered, to_go_on
    from vcdebug.cli.progress import told

    with told(output, "explaining (Ctrl-C stops)"):
        explanation = explain(recording, args.job)
    answer = answered(recording, explanation, args, output, to_go_on)
    if args.json:
        output.json(answer)
    return Outcome.DONE if explanation.scheduled else Outcome.UNSCHEDULED


def _many(folder: Path, snapshots: list[Path], surveyor: Surveyor, args: Namespace, output: Output) -> Outcome:
    """Every snapshot below a folder."""
    from vcdebug.cli.many import of_snapshots, shortcoming
    from vcdebug.cli.reports.surveys import Surveys

    found, runs = of_snapshots(folder, snapshots, surveyor, args, output)
    outcome = _report(Surveys(found.names, found.done, _again(args, folder)), args, output)
    return shortcoming(runs, f"{len(found.done)} of {len(found.names)} snapshots were looked at", output) or outcome


def _again(args: Namespace, folder: Path | None = None) -> Again:
    """About one job of a snapshot, or of one in a folder of them."""
    from vcdebug.cli.answering import again

    def line(command: str, name: str, job: str) -> str:
        return again(args, command, args.snapshot if folder is None else str(folder / name), job)

    return line


def _report(found: Surveys, args: Namespace, output: Output) -> Outcome:
    from vcdebug.cli.render import answer
    from vcdebug.cli.reports import surveys

    complete = len(found.done) == len(found.names)
    nowhere = complete and args.job is not None and not any(one.jobs for one in found.results.values())
    if args.json or not nowhere:
        answer(args, output, surveys.document, surveys.blocks, found)
    found.tell_failures(output)
    if nowhere:
        output.narrate(f"{args.job}: no such job or pod in any of the snapshots")
        return Outcome.FAILED
    if found.failures:
        return Outcome.FAILED
    lacking = any(one.incomplete for one in found.results.values())
    return Outcome.UNSCHEDULED if found.unscheduled or lacking else Outcome.DONE
