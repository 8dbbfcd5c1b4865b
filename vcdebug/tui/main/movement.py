"""Moving: each key asks the debugger for another event, and what it answers is shown."""

from __future__ import annotations

from collections.abc import Callable

from vcdebug.debugger.driver import Step
from vcdebug.model.names import Seq
from vcdebug.tui.main.current import Current
from vcdebug.tui.widgets.grid import Grid


class Movement:
    """Steps, jumps, and the events about one thing."""

    def __init__(self, current: Current, focused: Callable[[], Grid]) -> None:
        self._current = current
        self._focused = focused

    def step(self, verb: Step, *, back: bool) -> None:
        """Into, over, out or continue, in either direction."""
        driver = self._current.ready()
        if driver is not None:
            self._current.show(driver.step(verb, back=back))

    def down(self) -> None:
        """Undo the last way up; where there was none, into what comes next."""
        driver = self._current.ready()
        if driver is not None:
            self._current.show(driver.down())

    def last_position(self) -> None:
        """Where the last jump began."""
        driver = self._current.ready()
        if driver is not None:
            self._current.show(driver.last_position())

    def to_row(self) -> None:
        """To the event of the row under the cursor."""
        row = self._focused().cursor_row
        if row is not None and row.seq:
            self.go(row.seq)
        else:
            self._current.say("this row tells about no event")

    def about(self, *, back: bool) -> None:
        """The next or previous event about what the row shows, else about the present job."""
        driver, moment = self._current.ready(), self._current.moment
        if driver is None or moment is None:
            return
        row = self._focused().cursor_row
        kind, name = row.subject if row is not None and row.subject[1] else ("job", moment.job)
        self._current.show(driver.next_about(kind, name, back=back))

    def go(self, seq: Seq | None) -> None:
        """Stand at another event; 0 and None stay."""
        driver = self._current.ready()
        if driver is not None and seq:
            self._current.show(driver.goto(seq))
