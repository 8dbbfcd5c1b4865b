"""Panels for which the cycle runs again, so that plugins can be asked once more: in a thread, while keys answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.message import Message

from vcdebug.amount_text import format_percent
from vcdebug.debugger.driver import DebuggerState
from vcdebug.model.names import Seq
from vcdebug.trace.moment import cancellable
from vcdebug.tui import worker
from vcdebug.tui.messages import PanelDrawn, PanelRerunNeeded, Progress
from vcdebug.views.base import Table, make_line, muted_piece


class PanelRerun:
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
        self._running: PanelRerunNeeded | None = None
        self._wanted: dict[str, PanelRerunNeeded] = {}
        """By the panel's name."""

    @property
    def running_text(self) -> str:
        """What runs, in words; empty where nothing does."""
        return "" if self._running is None else f"running the cycle again up to event {self._running.seq}"

    def request_panel(self, asked: PanelRerunNeeded) -> None:
        """Draw a panel away from the keys."""
        known = self._wanted.get(asked.panel)
        if known is not None and known.moment is asked.moment:
            return
        self._wanted[asked.panel] = asked
        if self._running is None:
            self._start_next()

    def drop_outdated(self, moment: DebuggerState) -> None:
        """Another moment is shown: what was asked for before does not matter any more."""
        self._wanted = {name: asked for name, asked in self._wanted.items() if asked.moment is moment}

    def finish_panel(self, drawn: PanelDrawn) -> bool:
        """Go on with the next panel; whether anybody still waits for this one."""
        asked = drawn.asked
        awaited = self._wanted.get(asked.panel) is asked
        if awaited:
            del self._wanted[asked.panel]
        if asked is self._running:
            self._start_next()
        return awaited

    def stop_all(self) -> list[PanelRerunNeeded]:
        """Wait no longer; for whom."""
        given_up = list(self._wanted.values())
        self._wanted.clear()
        return given_up

    def _start_next(self) -> None:
        self._running = next(iter(self._wanted.values()), None)
        self._progress(self.running_text)
        if self._running is not None:
            self._start_thread(partial(self._draw_panel, self._running))

    def _draw_panel(self, asked: PanelRerunNeeded) -> None:
        """In the thread."""
        with cancellable(partial(self._may_continue, asked)):
            self._post(
                worker.run_or_failure_message(lambda: PanelDrawn(asked, asked.view()), partial(_failed_panel, asked))
            )

    def _may_continue(self, asked: PanelRerunNeeded, done: Seq, seq: Seq) -> bool:
        if done:
            self._post(Progress(f"{self.running_text}: {format_percent(done, seq)}"))
        return self._wanted.get(asked.panel) is asked


def _failed_panel(asked: PanelRerunNeeded, text: str) -> Message:
    return PanelDrawn(asked, Table(asked.panel.capitalize(), foot=(make_line(muted_piece(text)),)))
