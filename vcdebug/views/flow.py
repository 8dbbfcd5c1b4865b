"""The panels Flow and Session: the cycle as a tree of spans, runs of events, and steps of opening and closing."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import count_noun, format_count
from vcdebug.explain.decisions.votes import hook_calls_at
from vcdebug.framework.record import HookEvent, Level, Span
from vcdebug.model.names import Seq
from vcdebug.recording import flow_rows
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.replay import announce_long_work
from vcdebug.recording.session_steps import SessionStep
from vcdebug.recording.visits import VICTIM_POINTS, starts_after_pop
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.headline import answer_piece, event_headline, span_outcome, task_list_or
from vcdebug.views.pieces import CLOSED, NO, OPEN, YES, Piece, Style, muted_lines, muted_piece
from vcdebug.views.table import MAX_CACHED_TABLES, Row, RowsOnDemand, Table, table_columns

# The steps of the session's opening and closing as rows of a tree.

SESSION_TITLE = "Session"
SESSION_COLUMNS = table_columns("step@~24", "what comes of it~1", "event#")


IsOpen = Callable[[str], bool]
"""Whether the row with a key is open."""


def walk_steps(
    branch: flow_rows.StepBranch, is_open: IsOpen, depth: int = 1
) -> Iterator[tuple[int, flow_rows.StepBranch]]:
    """(depth, step) inside a branch, depth first, into open steps only."""
    for number, step in enumerate(branch.step.inner_steps()):
        # An inner step has no events of its own: an empty range keeps it from being found by event.
        inner = flow_rows.StepBranch(f"{branch.key}.{number}", step, branch.first, branch.first - 1)
        yield depth, inner
        if step.make_steps is not None and is_open(inner.key):
            yield from walk_steps(inner, is_open, depth + 1)


def step_row(branch: flow_rows.StepBranch, indent: str, is_open: IsOpen) -> Row:
    """A step with its mark, its result and the number of its events."""
    step, events = branch.step, branch.last - branch.first + 1
    count = muted_piece(format_count(events) if events > 0 else "")
    return Row(branch.key, (_step_label(branch, indent, is_open), _step_result(step), count), step.seq, step.subject)


def _step_label(branch: flow_rows.StepBranch, indent: str, is_open: IsOpen) -> Piece:
    step = branch.step
    mark = " " if step.make_steps is None else OPEN if is_open(branch.key) else CLOSED
    style: Style = "title" if not indent else "strong" if step.make_steps is not None else ""
    return Piece(f"{indent}{mark} {step.name}", style)


def _step_result(step: SessionStep) -> Piece:
    if step.is_successful is None:
        return muted_piece(step.result)
    return Piece(f"{YES if step.is_successful else NO} {step.result}", "good" if step.is_successful else "bad")


def session_table(recording: Recording, seq: Seq) -> Table:
    """All steps of opening and closing; the step of the event is the current row."""
    steps = _all_steps(recording)
    rows, depths = RowsOnDemand(steps.keys, lambda i: _full_step_row(*steps.steps[i])), [d for d, _ in steps.steps]
    words = f"session with UID {recording.session.uid}: {count_noun(len(steps.keys), 'step')} while it opens and closes"
    summary, current = muted_lines(words), steps.of_event.get(seq, "")
    return Table(SESSION_TITLE, SESSION_COLUMNS, rows, summary, current=current, depths=depths)


class _SessionSteps(Struct, frozen=True):
    steps: Sequence[tuple[int, flow_rows.StepBranch]]
    keys: Sequence[str]
    of_event: Mapping[Seq, str]
    """Event -> key of its first step."""


@per_recording()
def _all_steps(recording: Recording) -> _SessionSteps:
    announce_long_work(recording, "listing every step of the session")
    branches = flow_rows.present_branches(recording)
    steps = [row for branch in branches for row in ((0, branch), *walk_steps(branch, lambda _: True))]
    of_event: dict[Seq, str] = {}
    for depth, branch in steps:
        if not depth or branch.step.seq > 1:
            of_event.setdefault(branch.step.seq, branch.key)
    return _SessionSteps(steps, [branch.key for _, branch in steps], of_event)


def _full_step_row(depth: int, branch: flow_rows.StepBranch) -> Row:
    step = branch.step
    style: Style = "title" if not depth else "strong" if step.make_steps is not None else ""
    seq = muted_piece(str(step.seq)) if step.seq else muted_piece("")
    return Row(
        branch.key, (Piece(f"{'  ' * depth}{step.name}", style), _step_result(step), seq), step.seq, step.subject
    )


FLOW_COLUMNS = table_columns("@~18", "~1", "events#")
TREE_GUIDE = "│ "
_SUBJECTS = {Level.QUEUE: "queue", Level.JOB: "job", Level.TASK: "task", Level.NODE: "node"}


ShownParts = list[tuple[int, flow_rows.FlowPart]]
"""(depth, part) of each row."""


class FlowTree(Struct, frozen=True):
    """The visible rows of the tree, for a set of open spans."""

    shown: ShownParts
    rows: RowsOnDemand
    depths: Sequence[int]


def flow_at(recording: Recording, seq: Seq) -> Table:
    """The tree of the cycle in which the rows around an event are open."""
    return flow_table(recording, open_keys_around(recording, seq), seq)


def flow_table(recording: Recording, opened: Iterable[str], seq: Seq) -> Table:
    """The tree with the rows of `opened` open; the row of the event is the current one."""
    return _tree_table(recording, _flow_tree(recording, tuple(opened)), seq)


@per_recording(most=MAX_CACHED_TABLES)
def _flow_tree(recording: Recording, opened: tuple[str, ...] | None) -> FlowTree:
    """The tree with these rows open, or with all that lead to events."""
    # Inner steps of opening and closing are left to the panel Session.
    inner = (f"{flow_rows.OPENING_KEY}.", f"{flow_rows.CLOSING_KEY}.")
    is_open = dict.fromkeys(opened).__contains__ if opened is not None else lambda key: not key.startswith(inner)
    parts = _all_parts(recording, is_open)
    rows = RowsOnDemand([_part_key(part) for _, part in parts], lambda i: _flow_row(recording, *parts[i], is_open))
    return FlowTree(parts, rows, [depth for depth, _ in parts])


def _tree_table(recording: Recording, tree: FlowTree, seq: Seq) -> Table:
    current = _current_key(recording, tree.shown, seq)
    # As wide as all events of the cycle: a width that depends on visible rows changes when a row opens or closes.
    columns = (*FLOW_COLUMNS[:-1], replace(FLOW_COLUMNS[-1], min_width=len(format_count(len(recording)))))
    return Table("Flow", columns, tree.rows, current=current, is_one_line_per_row=True, wraps=False, depths=tree.depths)


def whole_flow(recording: Recording, seq: Seq) -> Table:
    """The tree with every row open, for searches."""
    return _tree_table(recording, _flow_tree(recording, None), seq)


def _current_key(recording: Recording, shown: ShownParts, seq: Seq) -> str:
    """The key of the shown span that begins at the event, else of the deepest row with the event."""
    # Rows are in order of their first events, so that the row of an event is found without a scan.
    index = bisect_right(shown, seq, key=lambda entry: entry[1].first) - 1
    while index >= 0 and shown[index][1].last < seq:
        index -= 1
    if index < 0:
        return ""
    span = recording.span_tree.span_starting_at(seq)
    for _, part in reversed(shown[max(0, index - len(Level)) : index + 1]):
        if part is span:
            return _part_key(part)
    return _part_key(shown[index][1])


def _part_key(part: flow_rows.FlowPart) -> str:
    if isinstance(part, flow_rows.StepBranch):
        return part.key
    return f"event {part.first}" if isinstance(part, flow_rows.EventRun) else span_key(part.index)


def depth_of(row: Row) -> int:
    """The depth of a row in the tree."""
    return row.cells[0].text.count(TREE_GUIDE)


def span_key(index: int) -> str:
    """The key of a span's row."""
    return f"span {index}"


def open_keys_around(recording: Recording, seq: Seq) -> tuple[str, ...]:
    """The keys of the rows around an event."""
    return tuple(_part_key(place.part) for place in flow_rows.path_to_row(recording, seq)[-2::-1])


def _all_parts(recording: Recording, is_open: IsOpen) -> list[tuple[int, flow_rows.FlowPart]]:
    """(depth, row), depth first: opening, actions, closing."""
    parts: list[tuple[int, flow_rows.FlowPart]] = []
    for part in flow_rows.top_rows(recording):
        if isinstance(part, flow_rows.StepBranch):
            parts += _branch_parts(recording, part, is_open)
        else:
            parts += [(0, part), *_parts_inside(recording, part, is_open, 1)]
    return parts


def _branch_parts(
    recording: Recording, branch: flow_rows.StepBranch, is_open: IsOpen
) -> list[tuple[int, flow_rows.FlowPart]]:
    if not is_open(branch.key):
        return [(0, branch)]
    runs = [(1, run) for run in flow_rows.branch_runs(recording, branch.first, branch.last)]
    return [(0, branch), *walk_steps(branch, is_open), *runs]


def _parts_inside(
    recording: Recording, part: flow_rows.FlowPart, is_open: IsOpen, depth: int
) -> Iterator[tuple[int, flow_rows.FlowPart]]:
    """(depth, span or run) inside an open span, depth first."""
    if isinstance(part, Span) and is_open(span_key(part.index)):
        for inner in flow_rows.span_rows(recording, part.index):
            yield depth, inner
            yield from _parts_inside(recording, inner, is_open, depth + 1)


def _flow_row(recording: Recording, depth: int, part: flow_rows.FlowPart, is_open: IsOpen) -> Row:
    indent = TREE_GUIDE * depth
    if isinstance(part, flow_rows.StepBranch):
        return step_row(part, indent, is_open)
    events = muted_piece(format_count(part.last - part.first + 1))
    span = recording.span_tree.span_around(part.first, Level.JOB)
    job = bare_name(span.name) if span is not None and span is not part else ""
    if isinstance(part, flow_rows.EventRun):
        words, result = _run_words(recording, part)
        return Row(_part_key(part), (Piece(f"{indent}  {_shorten_within_job(job, words)}"), result, events), part.first)
    mark = OPEN if is_open(span_key(part.index)) else CLOSED
    style: Style = "title" if part.level is Level.ACTION else "strong"
    name = bare_name(part.name)
    label = Piece(f"{indent}{mark} {_shorten_within_job(job, name) if part.level is Level.TASK else name}", style)
    subject = (_SUBJECTS[part.level], part.name) if part.level in _SUBJECTS else ("", "")
    return Row(_part_key(part), (label, _outcome_with_phase(recording, part), events), part.first, subject)


def _outcome_with_phase(recording: Recording, span: Span) -> Piece:
    came, phase = span_outcome(recording, span.index), _preempt_phase(recording, span)
    return came._replace(text=f"{came.text}, {phase}") if phase else came


def _preempt_phase(recording: Recording, span: Span) -> str:
    """`phase 1` or `phase 2` of an action that visits a job twice, for victims of other jobs and then of its own."""
    action = recording.span_tree.span_around(span.first, Level.ACTION)
    if span.level is not Level.JOB or action is None or not recording.conf.facts_of(action.name).within_jobs:
        return ""
    return "phase 1" if starts_after_pop(recording, span) else "phase 2"


def _shorten_within_job(job: str, text: str) -> str:
    """The text with task names inside a job shortened: `worker-0`; a bare number stays whole."""
    start = f"{job}-"
    shortened = ((word, word.removeprefix(start)) for word in text.split(" "))
    return " ".join(short if short[:1].isalpha() else word for word, short in shortened) if job else text


def _run_words(recording: Recording, run: flow_rows.EventRun) -> tuple[str, Piece]:
    events = [recording.event_at(seq) for seq in range(run.first, run.last + 1)]
    words = event_headline(recording, run.last)
    if len(events) == 1:
        return words.event_text, words.outcome
    hooks = [event for event in events if isinstance(event, HookEvent)]
    points = list(dict.fromkeys(event.point for event in hooks))
    words_of_run = f"{', '.join(points)} ×{len(events)}"
    if points[0] in VICTIM_POINTS:
        call = hook_calls_at(recording, run.first)
        chosen = call.outcome if call is not None else ()
        return words_of_run, Piece(task_list_or(chosen or (), f"{NO} no victims"), "good" if chosen else "bad")
    jobs = {event.job: None for event in hooks}
    if len(jobs) > 1:
        return words_of_run, muted_piece(count_noun(len(jobs), "job"))
    answers = list(dict.fromkeys(answer_piece(event) for event in hooks))
    return words_of_run, answers[0] if len(answers) == 1 else answers[-1]
