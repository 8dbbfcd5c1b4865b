"""The panel Moment: one view per type of event; and the pages of all jobs, pods, nodes and queues."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from vcdebug.amount_text import count_noun, format_count
from vcdebug.debugger.cursor import OVERVIEW
from vcdebug.debugger.driver import DebuggerState
from vcdebug.debugger.figures import RESOURCE_KINDS, FigureError, find_object_name, object_names
from vcdebug.explain.answer import age_since
from vcdebug.framework import record
from vcdebug.framework.forced_answers import FORCED_CODE
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.recording.event_index import JOB, NODE, QUEUE, TASK
from vcdebug.recording.recording import Recording, cut_off_error, per_recording
from vcdebug.recording.session_closing import crash_lines
from vcdebug.recording.timeline import ClusterState
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.cell_figures import TASK_HEADS, figure_by_head, subject_figure
from vcdebug.views.headline import close_message, span_outcome
from vcdebug.views.jobs import job_page, jobs_table
from vcdebug.views.node_grids import REASON, SHORT_OF, best_grid, node_list, predicate_grid, score_grid
from vcdebug.views.nodes import node_page, nodes_table
from vcdebug.views.order import pops_table
from vcdebug.views.pieces import NO, Piece, Style, make_line, muted_lines, muted_piece
from vcdebug.views.queues import cluster_page, queue_page, queues_table
from vcdebug.views.statement import operation_table
from vcdebug.views.table import Row, RowsOnDemand, Table, table_columns
from vcdebug.views.votes import is_victims, victims_table, votes_table

JOB_COLUMNS = table_columns("job@", "phase", "message~")
TASK_COLUMNS = table_columns("part", "outcome~", "event#")
OP_COLUMNS = table_columns("operation", "task", "node")


def action_table(recording: Recording, seq: Seq, event: record.ActionEvent) -> Table:
    """A row per queue and job that the action visited, with the outcome."""
    path = recording.span_tree.path_to(seq)
    rows: list[Row] = []
    if len(path) > 1:
        for queue in recording.span_tree.children_of(path[1]):
            rows.append(_span_row(recording, queue, "queue", Piece(f"queue {queue.name}", "strong")))
            for job in recording.span_tree.children_of(queue):
                rows.append(_span_row(recording, job, "job", Piece(f"  {bare_name(job.name)}")))
    names = " → ".join(f"[{name}]" if name == event.action else name for name in recording.conf.actions)
    foot = () if rows else muted_lines("no queue had anything for it")
    return Table(f"Action {event.action} {event.what}s", TASK_COLUMNS, rows, header=muted_lines(names), footer=foot)


def _span_row(recording: Recording, span: record.Span, kind: str, label: Piece) -> Row:
    cells = (label, span_outcome(recording, span.index), muted_piece(str(span.first)))
    return Row(f"span {span.index}", cells, span.first, (kind, span.name))


def state_table(recording: Recording, seq: Seq, event: record.StateEvent) -> Table:
    """The counts of every job in a state event; at the open also tiers and actions."""
    names = [*event.jobs]
    rows = RowsOnDemand(names, lambda index: _state_row(names[index], event.jobs[names[index]]))
    title = "Session opened" if event.when == "open" else f"State {event.when}"
    tiers = (
        make_line(muted_piece(f"tier {number}  "), ", ".join(option.name for option in tier))
        for number, tier in enumerate(recording.conf.tiers, start=1)
    )
    actions = make_line(muted_piece("actions "), ", ".join(recording.conf.actions))
    head = (actions, *tiers) if event.when == "open" else ()
    return Table(title, JOB_COLUMNS, rows, header=head, figures=subject_figure)


def _state_row(uid: JobId, job: record.JobState) -> Row:
    words = ", ".join(f"{number} {label}" for label, number in job.status.items())
    return Row(uid, (Piece(uid), Piece(job.phase or "–"), Piece(words)), subject=("job", uid))


def close_table(recording: Recording, seq: Seq, event: record.CloseEvent) -> Table:
    """What the scheduler writes about each job; unschedulable ones first."""
    # Sorted by the style that marks them, which keeps the session's order among equals.
    rows = sorted(_iter_close_rows(event), key=lambda row: row.cells[2].style != "bad")
    return Table("Session closed: what is written about each job", JOB_COLUMNS, rows, figures=subject_figure)


def _iter_close_rows(event: record.CloseEvent) -> Iterator[Row]:
    for uid, job in event.jobs.items():
        bad, words = close_message(job)
        message = Piece(f"{NO} {words}", "bad") if bad else Piece(words)
        yield Row(uid, (Piece(uid), Piece(job.phase), message), subject=("job", uid))


def panic_table(recording: Recording, seq: Seq, event: record.PanicEvent) -> Table:
    """A panic of upstream's code, which ends the real scheduler's process."""
    head = (
        make_line(Piece(f"{NO} the real scheduler panics here, and the cycle ends", "bad")),
        make_line(event.message),
        *(make_line(text) for text in crash_lines(recording, event)),
    )
    return Table("Panic", header=head)


def cut_table(recording: Recording, seq: Seq, event: record.CutEvent) -> Table:
    """The event at which the recording stopped because it reached its size limit."""
    error = cut_off_error(recording)
    words = error.format_line() if error is not None else event.bound
    return Table(
        "Stopped at the limit",
        header=(make_line(Piece(f"{NO} the recording ends here, the cycle does not", "bad")), make_line(words)),
    )


def random_table(recording: Recording, seq: Seq, event: record.RandomEvent) -> Table:
    """A random number that upstream draws; the replay uses 0."""
    words = f"the real scheduler picks a random number below {event.n}; the replay uses 0, one of the possible runs"
    return Table("Random choice", header=(make_line(words),))


def operations_table(recording: Recording, seq: Seq, event: record.StatementEvent) -> Table:
    """The operations that a statement commits, discards, merges, saves or recovers."""
    rows = [
        Row(f"{number}", (Piece(kind), Piece(task), Piece(node)), subject=("task", task))
        for number, (kind, task, node) in enumerate(event.ops)
    ]
    words = {
        "commit": "evictions and bindings go to the cluster now",
        "discard": "everything is undone, newest first",
        "merge": "a trial on one node becomes part of the job's statement",
        "save": "saved, to be recovered if it turns out best",
        "recover": "a saved statement is played again",
    }
    style: Style = "bad" if event.what == "discard" else "good" if event.what == "commit" else ""
    count = Piece(f"{event.what}: {count_noun(len(event.ops), 'operation')}", style)
    head = (make_line(count, muted_piece(f"  {words.get(event.what, '')}")),)
    return Table(f"Statement {event.what}", OP_COLUMNS, rows, header=head, figures=subject_figure)


def _hook_view(recording: Recording, seq: Seq, event: record.HookEvent) -> Table:
    return victims_table(recording, seq, event) if is_victims(event) else votes_table(recording, seq, event)


EVENT_VIEWS: dict[type, Callable[[Recording, Seq, Any], Table]] = {  # Any: an event of the type before it
    record.HookEvent: _hook_view,
    record.PopEvent: pops_table,
    record.PredicateEvent: predicate_grid,
    record.ScoreEvent: score_grid,
    record.BestEvent: best_grid,
    record.OpEvent: operation_table,
    record.StatementEvent: operations_table,
    record.ActionEvent: action_table,
    record.StateEvent: state_table,
    record.CloseEvent: close_table,
    record.PanicEvent: panic_table,
    record.CutEvent: cut_table,
    record.RandomEvent: random_table,
}


def event_view(recording: Recording, seq: Seq) -> Table:
    """The view of an event, with its quirks and forced answers below."""
    event = recording.event_at(seq)
    table = EVENT_VIEWS[type(event)](recording, seq, event)
    quirks = tuple(make_line(_note_text(note)) for note in recording.notes if note.seq == seq)
    if not quirks:
        return table
    return replace(table, footer=(*table.footer, *quirks))


def _note_text(note: record.Note) -> str:
    return f"! forced: {note.text}" if note.code == FORCED_CODE else f"! quirk {note.code}: {note.text}"


# The page that a row opens: its cells in full, or its job, node, queue or candidates.

FIELD_COLUMNS = table_columns("column", "whole text~")


def cell_detail(table: Table, row: Row, column: int, here: Seq = 0) -> Table:
    """Every cell of a row that has text, the one in `column` first; rows lead to its event unless that is `here`."""
    order = [column, *(i for i in range(len(row.cells)) if i != column)]
    seq = row.seq if row.seq != here else 0
    filled = [(i, row.cells[i]) for i in order if row.cells[i].text.strip()]
    rows = [Row(str(i), (muted_piece(table.columns[i].title or "–"), cell), seq) for i, cell in filled]
    return Table(table.title, FIELD_COLUMNS, rows)


def subject_detail(recording: Recording, seq: Seq, kind: str, name: str) -> Table | None:
    """The page of a row's subject (kind, name); a task leads to its job. None where there is no page."""
    if kind == "node" and name in recording.session.nodes:
        return node_page(recording, seq, name)
    if kind == "queue" and name in recording.session.queues:
        return queue_page(recording, seq, name)
    if kind in (REASON, SHORT_OF):
        return node_list(recording, seq, kind, name)
    if kind == "cluster":
        return cluster_page(recording, seq)
    # A task has no page of its own: its job's page has a row for it.
    if kind == "task":
        kind, name = "job", recording.owners.jobs.get(name, "")
    if kind == "job" and name in recording.session.jobs:
        return job_page(recording, seq, name)
    return None


# The pages `:jobs`, `:pods`, `:nodes` and `:queues`: every object at the event, and how many there are.

POD_COLUMNS: Final = table_columns("pod@", "status", "node", "job", "queue", "age#")
_TABLES: Final = {JOB: jobs_table, NODE: nodes_table, QUEUE: queues_table}


def resource_page(name: str, here: DebuggerState, word: str = "") -> Table:
    """The table of all objects of a kind, or of those of a namespace; the page of the object that the word names.

    Raises FigureError if no object of this kind has the name, and for a pod without a job.
    """
    recording, kind = here.recording, RESOURCE_KINDS[name]
    in_namespace = is_namespace(recording, kind, word)
    if word and not in_namespace:
        object_name = find_object_name(recording, kind, word)
        page = subject_detail(recording, here.seq, kind, object_name)
        if page is None:
            raise FigureError(f"{object_name} belongs to no job, so it has no page", "the page of its node lists it")
        return page
    table = _pods_table(recording, here.seq) if kind == TASK else _TABLES[kind](recording, here.seq)
    count = len(object_names(recording, kind))
    if in_namespace:
        table = _only_namespace(table, word)
        count = len(table.rows)
    place = f" in {word}" if in_namespace else ""
    when = " before the cycle" if here.at_overview and here.number == OVERVIEW else ""
    footer = table.footer if count else muted_lines(f"no {name} in the session")
    return replace(table, title=f"{name.capitalize()}{place}{when} {format_count(count)}", footer=footer)


def is_namespace(recording: Recording, kind: str, word: str) -> bool:
    """Whether the word is the namespace of some object of the kind."""
    return bool(word) and any(name.startswith(f"{word}/") for name in object_names(recording, kind))


def _only_namespace(table: Table, namespace: str) -> Table:
    rows = table.rows
    keys = rows.keys if isinstance(rows, RowsOnDemand) else [row.key for row in rows]
    shown = [index for index, key in enumerate(keys) if key.startswith(f"{namespace}/")]
    return replace(table, rows=RowsOnDemand([keys[index] for index in shown], lambda index: rows[shown[index]]))


@per_recording()
def _pod_names(recording: Recording) -> Sequence[TaskKey]:
    return sorted(recording.timeline.tasks)


def _pods_table(recording: Recording, seq: Seq) -> Table:
    """Every pod of a job, by name."""
    names, state = _pod_names(recording), recording.timeline.state_at(seq)
    rows = RowsOnDemand(names, lambda index: _pod_row(recording, state, names[index]))
    return Table("Pods", POD_COLUMNS, rows, figures=partial(figure_by_head, TASK, TASK_HEADS, POD_COLUMNS))


def _pod_row(recording: Recording, state: ClusterState, key: TaskKey) -> Row:
    task, task_state = recording.timeline.tasks[key], state.tasks[key]
    job = recording.owners.jobs.get(key, "")
    queue = recording.owners.queues.get(job, "")
    texts = (task_state.status.upstream_name, task_state.node or "–", job or "–", queue or "–")
    age = Piece(age_since(recording, task.pod.creation_timestamp))
    return Row(key, (Piece(key, "strong"), *map(Piece, texts), age), subject=("task", key))
