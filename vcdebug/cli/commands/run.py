"""`vcdebug run`: replay the cycle without a screen and say what it did."""

from __future__ import annotations

import gzip
import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from datetime import timedelta
from functools import partial
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
    from vcdebug.debugger.between import Between
    from vcdebug.trace.recording import Recording

STDOUT = "-"
FINISH = ("none", "thirds")


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
        from vcdebug.trace.codec import write_jsonl
        from vcdebug.trace.cut import whole

        if args.json and args.trace == STDOUT:
            raise VcdebugError("the trace and the answer cannot both go to standard output", "name a file for --trace")
        if args.extender_answers is not None and args.extender_url is None:
            raise VcdebugError("--extender-answers needs --extender-url")
        _check_cycles(args)
        recording, seconds = replay_snapshot(
            args.snapshot,
            complete=args.complete,
            release=args.release,
            seed=args.seed,
            edits=args.edits,
            extender_url=args.extender_url,
            bound=bound_of(args),
        )
        if args.extender_answers is not None:
            _write_answers(recording, args.extender_answers)
        if args.cycles > 1:
            return _several(recording, seconds, args, output)
        if args.trace is not None:
            _write_trace(partial(write_jsonl, recording), args.trace, output)
        if args.json:
            output.json(cycle.document(recording, seconds))
        elif args.trace != STDOUT:
            show(cycle.blocks(recording, seconds), output)
        whole(recording)
        return Outcome.DONE


def _add_cycles(parser: ArgumentParser) -> None:
    """Further cycles, each from what the one before left."""
    parser.add_argument(
        "--cycles",
        metavar="N",
        type=positive,
        default=1,
        help="run so many cycles of one scheduler process, one after another; --trace writes all of them",
    )
    parser.add_argument(
        "--every",
        metavar="TIME",
        type=_time_between,
        help="time between two cycles, such as 31s or 1m30s; 1s by default",
    )
    parser.add_argument(
        "--recreate", action="store_true", help="between cycles a controller makes a new pod for each that has left"
    )
    parser.add_argument(
        "--finish",
        metavar="RULE",
        choices=FINISH,
        help="which running pods succeed between cycles: none, the default, or thirds, every third by name in turn",
    )
    parser.add_argument(
        "--arrivals",
        metavar="FILE",
        help='objects that arrive between cycles: {"2": [manifest, ...]} before cycle 2, and so on',
    )


def _time_between(text: str) -> timedelta:
    """Seconds, or a duration as Go writes it."""
    from vcdebug.debugger.between.actors import passing

    found = passing(text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is no time that passes, such as 31s or 1m30s")
    return found


def _check_cycles(args: Namespace) -> None:
    between = ("every", "recreate", "finish", "arrivals")
    given = [f"--{name}" for name in between if getattr(args, name) not in (None, False)]
    if args.cycles == 1 and given:
        raise VcdebugError(f"{given[0]} is about what happens between cycles", "give --cycles N")


def _between(args: Namespace) -> Between:
    from vcdebug.debugger.between import ONE_SECOND, Between
    from vcdebug.snapshot.arrivals import read_arrivals

    return Between(
        every=args.every or ONE_SECOND,
        recreate=args.recreate,
        finish=args.finish or "none",
        arrivals={} if args.arrivals is None else read_arrivals(Path(args.arrivals)),
    )


def _several(first: Recording, seconds: dict[str, float], args: Namespace, output: Output) -> Outcome:
    """The first cycle in full, then what each of them did and what repeats."""
    from vcdebug.cli.render import show
    from vcdebug.cli.reports import cycles
    from vcdebug.debugger.cycles import Cycles
    from vcdebug.trace.codec import write_cycles
    from vcdebug.trace.cut import whole

    chain = Cycles(whole(first), _between(args), bound=bound_of(args))
    while len(chain.recordings) < args.cycles and not chain.panicked:
        whole(chain.next())
    line = chain.recordings
    if args.trace is not None:
        _write_trace(partial(write_cycles, line), args.trace, output)
    if args.json:
        output.json(cycles.document(line, seconds))
    elif args.trace != STDOUT:
        show(cycles.blocks(line, seconds), output)
    return Outcome.DONE


def _write_trace(write: Callable[[TextIO], None], target: str, output: Output) -> None:
    if target == STDOUT:
        write(output.out)
        return
    with _open_text(Path(target)) as file:
        write(file)


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
