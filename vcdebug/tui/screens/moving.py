"""Keys that move the moment."""

from __future__ import annotations

from textual import on

from vcdebug.debugger.driver import Step
from vcdebug.model.names import Seq
from vcdebug.tui.messages import Goto
from vcdebug.tui.screens.desk import Desk


class Moving(Desk):
    """Each movement asks the driver, and what it answers is the moment."""

    def action_step(self, verb: Step, back: bool = False) -> None:
        """One of the four movements."""
        driver = self.ready_driver()
        if driver is not None:
            self.moment = driver.step(verb, back=back)

    def action_last_position(self) -> None:
        """Where the last jump began."""
        driver = self.ready_driver()
        if driver is not None:
            self.moment = driver.last_position()

    def action_run_to_cursor(self) -> None:
        """To the event of the row under the cursor."""
        row = self.grid.cursor_row
        if row is not None and row.seq:
            self.go(row.seq)
        else:
            self.say("this row tells about no event")

    def action_about(self, back: bool) -> None:
        """The next or previous event about what the row shows, else about the present job."""
        driver = self.ready_driver()
        if driver is None or self.moment is None:
            return
        row = self.grid.cursor_row
        kind, name = row.subject if row is not None and row.subject[1] else ("job", self.moment.job)
        self.moment = driver.next_about(kind, name, back=back)

    @on(Goto)
    def goto_asked(self, event: Goto) -> None:
        """A panel asks."""
        self.go(event.seq)

    def go(self, seq: Seq | None) -> None:
        """Stand at another event; 0 and None stay."""
        driver = self.ready_driver()
        if driver is not None and seq:
            self.moment = driver.goto(seq)
