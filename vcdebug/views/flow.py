"""The flow of a cycle as rows: spans that open and close, and the events directly inside them, in runs.

Before the first action and after the last one stand the steps of the session's opening and closing (views/steps.py).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from vcdebug.amount_text import count_noun, format_count
from vcdebug.explain.votes import hook_calls_at
from vcdebug.framework.record import HookEvent, Level, Span
from vcdebug.model.names import Seq
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording
from vcdebug.trace.visits import starts_after_pop
from vcdebug.views.base import MAX_CACHED_TABLES, NO, Column, Piece, Row, RowsOnDemand, Style, Table, muted_piece
from vcdebug.views.headline import VICTIM_POINTS, answer_piece, event_headline
from vcdebug.views.names import bare_name, task_list_or
from vcdebug.views.outcome import span_outcome
from vcdebug.views.steps import (
    CLOSED_MARK,
    OPEN_MARK,
    EventsOpened,
    OpenedKeys,
    StepBranch,
    present_branches,
    session_branches,
    step_row,
    walk_steps,
)

FLOW_COLUMNS = (
    Column("", flexible=True, least=18, name=True),
    Column("", flexible=True, least=1),
    Column("ev", right=True),
)
TREE_GUIDE = "│ "
_SUBJECTS = {Level.QUEUE: "queue", Level.JOB: "job", Level.TASK: "task", Level.NODE: "node"}


def flow_at(recording: Recording, seq: Seq) -> Table:
    """The tree with as much open as shows where one stands."""
    return flow_table(recording, open_keys_around(recording, seq), seq)


class EventRun(NamedTuple):
    """Neighbouring events of one kind, directly in one span."""

    first: Seq
    last: Seq


FlowPart = Span | StepBranch | EventRun
ShownParts = list[tuple[int, FlowPart]]
"""(depth, part) of each row."""


class FlowTree(NamedTuple):
    """What is to be seen of the cycle while some of its spans are open."""

    shown: ShownParts
    rows: RowsOnDemand
    depths: Sequence[int]


def flow_table(recording: Recording, opened: Iterable[str], seq: Seq) -> Table:
    """The tree with the rows of `opened` open; `current` is the row at which one stands."""
    return _tree_table(recording, _with_open(recording, tuple(opened)), seq)


@per_recording(most=MAX_CACHED_TABLES)
def _with_open(recording: Recording, opened: tuple[str, ...]) -> FlowTree:
    return _build_tree(recording, dict.fromkeys(opened))


def _build_tree(recording: Recording, opened: OpenedKeys) -> FlowTree:
    shown = _all_parts(recording, opened)
    rows = RowsOnDemand([_part_key(part) for _, part in shown], lambda i: _flow_row(recording, *shown[i], opened))
    return FlowTree(shown, rows, [depth for depth, _ in shown])


def _tree_table(recording: Recording, tree: FlowTree, seq: Seq) -> Table:
    current = _current_key(recording, tree.shown, seq)
    columns = _flow_columns(recording)
    return Table("Flow", columns, tree.rows, current=current, one_line=True, wraps=False, depths=tree.depths)


def _flow_columns(recording: Recording) -> tuple[Column, ...]:
    """As wide as the largest count: no span has more events than the cycle."""
    return (*FLOW_COLUMNS[:-1], replace(FLOW_COLUMNS[-1], least=len(format_count(len(recording)))))


def whole_flow(recording: Recording, seq: Seq) -> Table:
    """The tree with everything open: what a search looks through."""
    return _tree_table(recording, _whole_tree(recording), seq)


@per_recording()
def _whole_tree(recording: Recording) -> FlowTree:
    return _build_tree(recording, EventsOpened())


def _current_key(recording: Recording, shown: ShownParts, seq: Seq) -> str:
    """The span that begins here, where it is seen; else the deepest row that holds the event."""
    index = bisect_right(shown, seq, key=lambda entry: entry[1].first) - 1
    while index >= 0 and shown[index][1].last < seq:
        index -= 1
    if index < 0:
        return ""
    head = recording.span_tree.span_starting_at(seq)
    for _, part in reversed(shown[max(0, index - len(Level)) : index + 1]):
        if part is head:
            return _part_key(part)
    return _part_key(shown[index][1])


def _part_key(part: FlowPart) -> str:
    if isinstance(part, StepBranch):
        return part.key
    return f"event {part.first}" if isinstance(part, EventRun) else span_key(part.index)


def depth_of(row: Row) -> int:
    """How deep a row of the tree stands."""
    return row.cells[0].text.count(TREE_GUIDE)


def span_key(index: int) -> str:
    """The key of a span's row."""
    return f"span {index}"


def open_keys_around(recording: Recording, seq: Seq) -> tuple[str, ...]:
    """The rows that must be open to see where one stands."""
    owner = recording.span_tree.enclosing_span(seq)
    if owner is None:
        return tuple(branch.key for branch in present_branches(recording) if branch.first < seq <= branch.last)
    found: list[str] = []
    while owner is not None:
        found.append(span_key(owner.index))
        owner = recording.span_tree.parent_of(owner)
    return tuple(found)


def _all_parts(recording: Recording, opened: OpenedKeys) -> list[tuple[int, FlowPart]]:
    """(depth, row), depth first: the opening, what the actions did, the closing."""
    shown: list[tuple[int, FlowPart]] = []
    first, last = 1, len(recording)
    before, after = session_branches(recording)
    if before is not None:
        shown += _branch_parts(recording, before, opened)
        first = before.last + 1
    behind = _branch_parts(recording, after, opened) if after is not None else []
    last = after.first - 1 if after is not None else last
    return [
        *shown,
        *(each for each in _walk_spans(recording, -1, opened, 0) if first <= each[1].first <= last),
        *behind,
    ]


def _branch_parts(recording: Recording, branch: StepBranch, opened: OpenedKeys) -> list[tuple[int, FlowPart]]:
    """A branch with its open steps; its own events stand behind them, or before those of the close."""
    if branch.key not in opened:
        return [(0, branch)]
    runs = [(1, run) for run in _coarse_runs(recording, branch.first, branch.last)]
    return [(0, branch), *walk_steps(branch, opened), *runs]


def _walk_spans(recording: Recording, index: int, opened: OpenedKeys, depth: int) -> Iterator[tuple[int, FlowPart]]:
    """(depth, span or run), depth first; -1 is the cycle, which is not a row itself."""
    for part in _span_parts(recording, index):
        yield depth, part
        if isinstance(part, Span) and span_key(part.index) in opened:
            yield from _walk_spans(recording, part.index, opened, depth + 1)


@per_recording(most=10_000)
def _span_parts(recording: Recording, index: int) -> tuple[FlowPart, ...]:
    """What lies directly inside a span."""
    span = recording.spans[index] if index >= 0 else None
    seq, last = (span.first, span.last) if span is not None else (1, len(recording))
    coarse = span is None or span.level <= Level.ACTION
    parts: list[FlowPart] = []
    for child in recording.span_tree.children_of(span):
        parts += [*_split_runs(recording, seq, child.first - 1, coarse=coarse), child]
        seq = child.last + 1
    return (*parts, *_split_runs(recording, seq, last, coarse=coarse))


@per_recording()
def _coarse_runs(recording: Recording, first: Seq, last: Seq) -> tuple[EventRun, ...]:
    return tuple(_split_runs(recording, first, last, coarse=True))


def _split_runs(recording: Recording, first: Seq, last: Seq, *, coarse: bool) -> Iterator[EventRun]:
    """Neighbours of the same kind share a row; an action's own questions about all jobs share one."""
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


def _flow_row(recording: Recording, depth: int, part: FlowPart, opened: OpenedKeys) -> Row:
    indent = TREE_GUIDE * depth
    if isinstance(part, StepBranch):
        return step_row(part, TREE_GUIDE * depth, opened)
    events = muted_piece(format_count(part.last - part.first + 1))
    job = _job_name(recording, part)
    if isinstance(part, EventRun):
        what, result = _run_words(recording, part)
        return Row(_part_key(part), (Piece(f"{indent}  {_shorten_within_job(job, what)}"), result, events), part.first)
    mark = OPEN_MARK if span_key(part.index) in opened else CLOSED_MARK
    style: Style = "title" if part.level is Level.ACTION else "strong"
    label = Piece(f"{indent}{mark} {_shorten_within_job(job, bare_name(part.name))}", style)
    subject = (_SUBJECTS[part.level], part.name) if part.level in _SUBJECTS else ("", "")
    return Row(_part_key(part), (label, _outcome_with_phase(recording, part), events), part.first, subject)


def _outcome_with_phase(recording: Recording, span: Span) -> Piece:
    came, phase = span_outcome(recording, span.index), _preempt_phase(recording, span)
    return came._replace(text=f"{came.text}, {phase}") if phase else came


def _preempt_phase(recording: Recording, span: Span) -> str:
    """Preempt turns to a job twice: it evicts tasks of other jobs for it first, then of its own."""
    action = recording.span_tree.span_around(span.first, Level.ACTION)
    if span.level is not Level.JOB or action is None or not recording.conf.facts_of(action.name).within_jobs:
        return ""
    return "phase 1" if starts_after_pop(recording, span) else "phase 2"


def _job_name(recording: Recording, part: Span | EventRun) -> str:
    span = recording.span_tree.span_around(part.first, Level.JOB)
    return bare_name(span.name) if span is not None and span is not part else ""


def _shorten_within_job(job: str, text: str) -> str:
    """Below a job its tasks go by the rest of their names: `worker-0`."""
    return text.replace(f"{job}-", "") if job else text


def _run_words(recording: Recording, run: EventRun) -> tuple[str, Piece]:
    events = [recording.event_at(seq) for seq in range(run.first, run.last + 1)]
    words = event_headline(events[-1])
    if len(events) == 1:
        return words.what, words.outcome
    hooks = [event for event in events if isinstance(event, HookEvent)]
    points = list(dict.fromkeys(event.point for event in hooks))
    what = f"{', '.join(points)} ×{len(events)}"
    if points[0] in VICTIM_POINTS:
        asked = hook_calls_at(recording, run.first)
        chosen = asked.outcome if asked is not None else ()
        return what, Piece(task_list_or(chosen or (), f"{NO} no victims"), "good" if chosen else "bad")
    jobs = {event.job: None for event in hooks}
    if len(jobs) > 1:
        return what, muted_piece(count_noun(len(jobs), "job"))
    answers = list(dict.fromkeys(answer_piece(event) for event in hooks))
    return what, answers[0] if len(answers) == 1 else answers[-1]
