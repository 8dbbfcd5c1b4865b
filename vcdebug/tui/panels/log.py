"""The panel Log: the lines that the real scheduler would print."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.geometry import Size

from vcdebug.comparison.logs.message import DEFAULT_LEVEL, LOG_LEVELS
from vcdebug.debugger.driver import DebuggerState
from vcdebug.recording.replay import RerunCancelledError, refuse_long_runs
from vcdebug.tui.panels.base import GO_BINDING, Panel, PanelExtra
from vcdebug.views.table import Table

if TYPE_CHECKING:
    from vcdebug.views.log import LogReading

SLICE_SECONDS = 0.02
"""Seconds of work before the panel is first drawn, and between two keys."""
PAUSE_SECONDS = 0.03


def _read_slice(reading: LogReading) -> bool:
    deadline = perf_counter() + SLICE_SECONDS
    return reading.read_lines(lambda: perf_counter() < deadline)


class LogPanel(PanelExtra):
    """The lines at one -v level around the current event."""

    FOOTER = (("log.level", "level"), ("panel.go", "go there"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        GO_BINDING,
        Binding("space", "extra('louder')", "the next -v level", id="log.level"),
    )

    def __init__(self, panel: Panel) -> None:
        super().__init__(panel)
        self.level = self._shown_level = DEFAULT_LEVEL
        self._is_writing = False

    def build_table(self, moment: DebuggerState) -> Table:
        """The log at the chosen level, or as loud as the event's lines need; a long one is read between keys."""
        from vcdebug.views.log import log_reading, log_so_far, quietest_level_at

        self._read_first(log_reading(moment.recording, DEFAULT_LEVEL))
        self._shown_level = quietest_level_at(moment.recording, moment.seq, self.level)
        self._read_first(log_reading(moment.recording, self._shown_level))
        return log_so_far(moment.recording, moment.seq, self._shown_level)

    def _read_first(self, reading: LogReading) -> None:
        """Make the first lines now and the others between keys: a cycle may print hundreds of thousands of lines."""
        if not reading.is_done and not self._is_writing and not _read_slice(reading):
            self._is_writing = True
            # call_later instead of a timer: this may run in a thread, when a table needs a second run of the cycle.
            self.panel.call_later(self._write_more)

    def _write_more(self) -> None:
        from vcdebug.views.log import log_reading

        moment = self.panel.moment if self.panel.display else None
        self._is_writing = moment is not None
        if moment is None:
            self.panel.drawn_size = Size(0, 0)
            return
        try:
            with refuse_long_runs():
                readings = [log_reading(moment.recording, level) for level in (DEFAULT_LEVEL, self._shown_level)]
        except RerunCancelledError:  # a thread makes these lines: the panel has asked for it
            self._is_writing = False
            return
        unfinished = next((reading for reading in readings if not reading.is_done), None)
        if unfinished is None or (_read_slice(unfinished) and unfinished is readings[-1]):
            self._is_writing = False
            self.panel.draw_moment()
            return
        self.panel.set_frame_note(f"writing: event {unfinished.lines[-1].seq}")
        self.panel.set_timer(PAUSE_SECONDS, self._write_more)

    def run_key(self, name: str) -> None:
        """Switch to the next level; from the last one to the first."""
        self.set_level(LOG_LEVELS[(LOG_LEVELS.index(self.level) + 1) % len(LOG_LEVELS)])

    def set_level(self, level: int) -> None:
        self.level = level
        self.panel.draw_moment()
