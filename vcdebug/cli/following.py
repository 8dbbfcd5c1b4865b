"""A live cluster for the debugger: the first capture, and how further ones are taken and kept."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.cli.output import Output

if TYPE_CHECKING:
    from vcdebug.capture import CaptureOptions
    from vcdebug.debugger.captures import Captures, Taken
    from vcdebug.snapshot.history import History

FOLDER = "captures"


def first_capture(args: Namespace, options: CaptureOptions, state: Path, output: Output) -> tuple[Path, Captures]:
    """The file of the first capture, and where the next ones come from."""
    from vcdebug.capture import capture
    from vcdebug.cli.commands.capture import introduction
    from vcdebug.cli.progress import capture_progress
    from vcdebug.debugger.captures import Captures
    from vcdebug.snapshot.history import History
    from vcdebug.snapshot.load import load

    with capture_progress(output) as progress:
        first = capture(options, progress, announce=lambda who: output.narrate(introduction(who)))
    history = History(_folder(args, first.name, state))
    file = history.keep(first)
    return file, Captures(partial(_taken, options, history), [], [partial(load, file)])


def _taken(options: CaptureOptions, history: History) -> Taken:
    """One more capture, kept in its folder."""
    from vcdebug.capture import capture
    from vcdebug.debugger.captures import Taken
    from vcdebug.snapshot.load import load

    snapshot = capture(options)
    return Taken(snapshot, partial(load, history.keep(snapshot)))


def _folder(args: Namespace, name: str, state: Path) -> Path:
    """The one that is named, else one per cluster beside what the debugger keeps."""
    if getattr(args, "history", None):
        return Path(args.history)
    safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)
    return state / FOLDER / (safe or "cluster")
