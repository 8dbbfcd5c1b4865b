"""A node's page: its resources as bars, what the present event made of it, its tasks, and the jobs that it refused."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from vcdebug.amount_text import count_noun, format_amount, short_name, short_text_without_pods
from vcdebug.explain.decisions.equations import equation_at, scores_before
from vcdebug.explain.decisions.victim_funnel import Refusal, node_refusals
from vcdebug.explain.predicate_reasons import refusal_reasons
from vcdebug.framework.record import BestEvent, PredicateEvent, ScoreEvent
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.recording.recording import Recording
from vcdebug.recording.timeline import ClusterState
from vcdebug.views.bars import LEGEND, node_bar
from vcdebug.views.cell_figures import task_figure
from vcdebug.views.equation import equation_table
from vcdebug.views.inside import inside_table
from vcdebug.views.nodes import node_dimensions, node_remarks
from vcdebug.views.predicates_inside import CHECK_COLUMNS as CHECK_COLUMNS
from vcdebug.views.predicates_inside import node_checks
from vcdebug.views.short_names import bare_name
from vcdebug.views.table import (
    NO,
    SKIPPED,
    YES,
    Column,
    Line,
    Piece,
    Row,
    Table,
    embed_table,
    make_line,
    muted_piece,
    plain_columns,
)

NODE_TASK_COLUMNS = (
    Column("task", name=True),
    *plain_columns("status", "priority#"),
    Column("requests", flexible=True, least=20),
)
BAR_WIDTH = 24


def node_page(recording: Recording, seq: Seq, name: NodeName) -> Table:
    """Bars, the event's own arithmetic for this node, its tasks, what it refused."""
    state = recording.timeline.state_at(seq)
    tasks = [_task_row(recording, key, state) for key in state.tasks_on(name)]
    head = [
        *_iter_bar_lines(recording, seq, name),
        *_iter_event_parts(recording, seq, name),
        *_iter_task_count(len(tasks)),
    ]
    refused = [_refusal_row(each) for each in node_refusals(recording, name)]
    foot = () if refused else (make_line(muted_piece("it refused nobody in this cycle")),)
    figures = partial(task_figure, NODE_TASK_COLUMNS)
    return Table(f"Node {name}", NODE_TASK_COLUMNS, [*tasks, *refused], tuple(head), foot, figures=figures)


def _iter_bar_lines(recording: Recording, seq: Seq, name: NodeName) -> Iterator[Line]:
    node, amounts = recording.session.nodes[name], recording.timeline.state_at(seq).nodes[name]
    future, dims = amounts.future_idle(), node_dimensions(recording)
    told = [dim for dim in dims if node.allocatable.get(dim) or amounts.used.get(dim)]
    width = max((len(short_name(dim)) for dim in told), default=0)
    for dim in told:
        drawn = node_bar(amounts, node.allocatable, dim, BAR_WIDTH)
        words = f"{format_amount(dim, amounts.used.get(dim))} of {format_amount(dim, node.allocatable.get(dim))} used"
        yield make_line(f"{short_name(dim):<{width}}  ", Piece(drawn, "accent"), f"  {words}")
        parts = [
            format_amount(dim, each.get(dim)) for each in (future, amounts.idle, amounts.releasing, amounts.pipelined)
        ]
        if amounts.releasing.get(dim) or amounts.pipelined.get(dim):
            sums = f"{parts[0]} future idle = {parts[1]} idle + {parts[2]} releasing − {parts[3]} pipelined"
            yield make_line(muted_piece(f"{'':<{width}}  {sums}"))
    yield make_line(muted_piece(LEGEND))
    if said := node_remarks(recording, name):
        yield make_line(Piece(f"! {said}", "warn"))
    yield ()


def _iter_event_parts(recording: Recording, seq: Seq, name: NodeName) -> Iterator[Line]:
    """What the event says about this node."""
    event = recording.event_at(seq)
    if isinstance(event, BestEvent):
        found = scores_before(recording, seq)
        if found is not None:
            seq, event = found
    if isinstance(event, PredicateEvent):
        yield _verdict_line(recording, event, name)
        for why in refusal_reasons(recording, seq, event, name):
            yield make_line(muted_piece(f"  {why}"))
        yield from embed_table(Table("Checks", CHECK_COLUMNS, node_checks(recording, seq, name)))
        yield from _equation_part(recording, seq, name)
    elif isinstance(event, ScoreEvent):
        yield from _equation_part(recording, seq, name)
        yield from embed_table(inside_table(recording, seq, name))


def _equation_part(recording: Recording, seq: Seq, name: NodeName) -> list[Line]:
    found = equation_at(recording, seq, name)
    return embed_table(equation_table(found)) if found is not None else []


def _verdict_line(recording: Recording, event: PredicateEvent, name: NodeName) -> Line:
    row, asked = recording.session.node_table.row_of[name], f"predicates for {bare_name(event.task)}: "
    if row in event.feasible.tolist():
        return make_line(asked, Piece(f"{YES} it fits", "good"))
    failed = event.failed.tolist()
    if row not in failed:
        return make_line(asked, muted_piece(f"{SKIPPED} not tried"))
    statuses = recording.reason_table.statuses_of(int(event.codes[failed.index(row)]))
    return make_line(asked, Piece(f"{NO} {', '.join(status.reason for status in statuses)}", "bad"))


def _iter_task_count(tasks: int) -> Iterator[Line]:
    yield (Piece("Tasks on it, and jobs that it refused", "title"), muted_piece(f"  {count_noun(tasks, 'task')}"))


def _task_row(recording: Recording, key: TaskKey, state: ClusterState) -> Row:
    task = recording.timeline.tasks[key]
    words = (key, state.tasks[key].status.upstream_name, str(task.priority), short_text_without_pods(task.resreq))
    return Row(key, tuple(map(Piece, words)), subject=("task", key))


def _refusal_row(refusal: Refusal) -> Row:
    cells = (
        Piece(f"{NO} {refusal.job}", "bad"),
        Piece(refusal.action),
        muted_piece(count_noun(len(refusal.tasks), "task")),
        Piece(refusal.why),
    )
    return Row(f"refused {refusal.seq} {refusal.why}", cells, refusal.seq, ("job", refusal.job))
