"""The arguments of commands that run several cycles."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vcdebug.cli.arguments import positive_number
from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.debugger.between import BetweenCycles

FINISH_RULES: Final = ("none", "thirds")


def add_cycle_arguments(parser: ArgumentParser, more: str = "") -> None:
    """Further cycles, each from what the one before left."""
    parser.add_argument(
        "--cycles",
        metavar="N",
        type=positive_number,
        default=1,
        help=f"run so many cycles of one scheduler process, one after another{more}",
    )
    parser.add_argument(
        "--every",
        metavar="TIME",
        type=_parse_time_between,
        help="time between two cycles, such as 31s or 1m30s; 1s by default",
    )
    parser.add_argument(
        "--recreate", action="store_true", help="between cycles a controller makes a new pod for each that has left"
    )
    parser.add_argument(
        "--finish",
        metavar="RULE",
        choices=FINISH_RULES,
        help="which running pods succeed between cycles: none, the default, or thirds, every third by name in turn",
    )
    parser.add_argument(
        "--arrivals",
        metavar="FILE",
        help='objects that arrive between cycles: {"2": [manifest, ...]} before cycle 2, and so on',
    )


def _parse_time_between(text: str) -> timedelta:
    """Seconds, or a duration as Go writes it."""
    from vcdebug.debugger.between.actors import parse_interval

    found = parse_interval(text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is no time that passes, such as 31s or 1m30s")
    return found


def check_cycle_arguments(args: Namespace) -> None:
    """What is said about the time between cycles needs more than one; raises VcdebugError."""
    between = ("every", "recreate", "finish", "arrivals")
    given = [f"--{name}" for name in between if getattr(args, name) not in (None, False)]
    if args.cycles == 1 and given:
        raise VcdebugError(f"{given[0]} is about what happens between cycles", "give --cycles N")


def between_cycles(args: Namespace) -> BetweenCycles:
    """What happens between cycles, as the arguments say."""
    from vcdebug.debugger.between import ONE_SECOND, BetweenCycles
    from vcdebug.snapshot.arrivals import read_arrivals

    return BetweenCycles(
        every=args.every or ONE_SECOND,
        recreate=args.recreate,
        finish=args.finish or "none",
        arrivals={} if args.arrivals is None else read_arrivals(Path(args.arrivals)),
    )
