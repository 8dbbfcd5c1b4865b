"""A job's page: what it asks for, its tasks, its turns and what came of them, and evictions that concern it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from vcdebug.amount_text import besides_places, resource_text
from vcdebug.explain.evictions import evictions
from vcdebug.explain.orders import order_at, rival, siblings
from vcdebug.framework.record import Level, PopEvent, Span
from vcdebug.model.names import JobId, Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Line, Piece, Row, Table, line, muted
from vcdebug.views.cell_figures import task_figure
from vcdebug.views.evictions import FATES
from vcdebug.views.names import bare
from vcdebug.views.order import step_words
from vcdebug.views.outcome import outcome
from vcdebug.views.pictures import gang

TASK_COLUMNS = (
    Column("task", name=True),
    Column("status"),
    Column("node"),
    Column("requests", flexible=True, least=20),
)


def job_page(recording: Recording, seq: Seq, name: JobId) -> Table:
    """What it asks for, its tasks as they stand, its turns in each action, and evictions that concern it."""
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
    head.append(gang(recording, seq, name))
    if job.pod_group.min_resources is not None:
        head.append(line(muted("minResources "), resource_text(job.pod_group.min_resources)))
    rows = [_task(recording, key, seq) for key in sorted(task.key for task in job.tasks.values())]
    visits = [
        Row(f"span {span.index}", _visit(recording, span), span.first)
        for span in recording.index.spans_of(Level.JOB, name)
    ]
    figures = partial(task_figure, TASK_COLUMNS)
    rows += [*visits, *_evictions(recording, name)]
    return Table(f"Job {name}", TASK_COLUMNS, rows, head=(*head, ()), figures=figures)


def _visit(recording: Recording, span: Span) -> tuple[Piece, ...]:
    action = next((each.name for each in recording.tree.path(span.first) if each.level is Level.ACTION), "")
    turn = muted(_turn(recording, span))
    return Piece(f"→ {action}", "accent"), outcome(recording, span.index), muted(f"event {span.first}"), turn


def _turn(recording: Recording, span: Span) -> str:
    """Which place in its queue the job had, and what put the one before it, or it before the next."""
    at = span.first - 1
    event = recording.event(at) if at else None
    if not isinstance(event, PopEvent) or event.name != span.name:
        return ""
    pops = list(siblings(recording, at))
    if len(pops) == 1:
        return "the only one of its queue"
    place = pops.index(at)
    words = f"turn {place + 1} of {len(pops)}"
    if place:
        before = recording.event(pops[place - 1])
        order = order_at(recording, pops[place - 1], event.name) if isinstance(before, PopEvent) else None
        told = f"{words}, after {bare(before.name)}" if isinstance(before, PopEvent) else words
    else:
        other = rival(recording, at)
        order = order_at(recording, at, other.name) if other is not None else None
        told = f"{words}, before {bare(other.name)}" if other is not None else words
    decided = order.deciding if order is not None and order.sign < 0 and order.left != order.right else None
    return f"{told}: {step_words(decided)}" if decided is not None else told


def _evictions(recording: Recording, name: JobId) -> Iterator[Row]:
    """Tasks evicted to make room for the job, and tasks of the job that were evicted."""
    owners = recording.owners.jobs
    for each in evictions(recording):
        mine, own = each.job == name, owners.get(each.preemptor, each.preemptor) == name
        if not mine and not own:
            continue
        why = f"for {bare(each.preemptor)}" if each.preemptor else "it should go anyway"
        cells = (
            Piece(f"▲ {bare(each.victim)}", "warn"),
            Piece(FATES[each.fate][0], "bad" if each.fate == "discard" else ""),
            Piece(each.node),
            muted(f"evicted {why} by {each.action}"),
        )
        yield Row(f"evicted {each.seq}", cells, each.seq, ("task", each.victim))


def _task(recording: Recording, key: str, seq: Seq) -> Row:
    task, now = recording.timeline.tasks[key], recording.timeline.state_at(seq).tasks[key]
    cells = (Piece(bare(key)), Piece(now.status.label), Piece(now.node or "–"), Piece(besides_places(task.resreq)))
    return Row(key, cells, subject=("task", key))
