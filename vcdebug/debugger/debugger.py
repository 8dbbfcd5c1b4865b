"""Debugger: the facade for every front end. It has a position and breakpoints, and no state of a screen."""

from typing import NamedTuple

from vcdebug.debugger import cursor
from vcdebug.debugger.fields import fields_of
from vcdebug.debugger.figures import Figure, figure_history, format_figure, writer_of
from vcdebug.debugger.notebook import BreakpointList
from vcdebug.framework.record import Event, Span
from vcdebug.model.names import Seq
from vcdebug.recording.event_index import Seqs, seq_after, seq_before
from vcdebug.recording.recording import Recording


class MoveResult(NamedTuple):
    """Where a movement ended, and why."""

    position: cursor.Position
    reason: str
    """step, breakpoint 2 (victim), goto, last position, about job ns/a, start, end, or why the move is impossible."""
    breakpoint: int | None = None


class _StepTaken(NamedTuple):
    """A step; the opposite step right after it returns exactly to its origin."""

    verb: cursor.MoveVerb
    step: cursor.Step
    origin: Seq
    target: Seq
    inside: int = 0
    """Number of the step inside the event from which the step was taken; 0 for the event itself."""


class Debugger:
    """Moves through one recording."""

    def __init__(self, recording: Recording, breakpoints: BreakpointList | None = None, *, first: Seq = 1) -> None:
        self.recording = recording
        self.first_seq = first
        """The starting position: the first event, or the overview before it."""
        self.position = cursor.Position(first)
        self.breakpoints = breakpoints if breakpoints is not None else BreakpointList()
        self.log = self.breakpoints.log
        """Log lines of breakpoints so far."""
        self.at_start = True
        """Whether the cursor is at the starting position: since the beginning, or after a step back to it."""
        self._steps_taken: list[_StepTaken] = []
        self.last_jump = cursor.Position(first)
        """The position before the last jump; the same object until the next jump."""

    @property
    def seq(self) -> Seq:
        """The current event's number; 1 at the overview."""
        return max(self.position.seq, 1)

    @property
    def last_seq(self) -> Seq:
        """The number of the last event."""
        return len(self.recording)

    def current_event(self) -> Event:
        """The current event."""
        return self.recording.event_at(self.seq)

    def span_path(self) -> tuple[Span, ...]:
        """The spans around the current event: cycle, action, queue, job, task, node, as far as it lies in them."""
        return self.recording.span_tree.path_to(self.seq)

    def enclosing_name(self, field: str) -> str:
        """The action, queue, job, task, node or plugin of the current event; empty where it has none, or several."""
        name = fields_of(self.recording, self.seq)(field)
        return name if isinstance(name, str) else ""

    @property
    def at_overview(self) -> bool:
        """Whether the cursor is before all events."""
        return self.position.seq == cursor.OVERVIEW

    def place_at(self, seq: Seq) -> None:
        """Place the cursor at an event; this counts neither as a step nor as a jump."""
        self._steps_taken.clear()
        self._move_to(self._clamp_seq(seq), "")

    def _clamp_seq(self, seq: Seq) -> Seq:
        return min(max(seq, self.first_seq), self.last_seq)

    def step_into(self, *, back: bool = False) -> MoveResult:
        """The next event, however deep."""
        return self._take_step("into", cursor.step_direction(back=back))

    def step_inside(self, *, back: bool = False) -> MoveResult:
        """Same as `step_into`, but also stops at each comparison of a pop and each part of a scoring pass."""
        seq, inside = self.position
        if back and inside:
            return self._move_to(seq, "step", inside - 1)
        if not back and inside < cursor.steps_inside(self.recording, seq).total:
            return self._move_to(seq, "step", inside + 1)
        stop = self.step_into(back=back)
        if back and self.position.seq != seq:
            return self._move_to(
                stop.position.seq, stop.reason, cursor.steps_inside(self.recording, stop.position.seq).total
            )
        return stop

    def step_over(self, *, back: bool = False) -> MoveResult:
        """Move to the next event or span on the same level, skipping deeper ones."""
        return self._take_step("over", cursor.step_direction(back=back))

    def step_out(self, *, back: bool = False) -> MoveResult:
        """Go to the event after the enclosing span; backward, to its first event; from an inner step, to its event."""
        return self._take_step("out", cursor.step_direction(back=back))

    def _take_step(self, verb: cursor.MoveVerb, step: cursor.Step) -> MoveResult:
        seq, inside = self.position
        last = self._steps_taken[-1] if self._steps_taken and not inside else None
        if last is not None and (last.verb, last.step, last.target) == (verb, -step, seq):
            self._steps_taken.pop()
            return self._move_to(last.origin, "step", last.inside)
        target = self._target_of(verb, step)
        reason = "step"
        if target is None:
            target, reason = (self.first_seq, "start") if step == cursor.BACKWARD else (self.last_seq, "end")
        if (target, 0) != (seq, inside):
            self._steps_taken.append(_StepTaken(verb, step, seq, target, inside))
        return self._move_to(target, reason)

    def _target_of(self, verb: cursor.MoveVerb, step: cursor.Step) -> Seq | None:
        seq, inside = self.position
        if inside and verb == "out":
            return seq if step == cursor.BACKWARD else cursor.step_over(self.recording, seq, step)
        return cursor.MOVES[verb](self.recording, seq, step)

    @property
    def went_up(self) -> bool:
        """Whether the last step was a backward step out, which a forward step out undoes."""
        return (
            bool(self._steps_taken)
            and self._steps_taken[-1].target == self.position.seq
            and self._steps_taken[-1][:2] == ("out", cursor.BACKWARD)
        )

    @property
    def last_verb(self) -> cursor.MoveVerb:
        """The verb of the last step, whose opposite undoes it; `over` if there was no step."""
        return self._steps_taken[-1].verb if self._steps_taken and self._steps_taken[-1].target == self.seq else "over"

    def continue_(self, *, back: bool = False) -> MoveResult:
        """Go to the nearest enabled breakpoint; without one the cursor stays, and the reason says so."""
        step, seq = cursor.step_direction(back=back), self.position.seq
        hit = self.breakpoints.next_stop(self.recording, seq, step)
        end = 1 if step == cursor.BACKWARD else self.last_seq
        target = end if hit is None else hit.seq
        self.log.extend(self.breakpoints.log_lines_between(self.recording, seq, target, step))
        if hit is None:
            return MoveResult(self.position, self._describe_no_hit(step))
        point = hit.breakpoint
        if point.once:
            point.enabled = False
        self._jump_to(target, "breakpoint")
        return MoveResult(self.position, point.stop_reason(self.recording, target), point.number)

    def _describe_no_hit(self, step: cursor.Step) -> str:
        """Message that there is no stop in this direction, with a hint if there is one in the other direction."""
        words = {cursor.FORWARD: ("after", "before", "C"), cursor.BACKWARD: ("before", "after", "c")}
        side, other, key = words[step]
        opposite = cursor.BACKWARD if step == cursor.FORWARD else cursor.FORWARD
        elsewhere = self.breakpoints.next_stop(self.recording, self.position.seq, opposite)
        hint = f"; {key}: one {other} it" if elsewhere is not None else ""
        return f"no breakpoint {side} event {self.position.seq}{hint}"

    def goto_event(self, seq: Seq) -> MoveResult:
        """Go to an event by number; numbers out of range go to the first or last event."""
        return self._jump_to(self._clamp_seq(seq), "goto")

    def next_about(self, kind: str, name: str, *, back: bool = False) -> MoveResult:
        """The next event that concerns a task, job, node, queue or plugin."""
        if not name:
            return MoveResult(self.position, "nothing is selected")
        mentions = self.recording.index.seqs_about(kind, name)
        seq = self.position.seq
        target = seq_before(mentions, seq) if back else seq_after(mentions, seq)
        if target is None:
            side = "earlier" if back else "later"
            return MoveResult(self.position, f"no {side} event about {kind} {name}")
        return self._jump_to(target, f"about {kind} {name}")

    def last_position(self) -> MoveResult:
        """Go to where the last jump began; called again, return to where it led."""
        target = self.last_jump
        stop = self._jump_to(target.seq, "last position")
        self.position = target
        return stop._replace(position=target)

    def last_change(self, figure: Figure) -> MoveResult:
        """Go to the event that wrote the figure's current value, or to the write before if already there.

        The overview is of the whole cycle: from there to the last write of all.
        """
        followed = figure_history(self.recording, figure)
        seq = self.last_seq if self.at_overview else self.seq
        change = followed.change_at(seq) if not self.at_overview else None
        write = followed.last_change(seq if change is None else seq - 1)
        if write is None:
            return MoveResult(self.position, f"{figure} is as it was when the session opened")
        old, new = format_figure(figure, write.old), format_figure(figure, write.new)
        writer = writer_of(self.recording, figure, write.seq)
        place = f", written at event {writer}" if writer != write.seq else ""
        return self._jump_to(write.seq, f"{figure} {old} → {new}{place}")

    def hit_seqs(self, number: int) -> Seqs:
        """All events at which a breakpoint stops."""
        return self.breakpoints[number].hit_seqs(self.recording)

    def _jump_to(self, seq: Seq, reason: str) -> MoveResult:
        self._steps_taken.clear()
        self.last_jump = self.position
        return self._move_to(seq, reason)

    def _move_to(self, seq: Seq, reason: str, inside: int = 0) -> MoveResult:
        self.at_start = reason == "start"
        self.position = cursor.Position(seq, inside)
        return MoveResult(self.position, reason)
