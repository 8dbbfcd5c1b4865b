"""The flow of a cycle as rows: spans that open and close, and the events directly inside them, in runs.

Before the first action and after the last one stand the steps of the session's opening and closing (views/steps.py).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from vcdebug.amount_text import grouped, plural
from vcdebug.explain.votes import question
from vcdebug.framework.record import HookEvent, Level, Span
from vcdebug.model.names import Seq
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording
from vcdebug.trace.visits import between_jobs
from vcdebug.views.base import KEPT_TABLES, NO, Column, OnDemand, Piece, Row, Style, Table, muted
from vcdebug.views.headline import VICTIM_POINTS, answer, headline
from vcdebug.views.names import bare, list_or
from vcdebug.views.outcome import outcome
from vcdebug.views.steps import CLOSED, OPEN, Branch, EveryEvent, Opened, branches, edges, step_row, walk_steps

COLUMNS = (
    Column("", flexible=True, least=18, name=True),
    Column("", flexible=True, least=1),
    Column("ev", right=True),
)
GUIDE = "│ "
_SUBJECTS = {Level.QUEUE: "queue", Level.JOB: "job", Level.TASK: "task", Level.NODE: "node"}


def flow_at(recording: Recording, seq: Seq) -> Table:
    """The tree with as much open as shows where one stands."""
    return flow(recording, around(recording, seq), seq)


class Run(NamedTuple):
    """Neighbouring events of one kind, directly in one span."""

    first: Seq
    last: Seq


Part = Span | Branch | Run
Shown = list[tuple[int, Part]]
"""(depth, part) of each row."""


class Tree(NamedTuple):
    """What is to be seen of the cycle while some of its spans are open."""

    shown: Shown
    rows: OnDemand
    depths: Sequence[int]


def flow(recording: Recording, opened: Iterable[str], seq: Seq) -> Table:
    """The tree with the rows of `opened` open; `current` is the row at which one stands."""
    return _table(recording, _with_open(recording, tuple(opened)), seq)


@per_recording(most=KEPT_TABLES)
def _with_open(recording: Recording, opened: tuple[str, ...]) -> Tree:
    return _tree(recording, dict.fromkeys(opened))


def _tree(recording: Recording, opened: Opened) -> Tree:
    shown = _all(recording, opened)
    rows = OnDemand([_key(part) for _, part in shown], lambda i: _row(recording, *shown[i], opened))
    return Tree(shown, rows, [depth for depth, _ in shown])


def _table(recording: Recording, tree: Tree, seq: Seq) -> Table:
    current = _here(recording, tree.shown, seq)
    columns = _columns(recording)
    return Table("Flow", columns, tree.rows, current=current, one_line=True, wraps=False, depths=tree.depths)


def _columns(recording: Recording) -> tuple[Column, ...]:
    """As wide as the largest count: no span has more events than the cycle."""
    return (*COLUMNS[:-1], replace(COLUMNS[-1], least=len(grouped(len(recording)))))


def whole_flow(recording: Recording, seq: Seq) -> Table:
    """The tree with everything open: what a search looks through."""
    return _table(recording, _whole(recording), seq)


@per_recording()
def _whole(recording: Recording) -> Tree:
    return _tree(recording, EveryEvent())


def _here(recording: Recording, shown: Shown, seq: Seq) -> str:
    """The span that begins here, where it is seen; else the deepest row that holds the event."""
    index = bisect_right(shown, seq, key=lambda entry: entry[1].first) - 1
    while index >= 0 and shown[index][1].last < seq:
        index -= 1
    if index < 0:
        return ""
    head = recording.tree.head(seq)
    for _, part in reversed(shown[max(0, index - len(Level)) : index + 1]):
        if part is head:
            return _key(part)
    return _key(shown[index][1])


def _key(part: Part) -> str:
    if isinstance(part, Branch):
        return part.key
    return f"event {part.first}" if isinstance(part, Run) else span_key(part.index)


def depth_of(row: Row) -> int:
    """How deep a row of the tree stands."""
    return row.cells[0].text.count(GUIDE)


def span_key(index: int) -> str:
    """The key of a span's row."""
    return f"span {index}"


def around(recording: Recording, seq: Seq) -> tuple[str, ...]:
    """The rows that must be open to see where one stands."""
    owner = recording.tree.owner(seq)
    if owner is None:
        return tuple(branch.key for branch in branches(recording) if branch.first < seq <= branch.last)
    found: list[str] = []
    while owner is not None:
        found.append(span_key(owner.index))
        owner = recording.tree.parent(owner)
    return tuple(found)


def _all(recording: Recording, opened: Opened) -> list[tuple[int, Part]]:
    """(depth, row), depth first: the opening, what the actions did, the closing."""
    shown: list[tuple[int, Part]] = []
    first, last = 1, len(recording)
    before, after = edges(recording)
    if before is not None:
        shown += _branch(recording, before, opened)
        first = before.last + 1
    behind = _branch(recording, after, opened) if after is not None else []
    last = after.first - 1 if after is not None else last
    return [*shown, *(each for each in _walk(recording, -1, opened, 0) if first <= each[1].first <= last), *behind]


def _branch(recording: Recording, branch: Branch, opened: Opened) -> list[tuple[int, Part]]:
    """A branch with its open steps; its own events stand behind them, or before those of the close."""
    if branch.key not in opened:
        return [(0, branch)]
    runs = [(1, run) for run in _coarse_runs(recording, branch.first, branch.last)]
    return [(0, branch), *walk_steps(branch, opened), *runs]


def _walk(recording: Recording, index: int, opened: Opened, depth: int) -> Iterator[tuple[int, Part]]:
    """(depth, span or run), depth first; -1 is the cycle, which is not a row itself."""
    for part in _parts(recording, index):
        yield depth, part
        if isinstance(part, Span) and span_key(part.index) in opened:
            yield from _walk(recording, part.index, opened, depth + 1)


@per_recording(most=10_000)
def _parts(recording: Recording, index: int) -> tuple[Part, ...]:
    """What lies directly inside a span."""
    span = recording.spans[index] if index >= 0 else None
    seq, last = (span.first, span.last) if span is not None else (1, len(recording))
    coarse = span is None or span.level <= Level.ACTION
    parts: list[Part] = []
    for child in recording.tree.children(span):
        parts += [*_runs(recording, seq, child.first - 1, coarse=coarse), child]
        seq = child.last + 1
    return (*parts, *_runs(recording, seq, last, coarse=coarse))


@per_recording()
def _coarse_runs(recording: Recording, first: Seq, last: Seq) -> tuple[Run, ...]:
    return tuple(_runs(recording, first, last, coarse=True))


def _runs(recording: Recording, first: Seq, last: Seq, *, coarse: bool) -> Iterator[Run]:
    """Neighbours of the same kind share a row; an action's own questions about all jobs share one."""
    hooks = recording.index.of_type(HookEvent)
    start, place = first, bisect_left(hooks, first)
    while start <= last:
        end = start
        if place < len(hooks) and hooks[place] == start:
            while end < last and place + 1 < len(hooks) and hooks[place + 1] == end + 1:
                if not coarse and _point(recording, end) != _point(recording, end + 1):
                    break
                end, place = end + 1, place + 1
            place += 1
        yield Run(start, end)
        start = end + 1


def _point(recording: Recording, seq: Seq) -> str:
    event = recording.event(seq)
    assert isinstance(event, HookEvent)
    return event.point


def _row(recording: Recording, depth: int, part: Part, opened: Opened) -> Row:
    indent = GUIDE * depth
    if isinstance(part, Branch):
        return step_row(part, GUIDE * depth, opened)
    events = muted(grouped(part.last - part.first + 1))
    job = _job_name(recording, part)
    if isinstance(part, Run):
        what, result = _run_words(recording, part)
        return Row(_key(part), (Piece(f"{indent}  {_within(job, what)}"), result, events), part.first)
    mark = OPEN if span_key(part.index) in opened else CLOSED
    style: Style = "title" if part.level is Level.ACTION else "strong"
    label = Piece(f"{indent}{mark} {_within(job, bare(part.name))}", style)
    subject = (_SUBJECTS[part.level], part.name) if part.level in _SUBJECTS else ("", "")
    return Row(_key(part), (label, _outcome(recording, part), events), part.first, subject)


def _outcome(recording: Recording, span: Span) -> Piece:
    came, phase = outcome(recording, span.index), _phase(recording, span)
    return came._replace(text=f"{came.text}, {phase}") if phase else came


def _phase(recording: Recording, span: Span) -> str:
    """Preempt turns to a job twice: it evicts tasks of other jobs for it first, then of its own."""
    action = recording.tree.around(span.first, Level.ACTION)
    if span.level is not Level.JOB or action is None or not recording.conf.facts_of(action.name).within_jobs:
        return ""
    return "phase 1" if between_jobs(recording, span) else "phase 2"


def _job_name(recording: Recording, part: Span | Run) -> str:
    span = recording.tree.around(part.first, Level.JOB)
    return bare(span.name) if span is not None and span is not part else ""


def _within(job: str, text: str) -> str:
    """Below a job its tasks go by the rest of their names: `worker-0`."""
    return text.replace(f"{job}-", "") if job else text


def _run_words(recording: Recording, run: Run) -> tuple[str, Piece]:
    events = [recording.event(seq) for seq in range(run.first, run.last + 1)]
    words = headline(events[-1])
    if len(events) == 1:
        return words.what, words.outcome
    hooks = [event for event in events if isinstance(event, HookEvent)]
    points = list(dict.fromkeys(event.point for event in hooks))
    what = f"{', '.join(points)} ×{len(events)}"
    if points[0] in VICTIM_POINTS:
        asked = question(recording, run.first)
        chosen = asked.outcome if asked is not None else ()
        return what, Piece(list_or(chosen or (), f"{NO} no victims"), "good" if chosen else "bad")
    jobs = {event.job: None for event in hooks}
    if len(jobs) > 1:
        return what, muted(plural(len(jobs), "job"))
    answers = list(dict.fromkeys(answer(event) for event in hooks))
    return what, answers[0] if len(answers) == 1 else answers[-1]
