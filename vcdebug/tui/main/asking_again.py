"""Panels for which the cycle runs again, so that plugins can be asked once more: in a thread, while keys answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.message import Message

from vcdebug.amount_text import percent
from vcdebug.debugger.driver import DebuggerState
from vcdebug.model.names import Seq
from vcdebug.trace.moment import as_long_as
from vcdebug.tui import worker
from vcdebug.tui.messages import AskAgain, PanelDrawn, Progress
from vcdebug.views.base import Table, line, muted


class AskingAgain:
    """One panel after the other, each for the moment that it shows last."""

    def __init__(
        self,
        start_thread: Callable[[Callable[[], None]], object],
        post: Callable[[Message], object],
        progress: Callable[[str], None],
    ) -> None:
        self._start_thread = start_thread
        self._post = post
        self._progress = progress
        self._running: AskAgain | None = None
        self._wanted: dict[str, AskAgain] = {}
        """By the panel's name."""

    @property
    def about(self) -> str:
        """What runs, in words; empty where nothing does."""
        return "" if self._running is None else f"running the cycle again up to event {self._running.seq}"

    def ask(self, asked: AskAgain) -> None:
        """Draw a panel away from the keys."""
        known = self._wanted.get(asked.panel)
        if known is not None and known.moment is asked.moment:
            return
        self._wanted[asked.panel] = asked
        if self._running is None:
            self._next()

    def moved(self, moment: DebuggerState) -> None:
        """Another moment is shown: what was asked for before does not matter any more."""
        self._wanted = {name: asked for name, asked in self._wanted.items() if asked.moment is moment}

    def ended(self, drawn: PanelDrawn) -> bool:
        """Go on with the next panel; whether anybody still waits for this one."""
        asked = drawn.asked
        awaited = self._wanted.get(asked.panel) is asked
        if awaited:
            del self._wanted[asked.panel]
        if asked is self._running:
            self._next()
        return awaited

    def stop(self) -> list[AskAgain]:
        """Wait no longer; for whom."""
        given_up = list(self._wanted.values())
        self._wanted.clear()
        return given_up

    def _next(self) -> None:
        self._running = next(iter(self._wanted.values()), None)
        self._progress(self.about)
        if self._running is not None:
            self._start_thread(partial(self._draw, self._running))

    def _draw(self, asked: AskAgain) -> None:
        """In the thread."""
        with as_long_as(partial(self._going, asked)):
            self._post(worker.attempt(lambda: PanelDrawn(asked, asked.view()), partial(_failed, asked)))

    def _going(self, asked: AskAgain, done: Seq, seq: Seq) -> bool:
        if done:
            self._post(Progress(f"{self.about}: {percent(done, seq)}"))
        return self._wanted.get(asked.panel) is asked


def _failed(asked: AskAgain, text: str) -> Message:
    return PanelDrawn(asked, Table(asked.panel.capitalize(), foot=(line(muted(text)),)))
