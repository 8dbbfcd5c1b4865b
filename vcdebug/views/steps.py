"""The steps of a session's opening and closing as rows of a tree, beside the spans of the cycle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from vcdebug.amount_text import grouped, plural
from vcdebug.model.names import Seq
from vcdebug.trace.ending import ending
from vcdebug.trace.memo import per_recording
from vcdebug.trace.opening import opened_at, opening
from vcdebug.trace.recording import Recording
from vcdebug.trace.steps import Step
from vcdebug.views.base import NO, YES, Column, OnDemand, Piece, Row, Style, Table, line, muted

OPEN, CLOSED = "▾", "▸"
TITLE = "Session"
BEGIN, END = "step 0", "step 1"
"""The keys of the two branches; those of the steps inside follow, as `step 0.2.1`."""
COLUMNS = (
    Column("step", flexible=True, least=24, name=True),
    Column("what comes of it", flexible=True, least=1),
    Column("event", right=True),
)


class Opened(Protocol):
    """Keys of the rows that are open."""

    def __contains__(self, key: object, /) -> bool: ...


class Everything:
    """Every row is open."""

    def __contains__(self, key: object, /) -> bool:
        return True


class EveryEvent:
    """All rows that lead to events are open; what lies deeper in a step has the panel Session."""

    def __contains__(self, key: object, /) -> bool:
        return not str(key).startswith(f"{BEGIN}.") and not str(key).startswith(f"{END}.")


@dataclass(frozen=True, slots=True)
class Branch:
    """A step as a row: where it stands, and the events that lie inside it; none where `last` is before `first`."""

    key: str
    step: Step
    first: Seq
    last: Seq


@per_recording()
def edges(recording: Recording) -> tuple[Branch | None, Branch | None]:
    """The session's opening and closing with their events; None where the recording has no such event."""
    opened, closing = opened_at(recording), ending(recording)
    size = len(recording)
    first = Branch(BEGIN, opening(recording), 1, opened) if opened else None
    return first, Branch(END, closing, size, size) if closing is not None else None


def branches(recording: Recording) -> tuple[Branch, ...]:
    """Those that are there."""
    return tuple(branch for branch in edges(recording) if branch is not None)


def walk_steps(branch: Branch, opened: Opened, depth: int = 1) -> Iterator[tuple[int, Branch]]:
    """(depth, row) of the steps inside a branch, those of open ones after each."""
    for number, step in enumerate(branch.step.inside()):
        inner = Branch(f"{branch.key}.{number}", step, branch.first, branch.first - 1)
        yield depth, inner
        if step.parts is not None and inner.key in opened:
            yield from walk_steps(inner, opened, depth + 1)


def step_row(branch: Branch, indent: str, opened: Opened) -> Row:
    """A step with its mark, what came of it, and how many events it has."""
    step, events = branch.step, branch.last - branch.first + 1
    return Row(
        branch.key,
        (_label(branch, indent, opened), _said(step), muted(grouped(events) if events > 0 else "")),
        step.seq,
        step.subject,
    )


def _label(branch: Branch, indent: str, opened: Opened) -> Piece:
    step = branch.step
    mark = " " if step.parts is None else OPEN if branch.key in opened else CLOSED
    style: Style = "title" if not indent else "strong" if step.parts is not None else ""
    return Piece(f"{indent}{mark} {step.what}", style)


def _said(step: Step) -> Piece:
    if step.good is None:
        return muted(step.said)
    return Piece(f"{YES if step.good else NO} {step.said}", "good" if step.good else "bad")


def session(recording: Recording, seq: Seq) -> Table:
    """Opening and closing in full; the step that the present event shows is the current one."""
    found = _everything(recording)
    rows = OnDemand(found.keys, lambda i: _full(*found.steps[i]))
    words = f"session with UID {recording.session.uid}: {plural(len(found.keys), 'step')} while it opens and closes"
    return Table(
        TITLE,
        COLUMNS,
        rows,
        (line(muted(words)),),
        current=found.of_event.get(seq, ""),
        depths=[depth for depth, _ in found.steps],
    )


class _Steps(NamedTuple):
    steps: Sequence[tuple[int, Branch]]
    keys: Sequence[str]
    of_event: Mapping[Seq, str]
    """The deepest first step that an event shows."""


@per_recording()
def _everything(recording: Recording) -> _Steps:
    each = Everything()
    steps = [row for branch in branches(recording) for row in ((0, branch), *walk_steps(branch, each))]
    of_event: dict[Seq, str] = {}
    for depth, branch in steps:
        if not depth or branch.step.seq > 1:
            of_event.setdefault(branch.step.seq, branch.key)
    return _Steps(steps, [branch.key for _, branch in steps], of_event)


def _full(depth: int, branch: Branch) -> Row:
    step = branch.step
    style: Style = "title" if not depth else "strong" if step.parts is not None else ""
    seq = muted(str(step.seq)) if step.seq else muted("")
    return Row(branch.key, (Piece(f"{'  ' * depth}{step.what}", style), _said(step), seq), step.seq, step.subject)
