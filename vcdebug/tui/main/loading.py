"""What the screen was started with, on its way from files to a recording."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

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
            self._wait,
        )

    def _wait(self) -> None:
        """In the thread: until the first frame is there, and the first keys can be."""
        self._drawn.wait()
        import_ahead(lambda: not self._stop.asked)

    def drawn(self) -> None:
        """The recording is on the screen."""
        self._drawn.set()

    def end(self) -> None:
        """Nobody waits for it any more."""
        self._stop.asked = True
        self._drawn.set()
