"""The nodes as they stand at an event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from vcdebug.amount_text import count_noun, format_amount, order_dimensions, short_name, short_text_without_pods
from vcdebug.explain.decisions.equations import equation_at
from vcdebug.explain.decisions.score_equations import scores_before
from vcdebug.explain.decisions.victim_funnel import Refusal, node_refusals
from vcdebug.explain.predicate_reasons import refusal_reasons
from vcdebug.framework.record import BestEvent, NodeAmounts, PredicateEvent, ScoreEvent
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.model.node import NodeInfo
from vcdebug.model.resource import CPU, MEMORY, PODS, Resource
from vcdebug.recording.change_index import NODE
from vcdebug.recording.cluster_overview import (
    RELEASING,
    REMARKS,
    offered_dimensions,
    optional_node_columns,
    requested_dimensions,
)
from vcdebug.recording.input_problems import noteworthy_nodes, overfull_dimensions
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.timeline import ClusterState
from vcdebug.views.bars import LEGEND, fullest_dimension, node_bar
from vcdebug.views.cell_figures import node_figure, task_figure
from vcdebug.views.equation import equation_table
from vcdebug.views.headline import bare_name
from vcdebug.views.inside import inside_table
from vcdebug.views.predicates_inside import CHECK_COLUMNS as CHECK_COLUMNS
from vcdebug.views.predicates_inside import node_checks
from vcdebug.views.table import (
    MAX_CACHED_TABLES,
    NO,
    SKIPPED,
    YES,
    Column,
    Line,
    Piece,
    Row,
    RowsOnDemand,
    Table,
    embed_table,
    make_line,
    muted_piece,
    plain_columns,
)

BAR_WIDTH = 8
MAX_CACHED_ROWS = 8_192
MIN_REMARK_WIDTH = 24
"""Cells that remarks have in any case: `dedicated=a:NoSchedule`."""


def nodes_table(recording: Recording, seq: Seq, current: str = "") -> Table:
    """Every node: idle of allocatable per dimension, what is being released and what is promised."""
    dims = node_dimensions(recording)
    columns = (
        Column("node", name=True),
        *(Column(short_name(dim), right=True, spare=_column_spare(recording, dim)) for dim in dims),
        Column("fullest"),
        *(_optional_column(title) for title in optional_node_columns(recording)),
    )
    rows = _node_rows(recording, recording.timeline.earliest_same_seq(seq))
    figures = partial(node_figure, dims, columns)
    head = (make_line(muted_piece(LEGEND)),)
    return Table("Nodes: idle/allocatable", columns, rows, head=head, current=current, figures=figures)


def _column_spare(recording: Recording, dim: str) -> int:
    """Where there is no room, what nobody asks for goes first, then the places for pods: the node's page has them."""
    if dim == PODS:
        return 1
    return 0 if dim in (CPU, MEMORY) or dim in requested_dimensions(recording) else 2


def _optional_column(title: str) -> Column:
    """A taint is read as a whole; amounts wrap."""
    return Column(title, flexible=True, explains=title == REMARKS, least=MIN_REMARK_WIDTH if title == REMARKS else 0)


@per_recording(most=MAX_CACHED_TABLES)
def _node_rows(recording: Recording, seq: Seq) -> RowsOnDemand:
    """The nodes as an event left them: the same rows until something changes."""
    names, changed = recording.node_names, recording.timeline.last_change
    return RowsOnDemand(names, lambda i: _node_row(recording, names[i], changed(NODE, names[i], seq) or 0))


@per_recording()
def node_dimensions(recording: Recording) -> Sequence[str]:
    """Dimensions that some node has to offer, pods last."""
    found = order_dimensions(offered_dimensions(recording))
    return [*(dim for dim in found if dim != PODS), *(dim for dim in found if dim == PODS)]


@per_recording(most=MAX_CACHED_ROWS)
def _node_row(recording: Recording, name: NodeName, changed: Seq) -> Row:
    """A node as the event left it that changed it last: most are the same at the next event."""
    node, dims = recording.session.nodes[name], node_dimensions(recording)
    amounts = recording.timeline.state_at(changed).nodes[name]
    cells = (
        Piece(name, "strong"),
        *(_idle_piece(dim, amounts.idle, node.allocatable) for dim in dims),
        _fullest_piece(node, amounts, dims),
        *(_optional_piece(recording, title, name, amounts) for title in optional_node_columns(recording)),
    )
    return Row(name, cells, subject=("node", name))


def _idle_piece(dim: str, idle: Resource, allocatable: Resource) -> Piece:
    if not allocatable.get(dim) and not idle.get(dim):
        return muted_piece("–")
    text = f"{format_amount(dim, idle.get(dim))}/{format_amount(dim, allocatable.get(dim))}"
    return Piece(text, "warn" if idle.get(dim) < 0 else "") if idle.get(dim) else muted_piece(text)


def _fullest_piece(node: NodeInfo, amounts: NodeAmounts, dims: Sequence[str]) -> Piece:
    """The bar of the dimension that is used most; places for pods only where nothing else is offered."""
    dim = fullest_dimension(amounts, node.allocatable, [dim for dim in dims if dim != PODS] or dims)
    return Piece(f"{node_bar(amounts, node.allocatable, dim, BAR_WIDTH)} {short_name(dim)}".strip(), "accent")


def _optional_piece(recording: Recording, title: str, name: NodeName, amounts: NodeAmounts) -> Piece:
    if title == REMARKS:
        return Piece(", ".join(filter(None, (_overfull_text(amounts), node_remarks(recording, name)))), "warn")
    return _amounts_piece(amounts.releasing if title == RELEASING else amounts.pipelined)


def _amounts_piece(resource: Resource) -> Piece:
    shown = short_text_without_pods(resource)
    return Piece(shown, "warn") if shown else muted_piece("–")


def node_remarks(recording: Recording, name: NodeName) -> str:
    """What keeps pods away: cordon and taints; and what does not: that it is not ready, or promised away."""
    ready = noteworthy_nodes(recording).get(name)
    if ready is None:
        return ""
    node = recording.session.nodes[name]
    parts = ["cordoned"] if node.is_unschedulable else []
    parts += [f"Ready is {ready}: only a taint keeps pods away"] if ready else []
    for taint in node.taints:
        value = f"={taint['value']}" if taint.get("value") else ""
        parts.append(f"{taint.get('key', '')}{value}:{taint.get('effect', '')}")
    return ", ".join(parts)


def _overfull_text(amounts: NodeAmounts) -> str:
    """Dimensions of which more is used than there is: every task that asks for one of them is refused."""
    below = [short_name(name) for name in overfull_dimensions(amounts.idle)]
    return f"idle below 0: {' '.join(below)}" if below else ""


# A node's page: its resources as bars, what the present event made of it, its tasks, and the jobs that it refused.

NODE_TASK_COLUMNS = (
    Column("task", name=True),
    *plain_columns("status", "priority#"),
    Column("requests", flexible=True, least=20),
)
PAGE_BAR_WIDTH = 24


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
        drawn = node_bar(amounts, node.allocatable, dim, PAGE_BAR_WIDTH)
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
