"""Moving: each key asks the debugger for another event, and what it answers is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vcdebug.debugger.driver import Step
from vcdebug.model.names import Seq
from vcdebug.tui.main.current import Current
from vcdebug.tui.widgets.grid import Grid


@dataclass(eq=False)
class Movement:
    """Steps, jumps, and the events about one thing."""

    current: Current
    focused: Callable[[], Grid]

    def step(self, verb: Step, *, back: bool) -> None:
        """Into, over, out or continue, in either direction."""
        driver = self.current.ready()
        if driver is not None:
            self.current.show(driver.step(verb, back=back))

    def down(self) -> None:
        """Undo the last way up; where there was none, into what comes next."""
        driver = self.current.ready()
        if driver is not None:
            self.current.show(driver.down())

    def last_position(self) -> None:
        """Where the last jump began."""
        driver = self.current.ready()
        if driver is not None:
            self.current.show(driver.last_position())

    def to_row(self) -> None:
        """To the event of the row under the cursor."""
        row = self.focused().cursor_row
        if row is not None and row.seq:
            self.go(row.seq)
        else:
            self.current.say("this row tells about no event")

    def about(self, *, back: bool) -> None:
        """The next or previous event about what the row shows, else about the present job."""
        driver, moment = self.current.ready(), self.current.moment
        if driver is None or moment is None:
            return
        row = self.focused().cursor_row
        kind, name = row.subject if row is not None and row.subject[1] else ("job", moment.job)
        self.current.show(driver.next_about(kind, name, back=back))

    def go(self, seq: Seq | None) -> None:
        """Stand at another event; 0 and None stay."""
        driver = self.current.ready()
        if driver is not None and seq:
            self.current.show(driver.goto(seq))
