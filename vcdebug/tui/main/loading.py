"""What the screen was started with, on its way from files to a recording."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from textual.message import Message

from vcdebug.tui import worker
from vcdebug.tui.main.ahead import import_ahead
from vcdebug.tui.start import Start


class Loading:
    """Loads and replays in a thread, and ends with the screen."""

    def __init__(self, start: Start, post: Callable[[Message], object]) -> None:
        self._start = start
        self._post = post
        self._stop = worker.Stop()
        self._drawn = Event()

    def run(self) -> None:
        """In a thread: load, replay, and once the recording is on the screen keep it for the next time."""
        start = self._start
        worker.run(
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

    def drawn(self) -> None:
        """The recording is on the screen. A thread that holds neither of them imports what the first keys need."""
        self._drawn.set()
        stop = self._stop
        Thread(target=import_ahead, args=(lambda: not stop.asked,)).start()

    def end(self) -> None:
        """Nobody waits for it any more."""
        self._stop.asked = True
        self._drawn.set()
