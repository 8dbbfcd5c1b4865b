"""The rows of a cycle in the order and depth in which the tree shows them, and the cursor's moves over them.

A row is the opening or the closing of the session, a span, or a run of events of one kind. Each event lies in one
innermost row. A cursor at the first event of a row is before the whole row, the widest one that begins there.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from msgspec import Struct

from vcdebug.framework.record import HookEvent, Level, Span
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.session_closing import closing_step
from vcdebug.recording.session_steps import SessionStep, opening_seq, opening_step

OPENING_KEY, CLOSING_KEY = "step 0", "step 1"
"""The keys of opening and closing; their inner steps have keys such as `step 0.2.1`."""


class StepBranch(Struct, frozen=True):
    """A step as a row, with the range of its events; empty if `last` is before `first`."""

    key: str
    step: SessionStep
    first: Seq
    last: Seq


@per_recording()
def session_branches(recording: Recording) -> tuple[StepBranch | None, StepBranch | None]:
    """(opening, closing) of the session; None where the recording has no such event."""
    opened, closing = opening_seq(recording), closing_step(recording)
    size = len(recording)
    first = StepBranch(OPENING_KEY, opening_step(recording), 1, opened) if opened else None
    return first, StepBranch(CLOSING_KEY, closing, size, size) if closing is not None else None


def present_branches(recording: Recording) -> tuple[StepBranch, ...]:
    """The opening and the closing, as far as the recording has them."""
    return tuple(branch for branch in session_branches(recording) if branch is not None)


class EventRun(Struct, frozen=True):
    """Consecutive events of one kind, directly inside one span."""

    first: Seq
    last: Seq


FlowPart = Span | StepBranch | EventRun


@per_recording()
def top_rows(recording: Recording) -> tuple[FlowPart, ...]:
    """The rows of depth 0: opening, actions with the events between them, closing."""
    before, after = session_branches(recording)
    first = before.last + 1 if before is not None else 1
    last = after.first - 1 if after is not None else len(recording)
    inside = [part for part in span_rows(recording, -1) if first <= part.first <= last]
    return (*((before,) if before is not None else ()), *inside, *((after,) if after is not None else ()))


def row_after_opening(recording: Recording) -> Seq:
    """First event of the row after the session's opening; of the first row where the recording has no opening."""
    rows = top_rows(recording)
    return rows[1].first if isinstance(rows[0], StepBranch) and len(rows) > 1 else rows[0].first


def rows_inside(recording: Recording, part: FlowPart) -> Sequence[FlowPart]:
    """The rows directly inside a row; none inside a run."""
    if isinstance(part, Span):
        return span_rows(recording, part.index)
    return branch_runs(recording, part.first, part.last) if isinstance(part, StepBranch) else ()


@per_recording(most=10_000)
def span_rows(recording: Recording, index: int) -> tuple[FlowPart, ...]:
    """The spans and runs directly inside a span; index -1 is the whole cycle."""
    span = recording.spans[index] if index >= 0 else None
    seq, last = (span.first, span.last) if span is not None else (1, len(recording))
    coarse = span is None or span.level <= Level.ACTION
    parts: list[FlowPart] = []
    for child in recording.span_tree.children_of(span):
        parts += [*_split_runs(recording, seq, child.first - 1, coarse=coarse), child]
        seq = child.last + 1
    return (*parts, *_split_runs(recording, seq, last, coarse=coarse))


@per_recording()
def branch_runs(recording: Recording, first: Seq, last: Seq) -> tuple[EventRun, ...]:
    """Runs of events from `first` to `last`, while the session opens or closes."""
    return tuple(_split_runs(recording, first, last, coarse=True))


def _split_runs(recording: Recording, first: Seq, last: Seq, *, coarse: bool) -> Iterator[EventRun]:
    """Split events into runs: consecutive hook calls of one point share a run, `coarse` of any point."""
    # Only hook calls form runs: the index of their events avoids reading each event of a large cycle.
    hooks = recording.index.seqs_of_type(HookEvent)
    start, place = first, bisect_left(hooks, first)
    while start <= last:
        end = start
        if place < len(hooks) and hooks[place] == start:
            while end < last and place + 1 < len(hooks) and hooks[place + 1] == end + 1:
                if not coarse and _hook_point(recording, end) != _hook_point(recording, end + 1):
                    break
                end, place = end + 1, place + 1
            place += 1
        yield EventRun(start, end)
        start = end + 1


def _hook_point(recording: Recording, seq: Seq) -> str:
    event = recording.event_at(seq)
    assert isinstance(event, HookEvent)
    return event.point


class RowPlace(Struct, frozen=True):
    """A row among its siblings."""

    siblings: Sequence[FlowPart]
    position: int

    @property
    def part(self) -> FlowPart:
        """The row."""
        return self.siblings[self.position]


def path_to_row(recording: Recording, seq: Seq) -> list[RowPlace]:
    """The rows that contain the cursor at an event, outermost first; the last one is the cursor's own row."""
    path: list[RowPlace] = []
    siblings: Sequence[FlowPart] = top_rows(recording)
    while siblings:
        index = bisect_right(siblings, seq, key=lambda part: part.first) - 1
        if index < 0 or siblings[index].last < seq:
            break
        path.append(RowPlace(siblings, index))
        if siblings[index].first == seq:
            break
        siblings = rows_inside(recording, siblings[index])
    return path


def next_row(path: Sequence[RowPlace]) -> Seq | None:
    """First event of the next row outside the path's last row; None after the last row."""
    following = (
        place.siblings[place.position + 1].first for place in reversed(path) if place.position + 1 < len(place.siblings)
    )
    return next(following, None)


def previous_row(path: Sequence[RowPlace]) -> Seq | None:
    """The first event of the sibling before the path's last row, else of its parent; None before the first row."""
    if not path:
        return None
    last_place = path[-1]
    if last_place.position > 0:
        return last_place.siblings[last_place.position - 1].first
    return path[-2].part.first if len(path) > 1 else None
