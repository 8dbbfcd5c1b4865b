"""The verbs over a Debugger that keys, command line and scripts share; each answers with where one stands then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from vcdebug.debugger.cursor import NOTHING, Selection
from vcdebug.debugger.debugger import Debugger, Stop
from vcdebug.debugger.recordings import Recordings
from vcdebug.debugger.workbench import Workbench
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording

Step = Literal["into", "over", "out", "continue"]


@dataclass(frozen=True, slots=True)
class Stand:
    """One breakpoint as the screen shows it."""

    number: int
    text: str
    enabled: bool
    hits: tuple[Seq, ...]


@dataclass(frozen=True, slots=True)
class Here:
    """The present event of a recording, with what a front end shows around it."""

    recording: Recording
    seq: Seq
    reason: str
    """Why one stands here."""
    job: str
    task: str
    queue: str
    node: str
    selection: Selection = NOTHING
    breakpoints: tuple[Stand, ...] = ()
    recordings: Recordings | None = None
    """What else lies open; None where this recording is the only one."""

    @classmethod
    def of(
        cls,
        debugger: Debugger,
        reason: str,
        breakpoints: tuple[Stand, ...],
        recordings: Recordings | None = None,
    ) -> Here:
        """The debugger's present position."""
        at = debugger.moment()
        names = (at.job or "", at.task or "", at.queue or "", at.node or "")
        return cls(debugger.recording, at.seq, reason, *names, at.selection, breakpoints, recordings)


class Driver:
    """The recordings that lie open, with the reason of the last stop, giving a Here for each."""

    def __init__(self, recording: Recording) -> None:
        self.workbench = Workbench(recording)
        self._reason = "start"
        self._stands: tuple[Stand, ...] = ()

    @property
    def debugger(self) -> Debugger:
        """The shown recording's."""
        return self.workbench.debugger

    @property
    def recordings(self) -> Recordings:
        """What lies open."""
        return self.workbench.recordings

    def moment(self) -> Here:
        """Where one stands now."""
        return Here.of(self.debugger, self._reason, self._stands, self.recordings)

    def take(self, recordings: Recordings, reason: str, parting: Seq | None = None) -> Here:
        """Show what lies open now; Workbench.take says where one stands then."""
        self.workbench.take(recordings, parting)
        return self._switched(reason)

    def _switched(self, reason: str) -> Here:
        self._reason = reason
        self._refresh()
        return self.moment()

    def step(self, verb: Step, *, back: bool) -> Here:
        """One of the four movements, in either direction."""
        debugger = self.debugger
        moves: dict[Step, Callable[..., Stop]] = {
            "into": debugger.into,
            "over": debugger.over,
            "out": debugger.out,
            "continue": debugger.continue_,
        }
        return self._stopped(moves[verb](back=back))

    def goto(self, seq: Seq) -> Here:
        """To an event by number."""
        return self._stopped(self.debugger.goto(seq))

    def last_position(self) -> Here:
        """Where the last jump began, be it in another recording."""
        if self.workbench.back():
            return self._switched("last position")
        return self._stopped(self.debugger.last_position())

    def next_about(self, kind: str, name: str, *, back: bool) -> Here:
        """The next event about a job, task, node or queue."""
        selection = Selection(kind, name) if name else NOTHING  # type: ignore[arg-type]
        return self._stopped(self.debugger.next_about(selection, back=back))

    def _stopped(self, stop: Stop) -> Here:
        self._reason = stop.reason
        if stop.breakpoint is not None:
            self._refresh()
        return self.moment()

    # Breakpoints

    def add_breakpoint(self, line: str) -> str:
        """Set one; the words say how often it will stop."""
        point = self.debugger.breakpoints.add(line, self.debugger.recording)
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
