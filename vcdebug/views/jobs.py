"""The jobs as they stand at an event."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from vcdebug.amount_text import format_amount, short_name, short_resource_text, short_text_without_pods, used_dimensions
from vcdebug.explain.decisions.evictions import planned_evictions
from vcdebug.explain.orders import next_rival, order_at, sibling_pops
from vcdebug.framework.record import Level, PopEvent, Span
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.resource import PODS
from vcdebug.model.task import TaskStatus
from vcdebug.recording.cluster_overview import jobs_pending_first
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import RequestLine, request_lines
from vcdebug.recording.timeline import ClusterState
from vcdebug.views.bars import gang_line
from vcdebug.views.cell_figures import job_figure, task_figure
from vcdebug.views.effects import FATE_WORDS
from vcdebug.views.headline import bare_name
from vcdebug.views.order import step_words
from vcdebug.views.span_outcomes import span_outcome
from vcdebug.views.table import (
    MAX_CACHED_TABLES,
    NO,
    YES,
    Column,
    Line,
    Piece,
    Row,
    RowsOnDemand,
    Table,
    make_line,
    muted_piece,
    plain_columns,
)

JOB_COLUMNS = (Column("job", name=True), *plain_columns("ready#", "wait#", "pend#", "phase", "queue", "prio#", "rel#"))


def jobs_table(recording: Recording, seq: Seq, current: str = "") -> Table:
    """Every job with its counts; those with which the cycle has something to do first."""
    rows = _job_rows(recording, recording.timeline.earliest_same_seq(seq))
    return Table("Jobs", JOB_COLUMNS, rows, current=current, figures=partial(job_figure, JOB_COLUMNS))


@per_recording(most=MAX_CACHED_TABLES)
def _job_rows(recording: Recording, changed: Seq) -> RowsOnDemand:
    """The jobs as an event left them: the same rows until something changes."""
    state = recording.timeline.state_at(changed)
    names, all_jobs = jobs_pending_first(recording), recording.session.jobs
    return RowsOnDemand(names, lambda i: _job_row(all_jobs[names[i]], state))


def _job_row(job: JobInfo, state: ClusterState) -> Row:
    counts = state.job_counts(job.uid)
    enough = counts.ready_count + counts.best_effort_pending >= counts.min_available
    ready = Piece(f"{YES if enough else NO} {counts.ready_count}/{counts.min_available}", "good" if enough else "bad")
    releasing = counts.status.get(TaskStatus.RELEASING, 0)
    cells = (
        Piece(job.uid, "strong" if counts.pending_count else ""),
        ready,
        _number_piece(counts.waiting_count, "warn"),
        _number_piece(counts.pending_count, "strong"),
        Piece(state.phases[job.uid] or "–"),
        Piece(job.queue),
        Piece(str(job.priority)),
        _number_piece(releasing, "warn"),
    )
    return Row(job.uid, cells, subject=("job", job.uid))


def _number_piece(value: int, style: str) -> Piece:
    return Piece(str(value), style) if value else muted_piece("0")  # type: ignore[arg-type]


# A job's page: what it asks for, its tasks, its turns and what came of them, and evictions that concern it.

TASK_COLUMNS = (
    Column("task", name=True),
    Column("status"),
    Column("node"),
    Column("requests", flexible=True, least=20),
)


def job_page(recording: Recording, seq: Seq, name: JobId) -> Table:
    """What it asks for, its tasks as they stand, its turns in each action, and evictions that concern it."""
    job, state = recording.session.jobs[name], recording.timeline.state_at(seq)
    counts = state.job_counts(name)
    head: list[Line] = [
        make_line(
            muted_piece("queue "),
            job.queue,
            muted_piece("  phase "),
            state.phases[name] or "–",
            muted_piece("  priority "),
            str(job.priority),
        ),
        make_line(
            muted_piece("ready "),
            f"{counts.ready_count} of {counts.min_available} needed",
            muted_piece("  waiting "),
            str(counts.waiting_count),
        ),
    ]
    head.append(gang_line(recording, seq, name))
    if job.pod_group.min_resources is not None:
        head.append(make_line(muted_piece("minResources "), short_resource_text(job.pod_group.min_resources)))
    rows = [_task_row(recording, key, seq) for key in sorted(task.key for task in job.tasks.values())]
    visits = [
        Row(f"span {span.index}", _visit_cells(recording, span), span.first)
        for span in recording.index.spans_of(Level.JOB, name)
    ]
    figures = partial(task_figure, TASK_COLUMNS)
    rows += [*visits, *_iter_eviction_rows(recording, name)]
    return Table(f"Job {name}", TASK_COLUMNS, rows, head=(*head, ()), figures=figures)


def _visit_cells(recording: Recording, span: Span) -> tuple[Piece, ...]:
    action = next((each.name for each in recording.span_tree.path_to(span.first) if each.level is Level.ACTION), "")
    turn = muted_piece(_turn_words(recording, span))
    return Piece(f"→ {action}", "accent"), span_outcome(recording, span.index), muted_piece(f"event {span.first}"), turn


def _turn_words(recording: Recording, span: Span) -> str:
    """Which place in its queue the job had, and what put the one before it, or it before the next."""
    at = span.first - 1
    event = recording.event_at(at) if at else None
    if not isinstance(event, PopEvent) or event.name != span.name:
        return ""
    pops = list(sibling_pops(recording, at))
    if len(pops) == 1:
        return "the only one of its queue"
    place = pops.index(at)
    words = f"turn {place + 1} of {len(pops)}"
    if place:
        before = recording.event_at(pops[place - 1])
        order = order_at(recording, pops[place - 1], event.name) if isinstance(before, PopEvent) else None
        told = f"{words}, after {bare_name(before.name)}" if isinstance(before, PopEvent) else words
    else:
        other = next_rival(recording, at)
        order = order_at(recording, at, other.name) if other is not None else None
        told = f"{words}, before {bare_name(other.name)}" if other is not None else words
    decided = order.deciding_step if order is not None and order.order_sign < 0 and order.left != order.right else None
    return f"{told}: {step_words(decided)}" if decided is not None else told


def _iter_eviction_rows(recording: Recording, name: JobId) -> Iterator[Row]:
    """Tasks evicted to make room for the job, and tasks of the job that were evicted."""
    owners = recording.owners.jobs
    for each in planned_evictions(recording):
        mine, own = each.job == name, owners.get(each.preemptor, each.preemptor) == name
        if not mine and not own:
            continue
        why = f"for {bare_name(each.preemptor)}" if each.preemptor else "it should go anyway"
        cells = (
            Piece(f"▲ {bare_name(each.victim)}", "warn"),
            Piece(FATE_WORDS[each.fate][0], "bad" if each.fate == "discard" else ""),
            Piece(each.node),
            muted_piece(f"evicted {why} by {each.action}"),
        )
        yield Row(f"evicted {each.seq}", cells, each.seq, ("task", each.victim))


def _task_row(recording: Recording, key: str, seq: Seq) -> Row:
    task, now = recording.timeline.tasks[key], recording.timeline.state_at(seq).tasks[key]
    cells = (
        Piece(bare_name(key)),
        Piece(now.status.upstream_name),
        Piece(now.node or "–"),
        Piece(short_text_without_pods(task.resreq)),
    )
    return Row(key, cells, subject=("task", key))


# What the present task asks for, and where that comes from.

REQUEST_TITLE = "Request"
TOTAL_PARTS = ("Resreq", "InitResreq")
NO_TASK = "no task here: go to an event about one"


def event_request_table(recording: Recording, seq: Seq) -> Table:
    """The request of the task that an event is about."""
    span = recording.span_tree.span_around(seq, Level.TASK)
    name = getattr(recording.event_at(seq), "task", "") or (span.name if span is not None else "")
    if name not in recording.timeline.tasks:
        return Table(REQUEST_TITLE, foot=(make_line(muted_piece(NO_TASK)),))
    return request_table(recording, name)


def request_table(recording: Recording, task: TaskKey) -> Table:
    """One row per part of the pod, then what the scheduler works with."""
    lines = list(request_lines(recording, task))
    dims = used_dimensions(each.amount for each in lines)
    columns = (
        Column("part"),
        Column("name"),
        *(Column(short_name(dim), right=True) for dim in dims),
        Column("how it counts", flexible=True, least=20),
    )
    rows = [_request_row(each, dims) for each in lines]
    return Table(f"{REQUEST_TITLE} of {bare_name(task)}", columns, rows)


def _request_row(each: RequestLine, dims: list[str]) -> Row:
    total = each.part in TOTAL_PARTS
    figures = (
        format_amount(dim, each.amount.get(dim)) if each.amount.get(dim) or (total and dim != PODS) else "–"
        for dim in dims
    )
    cells = (
        Piece(f"= {each.part}" if total else each.part, "strong" if total else ""),
        Piece(each.name),
        *(Piece(text, "strong" if total else "") for text in figures),
        muted_piece(each.counts),
    )
    return Row(f"{each.part} {each.name}", cells)
