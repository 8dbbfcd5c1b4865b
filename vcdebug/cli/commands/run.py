"""`vcdebug run`: replay the cycle without a screen and say what it did."""

from __future__ import annotations

import gzip
import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from vcdebug.cli.commands.base import (
    Command,
    Outcome,
    add_bound,
    add_edits,
    add_extender,
    add_json,
    add_snapshot,
    bound_of,
    positive,
)
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
        _add_cycles(parser)
        add_edits(parser)
        add_bound(parser)
        add_extender(parser)
        parser.add_argument(
            "--extender-answers", metavar="FILE", help="write what the webhook answered, for a replay without it"
        )
        add_json(parser)

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.render import show
        from vcdebug.cli.reports import cycle
        from vcdebug.cli.snapshots import replay_snapshot
        from vcdebug.trace.cut import whole

        if args.json and args.trace == STDOUT:
            raise VcdebugError("the trace and the answer cannot both go to standard output", "name a file for --trace")
        if args.extender_answers is not None and args.extender_url is None:
            raise VcdebugError("--extender-answers needs --extender-url")
        _check_cycles(args)
        recording, seconds = replay_snapshot(
            args.snapshot,
            complete=args.complete,
            seed=args.seed,
            edits=args.edits,
            extender_url=args.extender_url,
            bound=bound_of(args),
        )
        if args.extender_answers is not None:
            _write_answers(recording, args.extender_answers)
        if args.trace is not None:
            _write_trace(recording, args.trace, output)
        if args.cycles > 1:
            return _several(recording, seconds, args, output)
        if args.json:
            output.json(cycle.document(recording, seconds))
        elif args.trace != STDOUT:
            show(cycle.blocks(recording, seconds), output)
        whole(recording)
        return Outcome.DONE


def _add_cycles(parser: ArgumentParser) -> None:
    """Further cycles, each from what the one before left."""
    parser.add_argument("--cycles", metavar="N", type=positive, default=1, help="run so many cycles, one after another")
    parser.add_argument("--every", metavar="SECONDS", type=float, help="seconds between two cycles; 1 by default")
    parser.add_argument(
        "--recreate", action="store_true", help="between cycles a controller makes a new pod for each that has left"
    )


def _check_cycles(args: Namespace) -> None:
    if args.cycles > 1 and args.trace is not None:
        raise VcdebugError("--trace writes one cycle", "leave --cycles out")
    if args.cycles == 1 and (args.every is not None or args.recreate):
        raise VcdebugError("--every and --recreate are about what happens between cycles", "give --cycles N")
    if args.every is not None and not 0 < args.every < float("inf"):
        raise VcdebugError(f"--every {args.every:g} is no time that passes")


def _several(first: Recording, seconds: dict[str, float], args: Namespace, output: Output) -> Outcome:
    """The first cycle in full, then what each of them did and what repeats."""
    from vcdebug.cli.render import show
    from vcdebug.cli.reports import cycles
    from vcdebug.debugger.cycles import PERIOD, following
    from vcdebug.trace.cut import whole

    line = [whole(first)]
    while len(line) < args.cycles:
        every = PERIOD if args.every is None else args.every
        line.append(whole(following(line[-1], seconds=every, recreate=args.recreate, bound=bound_of(args))))
    if args.json:
        output.json(cycles.document(line, seconds))
    else:
        show(cycles.blocks(line, seconds), output)
    return Outcome.DONE


def _write_trace(recording: Recording, target: str, output: Output) -> None:
    from vcdebug.trace.codec import write_jsonl

    if target == STDOUT:
        write_jsonl(recording, output.out)
        return
    with _open_text(Path(target)) as file:
        write_jsonl(recording, file)


def _write_answers(recording: Recording, target: str) -> None:
    """In extender.json's form."""
    from vcdebug.plugins.extender import Extender

    extender = recording.session.plugins.get(Extender.name)
    answers = extender.answered if isinstance(extender, Extender) else {}
    Path(target).write_text(json.dumps(answers, indent=2) + "\n", encoding="utf-8")


def _open_text(path: Path) -> TextIO:
    if path.suffix != ".gz":
        return path.open("w", encoding="utf-8", newline="\n")
    return gzip.open(path, "wt", encoding="utf-8", newline="\n")
