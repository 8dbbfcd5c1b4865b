"""The verbs of the screen over a Debugger: what keys and the command line share, without any widget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from vcdebug.debugger.cursor import NOTHING, Selection
from vcdebug.debugger.debugger import Debugger, Stop
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.tui.moment import Moment, Stand

Step = Literal["into", "over", "out", "continue"]


class Driver:
    """A debugger with the reason of its last stop, giving a Moment for each."""

    def __init__(self, recording: Recording) -> None:
        self.debugger = Debugger(recording)
        self._reason = "start"
        self._stands: tuple[Stand, ...] = ()

    def moment(self) -> Moment:
        """Where one stands now."""
        return Moment.of(self.debugger, self._reason, self._stands)

    def step(self, verb: Step, *, back: bool) -> Moment:
        """One of the four movements, in either direction."""
        debugger = self.debugger
        moves: dict[Step, Callable[..., Stop]] = {
            "into": debugger.into,
            "over": debugger.over,
            "out": debugger.out,
            "continue": debugger.continue_,
        }
        return self._stopped(moves[verb](back=back))

    def goto(self, seq: Seq) -> Moment:
        """To an event by number."""
        return self._stopped(self.debugger.goto(seq))

    def last_position(self) -> Moment:
        """Where the last jump began."""
        return self._stopped(self.debugger.last_position())

    def next_about(self, kind: str, name: str, *, back: bool) -> Moment:
        """The next event about a job, task, node or queue."""
        selection = Selection(kind, name) if name else NOTHING  # type: ignore[arg-type]
        return self._stopped(self.debugger.next_about(selection, back=back))

    def _stopped(self, stop: Stop) -> Moment:
        self._reason = stop.reason
        if stop.breakpoint is not None:
            self._refresh()
        return self.moment()

    # Breakpoints

    def add_breakpoint(self, line: str) -> str:
        """Set one; the words say how often it will stop."""
        point = self.debugger.breakpoints.add(line)
        self._refresh()
        hits = len(self._stands[-1].hits)
        times = "never stops in this recording" if not hits else f"stops {hits} time{'s' if hits > 1 else ''}"
        return f"breakpoint {point.number}: {point.line()}: {times}"

    def toggle_breakpoint(self, number: int) -> str:
        """Switch one off or on."""
        point = self.debugger.breakpoints.toggle(number)
        self._refresh()
        return f"breakpoint {number} is {'on' if point.enabled else 'off'}"

    def remove_breakpoint(self, number: int) -> str:
        """Forget one."""
        self.debugger.breakpoints.remove(number)
        self._refresh()
        return f"breakpoint {number} removed"

    def clear_breakpoints(self) -> str:
        """Forget all."""
        self.debugger.breakpoints.clear()
        self._refresh()
        return "no breakpoints"

    def _refresh(self) -> None:
        debugger = self.debugger
        self._stands = tuple(
            Stand(point.number, point.line(), point.enabled, tuple(debugger.hits(point.number)))
            for point in debugger.breakpoints
        )
