"""The steps of a session's opening and closing as rows of a tree, beside the spans of the cycle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from vcdebug.amount_text import count_noun, format_count
from vcdebug.model.names import Seq
from vcdebug.trace.ending import closing_step
from vcdebug.trace.memo import per_recording
from vcdebug.trace.opening import opening_seq, opening_step
from vcdebug.trace.recording import Recording
from vcdebug.trace.steps import SessionStep
from vcdebug.views.base import NO, YES, Column, Piece, Row, RowsOnDemand, Style, Table, make_line, muted_piece

OPEN_MARK, CLOSED_MARK = "▾", "▸"
SESSION_TITLE = "Session"
OPENING_KEY, CLOSING_KEY = "step 0", "step 1"
"""The keys of the two branches; those of the steps inside follow, as `step 0.2.1`."""
SESSION_COLUMNS = (
    Column("step", flexible=True, least=24, name=True),
    Column("what comes of it", flexible=True, least=1),
    Column("event", right=True),
)


class OpenedKeys(Protocol):
    """Keys of the rows that are open."""

    def __contains__(self, key: object, /) -> bool: ...


class AllOpened:
    """Every row is open."""

    def __contains__(self, key: object, /) -> bool:
        return True


class EventsOpened:
    """All rows that lead to events are open; what lies deeper in a step has the panel Session."""

    def __contains__(self, key: object, /) -> bool:
        return not str(key).startswith(f"{OPENING_KEY}.") and not str(key).startswith(f"{CLOSING_KEY}.")


@dataclass(frozen=True, slots=True)
class StepBranch:
    """A step as a row: where it stands, and the events that lie inside it; none where `last` is before `first`."""

    key: str
    step: SessionStep
    first: Seq
    last: Seq


@per_recording()
def session_branches(recording: Recording) -> tuple[StepBranch | None, StepBranch | None]:
    """The session's opening and closing with their events; None where the recording has no such event."""
    opened, closing = opening_seq(recording), closing_step(recording)
    size = len(recording)
    first = StepBranch(OPENING_KEY, opening_step(recording), 1, opened) if opened else None
    return first, StepBranch(CLOSING_KEY, closing, size, size) if closing is not None else None


def present_branches(recording: Recording) -> tuple[StepBranch, ...]:
    """Those that are there."""
    return tuple(branch for branch in session_branches(recording) if branch is not None)


def walk_steps(branch: StepBranch, opened: OpenedKeys, depth: int = 1) -> Iterator[tuple[int, StepBranch]]:
    """(depth, row) of the steps inside a branch, those of open ones after each."""
    for number, step in enumerate(branch.step.inner_steps()):
        inner = StepBranch(f"{branch.key}.{number}", step, branch.first, branch.first - 1)
        yield depth, inner
        if step.parts is not None and inner.key in opened:
            yield from walk_steps(inner, opened, depth + 1)


def step_row(branch: StepBranch, indent: str, opened: OpenedKeys) -> Row:
    """A step with its mark, what came of it, and how many events it has."""
    step, events = branch.step, branch.last - branch.first + 1
    return Row(
        branch.key,
        (
            _step_label(branch, indent, opened),
            _step_result(step),
            muted_piece(format_count(events) if events > 0 else ""),
        ),
        step.seq,
        step.subject,
    )


def _step_label(branch: StepBranch, indent: str, opened: OpenedKeys) -> Piece:
    step = branch.step
    mark = " " if step.parts is None else OPEN_MARK if branch.key in opened else CLOSED_MARK
    style: Style = "title" if not indent else "strong" if step.parts is not None else ""
    return Piece(f"{indent}{mark} {step.what}", style)


def _step_result(step: SessionStep) -> Piece:
    if step.good is None:
        return muted_piece(step.said)
    return Piece(f"{YES if step.good else NO} {step.said}", "good" if step.good else "bad")


def session_table(recording: Recording, seq: Seq) -> Table:
    """Opening and closing in full; the step that the present event shows is the current one."""
    found = _all_steps(recording)
    rows = RowsOnDemand(found.keys, lambda i: _full_step_row(*found.steps[i]))
    words = f"session with UID {recording.session.uid}: {count_noun(len(found.keys), 'step')} while it opens and closes"
    return Table(
        SESSION_TITLE,
        SESSION_COLUMNS,
        rows,
        (make_line(muted_piece(words)),),
        current=found.of_event.get(seq, ""),
        depths=[depth for depth, _ in found.steps],
    )


class _SessionSteps(NamedTuple):
    steps: Sequence[tuple[int, StepBranch]]
    keys: Sequence[str]
    of_event: Mapping[Seq, str]
    """The deepest first step that an event shows."""


@per_recording()
def _all_steps(recording: Recording) -> _SessionSteps:
    each = AllOpened()
    steps = [row for branch in present_branches(recording) for row in ((0, branch), *walk_steps(branch, each))]
    of_event: dict[Seq, str] = {}
    for depth, branch in steps:
        if not depth or branch.step.seq > 1:
            of_event.setdefault(branch.step.seq, branch.key)
    return _SessionSteps(steps, [branch.key for _, branch in steps], of_event)


def _full_step_row(depth: int, branch: StepBranch) -> Row:
    step = branch.step
    style: Style = "title" if not depth else "strong" if step.parts is not None else ""
    seq = muted_piece(str(step.seq)) if step.seq else muted_piece("")
    return Row(
        branch.key, (Piece(f"{'  ' * depth}{step.what}", style), _step_result(step), seq), step.seq, step.subject
    )
