"""The verbs that keys, command line and scripts share, and the form of commands; each returns the debugger's state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from msgspec import Struct

from vcdebug.amount_text import count_noun
from vcdebug.debugger.captures import CaptureSeries
from vcdebug.debugger.cursor import OVERVIEW, Position, step_direction
from vcdebug.debugger.debugger import Debugger, MoveResult
from vcdebug.debugger.figures import Figure
from vcdebug.debugger.notebook import Bookmark, BreakpointList, Notebook, Watch
from vcdebug.errors import VcdebugError
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.whatif.branch import BRANCH, ORIGINAL, OpenRecordings

if TYPE_CHECKING:
    from vcdebug.debugger.breakpoint import Breakpoint

DriverStep = Literal["into", "inside", "over", "out", "continue"]


class BreakpointStatus(Struct, frozen=True):
    """One breakpoint as the screen shows it."""

    number: int
    text: str
    enabled: bool
    hits: tuple[Seq, ...]


class DebuggerState(Struct, frozen=True):
    """The current event of a recording, with what a front end shows around it."""

    recording: Recording
    seq: Seq
    """Number of the current event; 1 at the overview."""
    reason: str
    """Reason for the last movement, such as `step` or `breakpoint 2 (victim)`."""
    job: str
    task: str
    queue: str
    node: str
    breakpoints: tuple[BreakpointStatus, ...] = ()
    watches: tuple[Watch, ...] = ()
    bookmarks: tuple[Bookmark, ...] = ()
    """Bookmarks of this recording, in order of events."""
    bookmarks_elsewhere: tuple[Bookmark, ...] = ()
    """Bookmarks of other cycles and of the other side (original or branch)."""
    recordings: OpenRecordings | None = None
    """All open recordings; None if this recording is the only one."""
    source: Callable[[str], Sequence[str]] | None = None
    """Reads a file of the user's checkout of upstream; None without one."""
    at_overview: bool = False
    """Whether the overview of the cycle is shown instead of an event."""
    number: Seq = 0
    """Number of the current event, 0 at the overview; in scripts, which begin at event 1, the overview has 1."""
    inside: int = 0
    """The number of the comparison or part of a score within the event; 0 for the event itself."""


class Driver:
    """The open recordings and the reason of the last stop; movements return the new DebuggerState."""

    def __init__(self, recording: Recording, *, first: Seq = 1) -> None:
        self.workbench = Workbench(recording, first)
        self.notebook = Notebook(self.workbench.breakpoints)
        """The user's breakpoints, watches and bookmarks."""
        self.source: Callable[[str], Sequence[str]] | None = None
        """Reads a file of the user's checkout of upstream, for the page Source."""
        self.followed: Figure | None = None
        """The figure whose changes `[` and `]` follow."""
        self._captures: CaptureSeries | None = None
        self._reason = "start"
        self._statuses: tuple[BreakpointStatus, ...] = ()

    @property
    def debugger(self) -> Debugger:
        """The debugger of the shown recording."""
        return self.workbench.debugger

    @property
    def open_recordings(self) -> OpenRecordings:
        """The open recordings."""
        return self.workbench.recordings

    @property
    def captures(self) -> CaptureSeries | None:
        """The source of further captures of the same cluster, before and after the open ones."""
        return self._captures

    @captures.setter
    def captures(self, captures: CaptureSeries | None) -> None:
        self._captures = captures
        self._count_captures()

    def _count_captures(self) -> None:
        """Tell the bookmarks how many captures come before the first open one."""
        self.notebook.bookmarks.earlier_count = (
            len(self._captures.earlier_captures) if self._captures is not None else 0
        )

    def current_state(self) -> DebuggerState:
        """The current state: position, reason, and open recordings."""
        debugger, notebook, recordings = self.debugger, self.notebook, self.open_recordings
        job, task, queue, node = map(debugger.enclosing_name, ("job", "task", "queue", "node"))
        bookmarks = tuple(notebook.bookmarks.iter_bookmarks_of(recordings.cycle, branch=recordings.side == BRANCH))
        elsewhere = tuple(mark for mark in notebook.bookmarks if mark not in bookmarks)
        set_here = (self._statuses, tuple(notebook.watches), bookmarks, elsewhere)
        number = debugger.position.seq
        at_overview = number == OVERVIEW or (number == debugger.first_seq and debugger.at_start)
        position = (debugger.recording, debugger.seq, self._reason, job, task, queue, node)
        inside = debugger.position.inside
        return DebuggerState(*position, *set_here, recordings, self.source, at_overview, number, inside)

    def show_recordings(self, recordings: OpenRecordings, reason: str, divergence: Seq | None = None) -> DebuggerState:
        """Show other open recordings: at the same event up to `divergence`, without one from the overview."""
        self._count_captures()
        previous = self.open_recordings.shown_recording
        self.workbench.show_recordings(recordings, divergence)
        if divergence is None and recordings.shown_recording is not previous:
            debugger = self.debugger
            if debugger.first_seq == OVERVIEW:
                debugger.place_at(OVERVIEW)
            debugger.at_start = debugger.position.seq == debugger.first_seq
        return self._after_switch(reason)

    def goto_in(self, recordings: OpenRecordings, seq: Seq) -> DebuggerState:
        """Show the recordings and go to event `seq` of the shown one."""
        self._count_captures()
        # The same recording keeps its debugger, so that the jump can be undone with `last position`.
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
        """Carry out one movement, forward or back; `continue` also searches other cycles."""
        debugger = self.debugger
        moves: dict[DriverStep, Callable[..., MoveResult]] = {
            "into": debugger.step_into,
            "inside": debugger.step_inside,
            "over": debugger.step_over,
            "out": debugger.step_out,
            "continue": debugger.continue_,
        }
        seq = debugger.seq
        stop = moves[verb](back=back)
        if verb == "continue" and debugger.seq == seq and (beyond := self._stop_in_other_cycle(back=back)) is not None:
            return beyond
        return self._after_stop(stop)

    def _stop_in_other_cycle(self, *, back: bool) -> DebuggerState | None:
        """Go to the nearest stop in the cycles after (or before) the shown one; None without one."""
        open_, step = self.open_recordings, step_direction(back=back)
        last = 0 if back else open_.cycle_count + 1
        for cycle in range(open_.cycle + step, last, step):
            other = open_.show_cycle(open_.side, cycle)
            recording = other.shown_recording
            hit = self.debugger.breakpoints.next_stop(recording, len(recording) + 1 if back else 0, step)
            if hit is not None:
                hit.breakpoint.enabled = not hit.breakpoint.once
                self.goto_in(other, hit.seq)
                passed = (len(recording) + 1 if back else 0, hit.seq, step)
                self.debugger.log.extend(self.debugger.breakpoints.log_lines_between(recording, *passed))
                self._reason = f"{hit.breakpoint.stop_reason(recording, hit.seq)}, cycle {cycle}"
                return self.current_state()
        return None

    def step_down(self) -> DebuggerState:
        """Undo a backward step out, if that was the last step; else step to the next event or inner step."""
        return self.take_step("out" if self.debugger.went_up else "inside", back=False)

    def goto_event(self, seq: Seq) -> DebuggerState:
        """Go to an event by its number."""
        return self._after_stop(self.debugger.goto_event(seq))

    def last_position(self) -> DebuggerState:
        """Go to where the last jump began, also if that is in another recording."""
        if self.workbench.go_back():
            return self._after_switch("last position")
        return self._after_stop(self.debugger.last_position())

    def next_about(self, kind: str, name: str, *, back: bool) -> DebuggerState:
        """Go to the next event about a job, task, node, queue or plugin."""
        return self._after_stop(self.debugger.next_about(kind, name, back=back))

    def last_change(self, figure: Figure) -> DebuggerState:
        """Go to the event that wrote a figure; called again there, to the write before."""
        self.followed = figure
        return self._after_stop(self.debugger.last_change(figure))

    def _after_stop(self, stop: MoveResult) -> DebuggerState:
        self._reason = stop.reason
        if stop.breakpoint is not None:
            self.refresh_breakpoints()
        return self.current_state()

    def shown_place(self) -> tuple[int, bool]:
        """The shown recording: (cycle from 1, whether it belongs to the branch)."""
        return self.open_recordings.cycle, self.open_recordings.side == BRANCH

    def add_breakpoint(self, line: str) -> str:
        """Set a breakpoint; returns its number, its words and how often it stops."""
        point = self.debugger.breakpoints.add_breakpoint(line, self.debugger.recording)
        self.refresh_breakpoints()
        return self._describe_breakpoint(point)

    def change_breakpoint(self, number: int, line: str) -> str:
        """Redefine a breakpoint; returns its number, its words and how often it stops."""
        point = self.debugger.breakpoints.replace_breakpoint(number, line, self.debugger.recording)
        self.refresh_breakpoints()
        return self._describe_breakpoint(point)

    def _describe_breakpoint(self, point: Breakpoint) -> str:
        hits = next(len(status.hits) for status in self._statuses if status.number == point.number)
        unknown = "" if hits else point.unknown_name(self.debugger.recording)
        times = count_noun(hits, "hit") if hits else f"no hits: {unknown}" if unknown else "no hits in this recording"
        meaning = point.kind.describe_meaning(self.debugger.recording)
        return f"breakpoint {point.number}: {point.command_line()}: {times}{f' ({meaning})' if meaning else ''}"

    def toggle_breakpoint(self, number: int) -> str:
        """Enable or disable a breakpoint; returns a message."""
        point = self.debugger.breakpoints.toggle_breakpoint(number)
        self.refresh_breakpoints()
        return f"breakpoint {number} is {'on' if point.enabled else 'off'}"

    def remove_breakpoint(self, number: int) -> str:
        """Remove a breakpoint; returns a message."""
        self.debugger.breakpoints.remove(number)
        self.refresh_breakpoints()
        return f"breakpoint {number} removed"

    def clear_breakpoints(self) -> str:
        """Remove all breakpoints; returns a message."""
        self.debugger.breakpoints.clear()
        self.refresh_breakpoints()
        return "no breakpoints"

    def refresh_breakpoints(self) -> None:
        """Count the stops of all breakpoints again after a change of breakpoints."""
        debugger = self.debugger
        self._statuses = tuple(
            BreakpointStatus(point.number, point.command_line(), point.enabled, tuple(debugger.hit_seqs(point.number)))
            for point in debugger.breakpoints
        )


class Workbench:
    """Keeps one debugger per open recording."""

    def __init__(self, recording: Recording, first: Seq = 1) -> None:
        self.recordings = OpenRecordings((recording,))
        self._first_seq = first
        """Starting position in each recording: the first event, or the overview before it."""
        self.breakpoints = BreakpointList()
        self.saved: tuple[str, ...] = ()
        """Texts of the edits that were last written to a file."""
        self._debuggers = {id(recording): Debugger(recording, self.breakpoints, first=first)}
        self._previous_place: tuple[Recording, Position] | None = None
        """(recording shown before, last jump of the shown debugger at the switch); None before any switch."""

    @property
    def debugger(self) -> Debugger:
        """The debugger of the shown recording."""
        return self.debugger_of(self.recordings.shown_recording)

    @property
    def has_unsaved_edits(self) -> bool:
        """Whether there are edits that are not in a file."""
        return self.recordings.edit_texts != self.saved and bool(self.recordings.edits)

    def show_recordings(self, recordings: OpenRecordings, divergence: Seq | None = None) -> None:
        """Replace the open recordings.

        If the shown recording equals the previous one up to `divergence`, the cursor stays at the same event, else it
        goes to the first difference; an earlier position after the difference is kept.
        """
        before = self.debugger
        # Keyed by identity: equal recordings of two cycles still have positions of their own.
        has_debugger = id(recordings.shown_recording) in self._debuggers
        self.recordings = recordings
        after = self.debugger
        if after is before:
            return
        self._previous_place = before.recording, after.last_jump
        self._forget_closed()
        if divergence is not None and not (has_debugger and min(before.seq, after.seq) >= divergence):
            after.place_at(min(before.position.seq, divergence))

    def go_back(self) -> bool:
        """Show the previous recording, unless a jump was made since; returns whether it is shown."""
        previous = self._previous_place
        if previous is None or self.debugger.last_jump is not previous[1]:
            return False
        place = self._place_of(previous[0])
        if place is None:
            return False
        self.show_recordings(place)
        return True

    def _place_of(self, recording: Recording) -> OpenRecordings | None:
        for side in (ORIGINAL, BRANCH):
            for cycle, other in enumerate(self.recordings.cycles_of(side), start=1):
                if other is recording and (side == ORIGINAL or self.recordings.branch):
                    return self.recordings.show_cycle(side, cycle)
        return None

    def debugger_of(self, recording: Recording) -> Debugger:
        """The debugger of an open recording, which keeps its position."""
        debugger = self._debuggers.get(id(recording))
        if debugger is None:
            debugger = self._debuggers[id(recording)] = Debugger(recording, self.breakpoints, first=self._first_seq)
        return debugger

    def _forget_closed(self) -> None:
        """Drop the debuggers of closed recordings."""
        open_recordings = (*self.recordings.original, *self.recordings.branch)
        open_ids = {id(recording) for recording in open_recordings}
        self._debuggers = {key: debugger for key, debugger in self._debuggers.items() if key in open_ids}
        # Without this a closed recording, often hundreds of megabytes, would stay in memory.
        if self._previous_place is not None and id(self._previous_place[0]) not in open_ids:
            self._previous_place = None


class CommandError(VcdebugError):
    """A command line that cannot be run."""


class CommandReply(Struct, frozen=True):
    """The result of a command: a new state, text for the status line, a page to open, or background work."""

    state: DebuggerState | None = None
    text: str = ""
    show: str = ""
    """The view that the front end opens: help, explain, panel, log, filter, open, quit."""
    argument: str = ""
    """Argument of the view: a job, a panel's name, a log level, a snapshot."""
    work: Callable[[], CommandReply] | None = None
    """Long work that returns the final reply; a screen runs it in the background and shows `text` meanwhile."""
    apply: Callable[[], CommandReply | None] | None = None
    """Applies the result of the work; called after it, in the thread that runs commands."""

    def run_to_end(self) -> CommandReply:
        """Run the background work at once; returns the final reply."""
        reply = self
        while (following := reply.work or reply.apply) is not None:
            reply = following() or CommandReply()
        return reply


class Verb(Struct, frozen=True):
    """One command."""

    names: tuple[str, ...]
    usage: str
    help: str
    run: Callable[[Driver, str], CommandReply | str] | None = None
    """Takes the argument; returns a reply, or its text alone. None only has the front end open a view."""
    view: str = ""
    """The view to open; empty for the one with the command's first name."""
    example: str = ""
    """What the argument looks like, for the error without one; empty if `usage` says it."""


Result = TypeVar("Result")


def run_in_background(
    text: str, work: Callable[[], Result], apply: Callable[[Result], CommandReply | None]
) -> CommandReply:
    """A reply with long work; `apply` takes its result, in the thread that runs commands."""

    def run_work() -> CommandReply:
        result = work()
        return CommandReply(apply=lambda: apply(result))

    return CommandReply(text=text, work=run_work)


def parse_number(argument: str, noun: str) -> int:
    """Parse a number without sign; raises CommandError that names the number by `noun`."""
    if not argument.isdigit():
        raise CommandError(f"{argument!r} is not a valid {noun}")
    return int(argument)
