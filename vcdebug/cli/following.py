"""A live cluster for the debugger: the first capture, and how further ones are taken and kept."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.cli.output import Output

if TYPE_CHECKING:
    from vcdebug.capture import CaptureOptions
    from vcdebug.debugger.captures import CaptureSeries, NewCapture
    from vcdebug.snapshot.history import CaptureHistory

CAPTURES_FOLDER = "captures"


def first_capture(args: Namespace, options: CaptureOptions, state: Path, output: Output) -> tuple[Path, CaptureSeries]:
    """The file of the first capture, and where the next ones come from."""
    from vcdebug.capture import capture_cluster
    from vcdebug.cli.commands.capture import capture_announcement
    from vcdebug.cli.progress import capture_progress
    from vcdebug.debugger.captures import CaptureSeries
    from vcdebug.snapshot.history import CaptureHistory
    from vcdebug.snapshot.load import load_snapshot

    with capture_progress(output) as progress:
        first = capture_cluster(options, progress, announce=lambda who: output.write_notice(capture_announcement(who)))
    history = CaptureHistory(_history_folder(args, first.name, state))
    file = history.add_capture(first)
    return file, CaptureSeries(partial(_take_capture, options, history), [], [partial(load_snapshot, file)])


def _take_capture(options: CaptureOptions, history: CaptureHistory) -> NewCapture:
    """One more capture, kept in its folder."""
    from vcdebug.capture import capture_cluster
    from vcdebug.debugger.captures import NewCapture
    from vcdebug.snapshot.load import load_snapshot

    snapshot = capture_cluster(options)
    return NewCapture(snapshot, partial(load_snapshot, history.add_capture(snapshot)))


def _history_folder(args: Namespace, name: str, state: Path) -> Path:
    """The one that is named, else one per cluster beside what the debugger keeps."""
    if getattr(args, "history", None):
        return Path(args.history)
    safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)
    return state / CAPTURES_FOLDER / (safe or "cluster")
