"""What the screen was started with, on its way from files to a recording, and what the first keys need beyond that."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from threading import Event, Thread
from typing import Final

from textual.message import Message

from vcdebug.debugger import commands
from vcdebug.tui import worker
from vcdebug.tui.start import Start

MODULES_AHEAD: Final = (
    "vcdebug.views.event_view",
    "vcdebug.views.equation",
    "vcdebug.explain.dry_run",
    "vcdebug.tui.completion",
    "vcdebug.tui.main.opening",
    "vcdebug.tui.main.asking",
    "vcdebug.tui.main.marks",
    "vcdebug.tui.main.copying",
    "vcdebug.tui.main.what_if",
    "vcdebug.tui.screens.help",
    "vcdebug.views.detail",
)
"""In the order in which they are likely to be wanted: a step, a command, a page."""


def import_modules_ahead(wanted: Callable[[], bool]) -> None:
    """In a thread, a module at a time, while the screen is there; a key that needs one sooner has it sooner."""
    for name in MODULES_AHEAD:
        if not wanted():
            return
        import_module(name)
    commands.list_verbs()


class RecordingLoader:
    """Loads and replays in a thread, and ends with the screen."""

    def __init__(self, start: Start, post: Callable[[Message], object]) -> None:
        self._start = start
        self._post = post
        self._stop = worker.StopRequest()
        self._drawn = Event()

    def load_recording(self) -> None:
        """In a thread: load, replay, and once the recording is on the screen keep it for the next time."""
        start = self._start
        worker.load_and_replay(
            start.source,
            self._post,
            start.ask_extender,
            worker.LoadOptions(start.complete, start.release),
            self._stop,
            start.limits,
            start.after,
            None if start.captures is not None else start.kept,
            self._drawn.wait,
        )

    def on_drawn(self) -> None:
        """The recording is on the screen. A thread that holds neither of them imports what the first keys need."""
        self._drawn.set()
        stop = self._stop
        Thread(target=import_modules_ahead, args=(lambda: not stop.asked,)).start()

    def stop_loading(self) -> None:
        """Nobody waits for it any more."""
        self._stop.asked = True
        self._drawn.set()
