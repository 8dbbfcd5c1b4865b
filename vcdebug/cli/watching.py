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
    from vcdebug.debugger.until import Met
    from vcdebug.snapshot.history import History
    from vcdebug.snapshot.snapshot import Snapshot

EVERY = 10.0
KEPT = 100


def add_watching(parser: ArgumentParser, seconds: Callable[[str], float], number: Callable[[str], int]) -> None:
    """When to stop, how often, and how much is kept."""
    parser.add_argument(
        "--until",
        metavar="EXPR",
        help="capture again and again, replay each, stop at the first in which this is so: 'JOB is Pending', or the "
        "words of a breakpoint, such as 'victim if plugin == \"gang\"'; -o names a folder then",
    )
    parser.add_argument(
        "--every", metavar="TIME", type=seconds, default=EVERY, help="with --until: time between two captures (10s)"
    )
    parser.add_argument(
        "--keep", metavar="N", type=number, default=KEPT, help=f"with --until: keep so many captures ({KEPT})"
    )


def watch(
    args: Namespace,
    take: Callable[[], Snapshot],
    output: Output,
    sleep: Callable[[float], None] = time.sleep,
) -> Path:
    """Capture until the condition is met; gives the file in which it is."""
    from vcdebug.debugger.until import parse_until
    from vcdebug.snapshot.history import History

    met = parse_until(args.until)
    history = History(_folder(args.output), args.keep)
    while True:
        file, why = _once(take, history, met)
        output.narrate(f"{file.name}: {why or 'not yet'}")
        if why:
            return file
        sleep(args.every)


def _once(take: Callable[[], Snapshot], history: History, met: Met) -> tuple[Path, str]:
    """One capture; its recording goes before the next one comes."""
    from vcdebug.trace.passing import passing
    from vcdebug.trace.replay import replay

    snapshot = take()
    file = history.keep(snapshot)
    with passing(replay(snapshot)) as recording:
        return file, met(recording)


def _folder(word: str | None) -> Path:
    folder = Path(word or "captures")
    if folder.exists() and not folder.is_dir():
        raise CaptureError("is a file", "--until writes into a folder", str(folder))
    return folder
