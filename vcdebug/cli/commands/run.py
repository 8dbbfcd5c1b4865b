"""`vcdebug run`: replays cycles without a screen."""

from __future__ import annotations

import gzip
import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from vcdebug.cli import arguments
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.commands.explain import no_jobs_error
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError
from vcdebug.printable import escape_json
from vcdebug.snapshot.file_access import check_replaceable, replace_file

if TYPE_CHECKING:
    from vcdebug.recording.recording import Recording

STDOUT = "-"


class RunCommand(Command):
    """Replays one cycle or several, and writes report, trace and recording."""

    HELP = "Replay a cycle and print a summary"
    EXAMPLES = (
        "run preempt-works",
        "run preempt-works --cycles 3 --every 30s",
        "run preempt-works --trace events.jsonl.gz",
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        arguments.add_shared_options(parser, "SNAPSHOT", "--complete", "--release")
        arguments.add_options(
            parser,
            """
            -n, --namespace N  only jobs and pods of this namespace
            --trace FILE  write all events as JSON lines; .gz compresses, - is standard output
            --save FILE   save the recording; other commands open it without a replay
            --seed N      random seed for search start, map order and ties (default: fixed choices)
            """,
            {"--seed": {"type": int}, "--namespace": {"default": ""}},
        )
        arguments.add_cycle_arguments(parser, "; --trace writes all of them")
        arguments.add_shared_options(parser, "--set", "--max-events", "--max-memory", "--no-cache", "--extender-url")
        arguments.add_options(parser, "--extender-answers FILE  write the webhook's answers, for replays without it")
        arguments.add_shared_options(parser, "--json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.render import write_answer, write_blocks
        from vcdebug.cli.reports import cycle
        from vcdebug.cli.snapshots import replay_arguments
        from vcdebug.files.recording_files import save_recording
        from vcdebug.recording.recording import require_complete
        from vcdebug.recording.trace_schema import write_jsonl

        if args.json and args.trace == STDOUT:
            raise VcdebugError("--trace and --json cannot both write to standard output", "name a file for --trace")
        if args.extender_answers is not None and args.extender_url is None:
            raise VcdebugError("--extender-answers needs --extender-url")
        # Before the replay, which may take minutes.
        for target in filter(None, (args.save, args.extender_answers)):
            check_replaceable(Path(target))
        arguments.check_cycle_arguments(args)
        recording, seconds = replay_arguments(
            args, bound=arguments.recording_bound(args), keeping=arguments.cached_recordings(args, output)
        )
        output.name_jobs(recording)
        if args.namespace and not any(job.startswith(f"{args.namespace}/") for job in recording.session.jobs):
            raise no_jobs_error(recording, args.namespace)
        if args.extender_answers is not None:
            _write_answers(recording, args.extender_answers)
        if args.save is not None:
            save_recording(recording, Path(args.save))
        if args.cycles > 1:
            return _run_cycles(recording, seconds, args, output)
        if args.trace is not None:
            _write_trace(partial(write_jsonl, recording), args.trace, output)
        if args.trace != STDOUT:
            write_answer(args, output, cycle.cycle_document, cycle.cycle_blocks, recording, seconds, args.namespace)
            if not args.json:
                write_blocks(cycle.explain_hint(recording, args), output)
        require_complete(recording)  # a recording that was cut off is an error, but reported first
        return CommandOutcome.DONE


def _run_cycles(first: Recording, seconds: dict[str, float], args: Namespace, output: Output) -> CommandOutcome:
    """Replay further cycles after the first, and report all of them."""
    from vcdebug.cli.render import write_answer
    from vcdebug.cli.reports import cycle as cycles
    from vcdebug.recording.recording import require_complete
    from vcdebug.recording.trace_schema import write_cycles
    from vcdebug.whatif.cycles import CycleChain

    chain = CycleChain(require_complete(first), arguments.between_cycles(args), bound=arguments.recording_bound(args))
    chain.run_cycles(args.cycles)
    line = [require_complete(recording) for recording in chain.recordings]
    if args.trace is not None:
        _write_trace(partial(write_cycles, line), args.trace, output)
    if args.trace != STDOUT:
        write_answer(args, output, cycles.cycles_document, cycles.cycles_blocks, line, seconds, args.namespace)
    return CommandOutcome.DONE


def _write_trace(write: Callable[[TextIO], None], target: str, output: Output) -> None:
    if target == STDOUT:
        write(cast("TextIO", EscapingJson(output.out)) if output.is_terminal else output.out)
        return
    with _open_text(Path(target)) as file:
        write(file)


class EscapingJson:
    """A stream for JSON lines to a terminal, which writes control characters as JSON escapes."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        """Write one piece of the text; answers with the number of characters written."""
        return self._terminal.write(escape_json(text))


def _write_answers(recording: Recording, target: str) -> None:
    from vcdebug.plugins.extender import Extender

    extender = recording.session.plugins.get(Extender.name)
    answers = extender.known_answers if isinstance(extender, Extender) else {}
    with replace_file(Path(target)) as file:
        file.write(f"{json.dumps(answers, indent=2)}\n".encode())


def _open_text(path: Path) -> TextIO:
    if path.suffix != ".gz":
        return path.open("w", encoding="utf-8", newline="\n")
    return gzip.open(path, "wt", encoding="utf-8", newline="\n")
