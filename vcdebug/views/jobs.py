"""The panel Jobs, the page of one job, and the panel Request."""

from collections.abc import Iterator
from functools import partial

from vcdebug.amount_text import format_amount, short_name, short_resource_text, short_text_without_pods, used_dimensions
from vcdebug.debugger.figures import JOB, TASK
from vcdebug.explain.decisions.evictions import planned_evictions
from vcdebug.framework.record import Level, PopEvent, Span
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.resource import PODS
from vcdebug.model.task import TaskStatus
from vcdebug.recording.cluster_overview import jobs_pending_first
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import RequestLine, request_lines
from vcdebug.recording.timeline import ClusterState
from vcdebug.recording.visits import next_task_turn
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.cell_figures import JOB_HEADS, TASK_HEADS, figure_by_head
from vcdebug.views.headline import FATE_WORDS, span_outcome
from vcdebug.views.pieces import NO, YES, Line, Piece, Style, gang_line, labelled_line, muted_piece
from vcdebug.views.table import MAX_CACHED_TABLES, Column, Row, RowsOnDemand, Table, empty_table, table_columns

JOB_COLUMNS = table_columns("job@", "ready#", "pending#", "reserved#", "releasing#", "phase", "queue", "priority#")


def jobs_table(recording: Recording, seq: Seq, current: str = "") -> Table:
    """Every job with its counts at an event; jobs with pending tasks first."""
    rows = _job_rows(recording, recording.timeline.earliest_same_seq(seq))
    return Table(
        "Jobs", JOB_COLUMNS, rows, current=current, figures=partial(figure_by_head, JOB, JOB_HEADS, JOB_COLUMNS)
    )


@per_recording(most=MAX_CACHED_TABLES)
def _job_rows(recording: Recording, changed: Seq) -> RowsOnDemand:
    """The rows after the event `changed`; cached, as most events change no job."""
    state = recording.timeline.state_at(changed)
    names, all_jobs = jobs_pending_first(recording), recording.session.jobs
    return RowsOnDemand(names, lambda i: _job_row(all_jobs[names[i]], state))


def _job_row(job: JobInfo, state: ClusterState) -> Row:
    counts = state.job_counts(job.uid)
    ready = f"{YES if counts.is_ready else NO} {counts.ready_count}/{counts.min_available}"
    releasing = counts.status.get(TaskStatus.RELEASING, 0)
    cells = (
        Piece(job.uid, "strong" if counts.pending_count else ""),
        Piece(ready, "good" if counts.is_ready else "bad"),
        _number_piece(counts.pending_count, "strong"),
        _number_piece(counts.waiting_count, "warn"),
        _number_piece(releasing, "warn"),
        Piece(state.phases[job.uid] or "–"),
        Piece(job.queue),
        Piece(str(job.priority)),
    )
    return Row(job.uid, cells, subject=("job", job.uid))


def _number_piece(value: int, style: Style) -> Piece:
    return Piece(str(value), style) if value else muted_piece("0")


TASK_COLUMNS = table_columns("task@", "status", "node", "requests~20")


def job_page(recording: Recording, seq: Seq, name: JobId) -> Table:
    """One job at an event: its request, its tasks, its visits by actions, and evictions for or of it."""
    job, state = recording.session.jobs[name], recording.timeline.state_at(seq)
    counts = state.job_counts(name)
    phase, ready = state.phases[name] or "–", f"{counts.ready_count} of {counts.min_available} needed"
    head: list[Line] = [
        labelled_line(queue=job.queue, phase=phase, priority=str(job.priority)),
        labelled_line(ready=ready, waiting=str(counts.waiting_count)),
        gang_line(recording, seq, name),
    ]
    if job.pod_group.min_resources is not None:
        head.append(labelled_line(minResources=short_resource_text(job.pod_group.min_resources)))
    rows = [_task_row(recording, key, seq) for key in sorted(task.key for task in job.tasks.values())]
    rows += [_visit_row(recording, span) for span in recording.index.spans_of(Level.JOB, name)]
    rows += _iter_eviction_rows(recording, name)
    figures = partial(figure_by_head, TASK, TASK_HEADS, TASK_COLUMNS)
    return Table(f"Job {name}", TASK_COLUMNS, rows, header=(*head, ()), figures=figures)


def _visit_row(recording: Recording, span: Span) -> Row:
    label = Piece(f"→ {recording.span_tree.name_around(span.first, Level.ACTION)}", "accent")
    event, turn = muted_piece(f"event {span.first}"), muted_piece(_queue_place_text(recording, span))
    return Row(f"span {span.index}", (label, span_outcome(recording, span.index), event, turn), span.first)


def _queue_place_text(recording: Recording, span: Span) -> str:
    """The job's place among the pops of its queue, and the comparison with its neighbour; empty without a pop."""
    from vcdebug.explain.orders import next_rival, order_at, sibling_pops
    from vcdebug.views.order import step_words

    # The pop of the job is the event before its visit.
    pop_seq = span.first - 1
    event = recording.event_at(pop_seq) if pop_seq else None
    if not isinstance(event, PopEvent) or event.name != span.name:
        return ""
    pops = list(sibling_pops(recording, pop_seq))
    if len(pops) == 1:
        return "the only one of its queue"
    place = pops.index(pop_seq)
    words = f"turn {place + 1} of {len(pops)}"
    if place:
        before = recording.event_at(pops[place - 1])
        order = order_at(recording, pops[place - 1], event.name) if isinstance(before, PopEvent) else None
        words += f", after {bare_name(before.name)}" if isinstance(before, PopEvent) else ""
    else:
        other = next_rival(recording, pop_seq)
        order = order_at(recording, pop_seq, other.name) if other is not None else None
        words += f", before {bare_name(other.name)}" if other is not None else ""
    decided = order.deciding_step if order is not None and order.order_sign < 0 and order.left != order.right else None
    return f"{words}: {step_words(decided)}" if decided is not None else words


def _iter_eviction_rows(recording: Recording, name: JobId) -> Iterator[Row]:
    """A row per eviction for the job or of one of its own tasks."""
    owners = recording.owners.jobs
    for eviction in planned_evictions(recording):
        # Gang actions evict for a job, not for one of its tasks.
        if name not in (eviction.job, owners.get(eviction.preemptor, eviction.preemptor)):
            continue
        reason = f"for {bare_name(eviction.preemptor)}" if eviction.preemptor else "it should go anyway"
        cells = (
            Piece(f"▲ {bare_name(eviction.victim)}", "warn"),
            Piece(FATE_WORDS[eviction.statement_end][0], "bad" if eviction.statement_end == "discard" else ""),
            Piece(eviction.node),
            muted_piece(f"evicted {reason} by {eviction.action}"),
        )
        yield Row(f"evicted {eviction.seq}", cells, eviction.seq, ("task", eviction.victim))


def _task_row(recording: Recording, key: str, seq: Seq) -> Row:
    task, now = recording.timeline.tasks[key], recording.timeline.state_at(seq).tasks[key]
    words = (bare_name(key), now.status.upstream_name, now.node or "–", short_text_without_pods(task.resreq))
    return Row(key, tuple(map(Piece, words)), subject=("task", key))


# The request of one task, by the parts of its pod.

REQUEST_TITLE = "Request"
TOTAL_PARTS = ("Resreq", "InitResreq")
NO_TASK = "no task here"


def event_request_table(recording: Recording, seq: Seq) -> Table:
    """The request of the task that an event is about, else of the task around it."""
    name = getattr(recording.event_at(seq), "task", "") or recording.span_tree.name_around(seq, Level.TASK)
    if name not in recording.timeline.tasks:
        return empty_table(REQUEST_TITLE, NO_TASK, "task", next_task_turn(recording, seq, lambda _: True))
    return request_table(recording, name)


def request_table(recording: Recording, task: TaskKey) -> Table:
    """A row per part of the pod, then the Resreq and InitResreq that the scheduler works with."""
    lines = list(request_lines(recording, task))
    dims = used_dimensions(line.amount for line in lines)
    amounts = (Column(short_name(dim), right=True) for dim in dims)
    columns = (*table_columns("part", "name"), *amounts, Column("how it counts", flexible=True, min_width=20))
    rows = [_request_row(line, dims) for line in lines]
    return Table(f"{REQUEST_TITLE} of {bare_name(task)}", columns, rows)


def _request_row(line: RequestLine, dims: list[str]) -> Row:
    total = line.part in TOTAL_PARTS
    style: Style = "strong" if total else ""
    shown = (line.amount.get(dim) or (total and dim != PODS) for dim in dims)
    figures = (format_amount(dim, line.amount.get(dim)) if show else "–" for dim, show in zip(dims, shown, strict=True))
    amounts = (Piece(text, style) for text in figures)
    cells = (Piece(f"= {line.part}" if total else line.part, style), Piece(line.name), *amounts)
    return Row(f"{line.part} {line.name}", (*cells, muted_piece(line.counts)))
