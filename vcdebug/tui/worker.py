"""Loading and replaying, away from the keys."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from textual.message import Message

from vcdebug.debugger.commands import Reply
from vcdebug.errors import SnapshotError, VcdebugError
from vcdebug.framework.webhook import AskExtender
from vcdebug.trace.recording import Recording
from vcdebug.tui.messages import CycleFailed, CycleReady, Progress, WorkDone
from vcdebug.views.path import marks

Source = str | BinaryIO


def run(
    source: Source,
    post: Callable[[Message], object],
    ask_extender: AskExtender | None = None,
    complete: bool | None = None,
) -> None:
    """Read the snapshot, execute its cycle, and say how it went; called in a thread of its own."""
    from vcdebug.snapshot.load import load
    from vcdebug.trace.replay import replay

    def cycle() -> Message:
        snapshot = load(
            _origin(source),
            complete=complete,
            progress=lambda done, total, name: _tell(post, done, total, name),
        )
        post(Progress(f"replaying {snapshot.name}"))
        recording = replay(snapshot, ask_extender=ask_extender)
        _prepare(recording)
        return CycleReady(recording)

    post(attempt(cycle, CycleFailed))


def work(task: Callable[[], Reply]) -> Message:
    """Do a command's long work, such as another cycle; called in a thread of its own."""
    return attempt(lambda: WorkDone(task()), lambda line: WorkDone(None, line))


def attempt(task: Callable[[], Message], failed: Callable[[str], Message]) -> Message:
    """What the task answers, or the message of its failure in one line."""
    try:
        return task()
    except VcdebugError as error:
        return failed(error.line())
    except Exception as error:  # noqa: BLE001 - boundary: whatever a replay raises is one line on the screen
        return failed(f"the replay failed: {type(error).__name__}: {error}")


def _prepare(recording: Recording) -> None:
    """Build what the first key would wait for, and let the garbage collector leave the recording alone."""
    _ = recording.timeline.tasks, recording.tree, recording.owners
    marks(recording)
    gc.collect()
    gc.freeze()


def _tell(post: Callable[[Message], object], done: int, total: int, name: str) -> None:
    of = f"{done * 100 // total} %" if total else ""
    post(Progress(f"reading {Path(name).name} {of}".rstrip()))


def _origin(source: Source) -> str | Path | BinaryIO:
    """A path that exists, or the folder of a bundled snapshot."""
    from vcdebug.snapshot.bundled import bundled, find

    if not isinstance(source, str):
        return source
    path = Path(source)
    if path.exists():
        return path
    folder = find(source)
    if folder is None:
        names = ", ".join(one.name for one in bundled())
        raise SnapshotError("no such file or folder", f"bundled snapshots: {names}", source)
    return folder
