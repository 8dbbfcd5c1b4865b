"""The verbs over a Debugger that keys, command line and scripts share; each answers with where one stands then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from vcdebug.amount_text import count_noun
from vcdebug.debugger.bookmark import Bookmark
from vcdebug.debugger.breakpoint import Breakpoint
from vcdebug.debugger.captures import CaptureSeries
from vcdebug.debugger.cursor import NO_SELECTION, CursorSelection
from vcdebug.debugger.debugger import Debugger, MoveResult
from vcdebug.debugger.figures import Figure
from vcdebug.debugger.notebook import Notebook
from vcdebug.debugger.recordings import BRANCH, OpenRecordings
from vcdebug.debugger.watch import Watch
from vcdebug.debugger.workbench import Workbench
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording

DriverStep = Literal["into", "over", "out", "continue"]


@dataclass(frozen=True, slots=True)
class BreakpointStatus:
    """One breakpoint as the screen shows it."""

    number: int
    text: str
    enabled: bool
    hits: tuple[Seq, ...]


@dataclass(frozen=True, slots=True)
class DebuggerState:
    """The present event of a recording, with what a front end shows around it."""

    recording: Recording
    seq: Seq
    reason: str
    """Why one stands here."""
    job: str
    task: str
    queue: str
    node: str
    breakpoints: tuple[BreakpointStatus, ...] = ()
    watches: tuple[Watch, ...] = ()
    bookmarks: tuple[Bookmark, ...] = ()
    """Those of this recording, in order."""
    bookmarks_elsewhere: tuple[Bookmark, ...] = ()
    """Those of other cycles, and of the other side."""
    recordings: OpenRecordings | None = None
    """What else lies open; None where this recording is the only one."""

    @classmethod
    def from_debugger(
        cls,
        debugger: Debugger,
        reason: str,
        breakpoints: tuple[BreakpointStatus, ...],
        notebook: Notebook,
        recordings: OpenRecordings,
    ) -> DebuggerState:
        """The debugger's present position."""
        job, task, queue, node = map(debugger.enclosing_name, ("job", "task", "queue", "node"))
        bookmarks = tuple(notebook.bookmarks.iter_bookmarks_of(recordings.cycle, branch=recordings.side == BRANCH))
        elsewhere = tuple(mark for mark in notebook.bookmarks if mark not in bookmarks)
        set_here = (breakpoints, tuple(notebook.watches), bookmarks, elsewhere)
        return cls(debugger.recording, debugger.seq, reason, job, task, queue, node, *set_here, recordings)


class Driver:
    """The recordings that lie open, with the reason of the last stop, giving a DebuggerState for each."""

    def __init__(self, recording: Recording) -> None:
        self.workbench = Workbench(recording)
        self.notebook = Notebook(self.workbench.breakpoints)
        """What is set: breakpoints, watches, bookmarks."""
        self.followed: Figure | None = None
        """The figure whose changes one goes through."""
        self._captures: CaptureSeries | None = None
        self._reason = "start"
        self._stands: tuple[BreakpointStatus, ...] = ()

    @property
    def debugger(self) -> Debugger:
        """The shown recording's."""
        return self.workbench.debugger

    @property
    def open_recordings(self) -> OpenRecordings:
        """What lies open."""
        return self.workbench.recordings

    @property
    def captures(self) -> CaptureSeries | None:
        """Where further captures of the same cluster come from, before and after what is open."""
        return self._captures

    @captures.setter
    def captures(self, captures: CaptureSeries | None) -> None:
        self._captures = captures
        self._count_captures()

    def _count_captures(self) -> None:
        """Bookmarks are counted from the first one that is open."""
        self.notebook.bookmarks.before = len(self._captures.earlier) if self._captures is not None else 0

    def current_state(self) -> DebuggerState:
        """Where one stands now."""
        return DebuggerState.from_debugger(
            self.debugger, self._reason, self._stands, self.notebook, self.open_recordings
        )

    def show_recordings(self, recordings: OpenRecordings, reason: str, divergence: Seq | None = None) -> DebuggerState:
        """Show what lies open now; Workbench.take says where one stands then."""
        self._count_captures()
        self.workbench.show_recordings(recordings, divergence)
        return self._after_switch(reason)

    def goto_in(self, recordings: OpenRecordings, seq: Seq) -> DebuggerState:
        """To an event of another recording."""
        self._count_captures()
        if recordings.shown_recording is self.open_recordings.shown_recording:
            return self.goto_event(seq)
        self.workbench.show_recordings(recordings)
        self.debugger.place_at(seq)
        return self._after_switch("goto")

    def _after_switch(self, reason: str) -> DebuggerState:
        self._reason = reason
        self.refresh_breakpoints()
        return self.current_state()

    def take_step(self, verb: DriverStep, *, back: bool) -> DebuggerState:
        """One of the four movements, in either direction."""
        debugger = self.debugger
        moves: dict[DriverStep, Callable[..., MoveResult]] = {
            "into": debugger.step_into,
            "over": debugger.step_over,
            "out": debugger.step_out,
            "continue": debugger.continue_,
        }
        return self._after_stop(moves[verb](back=back))

    def step_down(self) -> DebuggerState:
        """Back down the last way up; where there was none, into what comes next."""
        return self.take_step("out" if self.debugger.went_up else "into", back=False)

    def goto_event(self, seq: Seq) -> DebuggerState:
        """To an event by number."""
        return self._after_stop(self.debugger.goto_event(seq))

    def last_position(self) -> DebuggerState:
        """Where the last jump began, be it in another recording."""
        if self.workbench.go_back():
            return self._after_switch("last position")
        return self._after_stop(self.debugger.last_position())

    def next_about(self, kind: str, name: str, *, back: bool) -> DebuggerState:
        """The next event about a job, task, node or queue."""
        selection = CursorSelection(kind, name) if name else NO_SELECTION  # type: ignore[arg-type]
        return self._after_stop(self.debugger.next_about(selection, back=back))

    def last_change(self, figure: Figure) -> DebuggerState:
        """To the event that wrote a figure; again, to the write before it."""
        self.followed = figure
        return self._after_stop(self.debugger.last_change(figure))

    def _after_stop(self, stop: MoveResult) -> DebuggerState:
        self._reason = stop.reason
        if stop.breakpoint is not None:
            self.refresh_breakpoints()
        return self.current_state()

    def shown_place(self) -> tuple[int, bool]:
        """Which recording is shown: its cycle, and whether it is the branch's."""
        return self.open_recordings.cycle, self.open_recordings.side == BRANCH

    # Breakpoints

    def add_breakpoint(self, line: str) -> str:
        """Set one; the words say how often it will stop."""
        point = self.debugger.breakpoints.add_breakpoint(line, self.debugger.recording)
        self.refresh_breakpoints()
        return self._describe_breakpoint(point)

    def change_breakpoint(self, number: int, line: str) -> str:
        """Other words for one."""
        point = self.debugger.breakpoints.replace_breakpoint(number, line, self.debugger.recording)
        self.refresh_breakpoints()
        return self._describe_breakpoint(point)

    def _describe_breakpoint(self, point: Breakpoint) -> str:
        hits = next(len(stand.hits) for stand in self._stands if stand.number == point.number)
        times = f"stops {count_noun(hits, 'time')}" if hits else "never stops in this recording"
        return f"breakpoint {point.number}: {point.command_line()}: {times}"

    def toggle_breakpoint(self, number: int) -> str:
        """Switch one off or on."""
        point = self.debugger.breakpoints.toggle_breakpoint(number)
        self.refresh_breakpoints()
        return f"breakpoint {number} is {'on' if point.enabled else 'off'}"

    def remove_breakpoint(self, number: int) -> str:
        """Forget one."""
        self.debugger.breakpoints.remove(number)
        self.refresh_breakpoints()
        return f"breakpoint {number} removed"

    def clear_breakpoints(self) -> str:
        """Forget all."""
        self.debugger.breakpoints.clear()
        self.refresh_breakpoints()
        return "no breakpoints"

    def refresh_breakpoints(self) -> None:
        """Count the stops of all breakpoints anew: some are others than before."""
        debugger = self.debugger
        self._stands = tuple(
            BreakpointStatus(point.number, point.command_line(), point.enabled, tuple(debugger.hit_seqs(point.number)))
            for point in debugger.breakpoints
        )
