"""What the command line asked for: a snapshot, and where to stand in its recording."""

from __future__ import annotations

from dataclasses import dataclass

from vcdebug.debugger.driver import Driver
from vcdebug.framework.webhook import AskExtender
from vcdebug.model.names import Seq
from vcdebug.tui.moment import Moment
from vcdebug.tui.worker import Source


@dataclass(frozen=True, slots=True)
class Start:
    """A snapshot and a first position."""

    source: Source
    name: str
    goto: Seq | None = None
    breaks: tuple[str, ...] = ()
    job: str | None = None
    ask_extender: AskExtender | None = None
    """The extender's webhook, where the replay may call it."""
    complete: bool | None = None
    """Whether hand-written manifests are completed; None goes by the snapshot's own setting."""

    def apply(self, driver: Driver) -> Moment:
        """Set the breakpoints, then go to the event, else to the job's first one."""
        for words in self.breaks:
            driver.add_breakpoint(words)
        if self.goto is not None:
            return driver.goto(self.goto)
        if self.job is not None:
            return driver.next_about("job", self.job, back=False)
        return driver.moment()
