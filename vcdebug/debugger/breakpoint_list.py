"""The breakpoints of a debugging session."""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.debugger.breakpoint import Breakpoint, parse_breakpoint
from vcdebug.debugger.breakpoints.base import BreakpointError
from vcdebug.debugger.cursor import FORWARD, Step
from vcdebug.debugger.numbered import NumberedList
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording


class BreakpointHit(NamedTuple):
    """A breakpoint at an event."""

    seq: Seq
    breakpoint: Breakpoint


class BreakpointLogLine(NamedTuple):
    """What a breakpoint with a log text said."""

    seq: Seq
    number: int
    text: str


class BreakpointList(NumberedList[Breakpoint]):
    """Breakpoints by number."""

    WHAT = "breakpoint"
    MISSING = BreakpointError

    def add_breakpoint(self, line: str, recording: Recording | None = None) -> Breakpoint:
        """Set one: `victim if plugin == "gang"`, with or without `break` before it.

        With a recording, names that it does not have are an error.
        """
        point = parse_breakpoint(line, self._last + 1)
        if recording is not None:
            point.kind.check_names(recording)
        self._last += 1
        self._things[point.number] = point
        return point

    def toggle_breakpoint(self, number: int) -> Breakpoint:
        """Switch one off, or on again."""
        point = self[number]
        point.enabled = not point.enabled
        return point

    def replace_breakpoint(self, number: int, line: str, recording: Recording | None = None) -> Breakpoint:
        """Other words for one, which keeps its number and its place."""
        point = parse_breakpoint(line, self[number].number)
        if recording is not None:
            point.kind.check_names(recording)
        self._things[number] = point
        return point

    def command_lines(self) -> list[str]:
        """The words that set all of them, for a file."""
        return [point.command_line() for point in self]

    def next_stop(self, recording: Recording, seq: Seq, step: Step) -> BreakpointHit | None:
        """The nearest enabled breakpoint beyond an event; the lower number where two meet."""
        nearest: BreakpointHit | None = None
        for point in self:
            if not point.enabled or point.log is not None:
                continue
            found = point.next_hit(recording, seq, step)
            if found is not None and (nearest is None or (found - nearest.seq) * step < 0):
                nearest = BreakpointHit(found, point)
        return nearest

    def log_lines_between(self, recording: Recording, seq: Seq, target: Seq, step: Step) -> list[BreakpointLogLine]:
        """What breakpoints with a log text say on the way from an event to a target, the target included."""
        lines: list[BreakpointLogLine] = []
        for point in self:
            if point.enabled and point.log is not None:
                passed = (hit for hit in point.hit_seqs(recording) if _is_passed(seq, hit, target, step))
                lines.extend(BreakpointLogLine(hit, point.number, point.log_text(recording, hit)) for hit in passed)
        return sorted(lines, key=lambda line: (line.seq * step, line.number))


def _is_passed(seq: Seq, hit: Seq, target: Seq, step: Step) -> bool:
    return seq < hit <= target if step == FORWARD else target <= hit < seq
