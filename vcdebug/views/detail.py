"""A row of a table in full: the whole cell, the rest of the row, and what is known about its job, task or node."""

from __future__ import annotations

from functools import partial

from vcdebug.framework.record import Level
from vcdebug.model.names import JobId, Seq
from vcdebug.model.resource import PODS
from vcdebug.trace.recording import Recording
from vcdebug.views.amounts import amount, short_name
from vcdebug.views.base import Column, Line, Piece, Row, Table, line, muted
from vcdebug.views.cell_figures import task_figure
from vcdebug.views.names import bare
from vcdebug.views.node_page import node_page
from vcdebug.views.outcome import outcome
from vcdebug.views.predicates import REASON, SHORT, node_list
from vcdebug.views.queue_page import cluster_page, queue_page

FIELD_COLUMNS = (Column("column"), Column("whole text", flexible=True))
TASK_COLUMNS = (
    Column("task", flexible=True),
    Column("status"),
    Column("node"),
    Column("requests", flexible=True, least=20),
)


def cell_detail(table: Table, row: Row, column: int) -> Table:
    """Every cell of a row, the chosen one first."""
    order = [column, *(i for i in range(len(row.cells)) if i != column)]
    rows = [
        Row(str(i), (muted(table.columns[i].title or "–"), row.cells[i]), row.seq)
        for i in order
        if row.cells[i].text.strip()
    ]
    return Table(table.title, FIELD_COLUMNS, rows)


def subject_detail(recording: Recording, seq: Seq, kind: str, name: str) -> Table | None:
    """The page of a node, queue or job, or the nodes behind a row of a histogram; a task leads to its job's."""
    if kind == "node" and name in recording.session.nodes:
        return node_page(recording, seq, name)
    if kind == "queue" and name in recording.session.queues:
        return queue_page(recording, seq, name)
    if kind in (REASON, SHORT):
        return node_list(recording, seq, kind, name)
    if kind == "cluster":
        return cluster_page(recording, seq)
    if kind == "task":
        kind, name = "job", recording.owners.jobs.get(name, "")
    if kind == "job" and name in recording.session.jobs:
        return job_detail(recording, seq, name)
    return None


def job_detail(recording: Recording, seq: Seq, name: JobId) -> Table:
    """A job: what it asks for, what each action did for it, and its tasks as they stand."""
    job, state = recording.session.jobs[name], recording.timeline.state_at(seq)
    counts = state.job(name)
    head: list[Line] = [
        line(
            muted("queue "),
            job.queue,
            muted("  phase "),
            state.phases[name] or "–",
            muted("  priority "),
            str(job.priority),
        ),
        line(
            muted("ready "),
            f"{counts.ready} of {counts.min_available} needed",
            muted("  waiting "),
            str(counts.waiting),
        ),
    ]
    if job.pod_group.min_resources is not None:
        wants = ", ".join(f"{short_name(n)} {amount(n, v)}" for n, v in job.pod_group.min_resources.items() if v)
        head.append(line(muted("minResources "), wants))
    rows = [_task(recording, key, seq) for key in sorted(task.key for task in job.tasks.values())]
    visits = [
        Row(f"span {span.index}", _visit(recording, span.index, span.first), span.first)
        for span in recording.index.spans_of(Level.JOB, name)
    ]
    figures = partial(task_figure, TASK_COLUMNS)
    return Table(f"Job {name}", TASK_COLUMNS, [*rows, *visits], head=(*head, ()), figures=figures)


def _visit(recording: Recording, index: int, first: Seq) -> tuple[Piece, ...]:
    action = next((span.name for span in recording.tree.path(first) if span.level is Level.ACTION), "")
    return (Piece(f"→ {action}", "accent"), outcome(recording, index), muted(f"event {first}"), Piece(""))


def _task(recording: Recording, key: str, seq: Seq) -> Row:
    task, now = recording.timeline.tasks[key], recording.timeline.state_at(seq).tasks[key]
    wants = " ".join(f"{short_name(n)} {amount(n, v)}" for n, v in task.resreq.items() if v and n != PODS)
    cells = (Piece(bare(key)), Piece(now.status.label), Piece(now.node or "–"), Piece(wants))
    return Row(key, cells, subject=("task", key))
