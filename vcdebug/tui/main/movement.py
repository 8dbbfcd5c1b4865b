"""Moving: each key asks the debugger for another event, and what it answers is shown."""

from __future__ import annotations

from collections.abc import Callable

from vcdebug.debugger.driver import DriverStep
from vcdebug.model.names import Seq
from vcdebug.tui.main.current import ScreenState
from vcdebug.tui.widgets.grid import Grid


class Movement:
    """Steps, jumps, and the events about one thing."""

    def __init__(self, current: ScreenState, focused: Callable[[], Grid]) -> None:
        self._current = current
        self._focused = focused

    def make_step(self, verb: DriverStep, *, back: bool) -> None:
        """Into, over, out or continue, in either direction."""
        driver = self._current.ready_driver()
        if driver is not None:
            self._current.show_moment(driver.take_step(verb, back=back))

    def step_down(self) -> None:
        """Undo the last way up; where there was none, into what comes next."""
        driver = self._current.ready_driver()
        if driver is not None:
            self._current.show_moment(driver.step_down())

    def goto_last_position(self) -> None:
        """Where the last jump began."""
        driver = self._current.ready_driver()
        if driver is not None:
            self._current.show_moment(driver.last_position())

    def goto_row(self) -> None:
        """To the event of the row under the cursor."""
        row = self._focused().cursor_row
        if row is not None and row.seq:
            self.goto_event(row.seq)
        else:
            self._current.say("this row tells about no event")

    def goto_next_about(self, *, back: bool) -> None:
        """The next or previous event about what the row shows, else about the present job."""
        driver, moment = self._current.ready_driver(), self._current.moment
        if driver is None or moment is None:
            return
        row = self._focused().cursor_row
        kind, name = row.subject if row is not None and row.subject[1] else ("job", moment.job)
        self._current.show_moment(driver.next_about(kind, name, back=back))

    def goto_event(self, seq: Seq | None) -> None:
        """Stand at another event; 0 and None stay."""
        driver = self._current.ready_driver()
        if driver is not None and seq:
            self._current.show_moment(driver.goto_event(seq))
