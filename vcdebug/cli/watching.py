"""Captures again and again until something is so: for the incident at night."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.cli.output import Output
from vcdebug.errors import CaptureError

if TYPE_CHECKING:
    from vcdebug.debugger.until import MetReason
    from vcdebug.snapshot.history import CaptureHistory
    from vcdebug.snapshot.snapshot import Snapshot

CAPTURE_SECONDS = 10.0
KEPT_CAPTURES = 100


def add_until_arguments(parser: ArgumentParser, seconds: Callable[[str], float], number: Callable[[str], int]) -> None:
    """When to stop, how often, and how much is kept."""
    parser.add_argument(
        "--until",
        metavar="EXPR",
        help="capture again and again, replay each, stop at the first in which this is so: 'JOB is Pending', or the "
        "words of a breakpoint, such as 'victim if plugin == \"gang\"'; -o names a folder then",
    )
    parser.add_argument(
        "--every",
        metavar="TIME",
        type=seconds,
        default=CAPTURE_SECONDS,
        help="with --until: time between two captures (10s)",
    )
    parser.add_argument(
        "--keep",
        metavar="N",
        type=number,
        default=KEPT_CAPTURES,
        help=f"with --until: keep so many captures ({KEPT_CAPTURES})",
    )


def capture_until(
    args: Namespace,
    take: Callable[[], Snapshot],
    output: Output,
    sleep: Callable[[float], None] = time.sleep,
) -> Path:
    """Capture until the condition is met; gives the file in which it is."""
    from vcdebug.debugger.until import parse_until
    from vcdebug.snapshot.history import CaptureHistory

    met = parse_until(args.until)
    history = CaptureHistory(_captures_folder(args.output), args.keep)
    while True:
        file, why = _capture_once(take, history, met)
        output.write_notice(f"{file.name}: {why or 'not yet'}")
        if why:
            return file
        sleep(args.every)


def _capture_once(take: Callable[[], Snapshot], history: CaptureHistory, met: MetReason) -> tuple[Path, str]:
    """One capture; its recording goes before the next one comes."""
    from vcdebug.trace.passing import disposing
    from vcdebug.trace.replay import replay_cycle

    snapshot = take()
    file = history.add_capture(snapshot)
    with disposing(replay_cycle(snapshot)) as recording:
        return file, met(recording)


def _captures_folder(word: str | None) -> Path:
    folder = Path(word or "captures")
    if folder.exists() and not folder.is_dir():
        raise CaptureError("is a file", "--until writes into a folder", str(folder))
    return folder
