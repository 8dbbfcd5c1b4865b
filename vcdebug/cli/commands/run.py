"""`vcdebug run`: replay the cycle without a screen and say what it did."""

from __future__ import annotations

import gzip
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from vcdebug.cli.commands.base import Command, Outcome, add_edits, add_json, add_snapshot
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.trace.recording import Recording

STDOUT = "-"


class Run(Command):
    """Replays headless."""

    NAME = "run"
    HELP = "replay the cycle without a screen and say what it did"

    def configure(self, parser: ArgumentParser) -> None:
        add_snapshot(parser)
        parser.add_argument(
            "--trace", metavar="FILE", help="write every event as JSON lines; .gz is compressed, - is standard output"
        )
        parser.add_argument(
            "--seed", metavar="N", type=int, help="draw what upstream leaves to chance: search start, map order, ties"
        )
        add_edits(parser)
        add_json(parser)

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.render import show
        from vcdebug.cli.reports import cycle
        from vcdebug.cli.snapshots import replay_snapshot

        if args.json and args.trace == STDOUT:
            raise VcdebugError("the trace and the answer cannot both go to standard output", "name a file for --trace")
        recording, seconds = replay_snapshot(args.snapshot, complete=args.complete, seed=args.seed, edits=args.edits)
        if args.trace is not None:
            _write_trace(recording, args.trace, output)
        if args.json:
            output.json(cycle.document(recording, seconds))
        elif args.trace != STDOUT:
            show(cycle.blocks(recording, seconds), output)
        return Outcome.DONE


def _write_trace(recording: Recording, target: str, output: Output) -> None:
    from vcdebug.trace.codec import write_jsonl

    if target == STDOUT:
        write_jsonl(recording, output.out)
        return
    with _open_text(Path(target)) as file:
        write_jsonl(recording, file)


def _open_text(path: Path) -> TextIO:
    if path.suffix != ".gz":
        return path.open("w", encoding="utf-8", newline="\n")
    return gzip.open(path, "wt", encoding="utf-8", newline="\n")
