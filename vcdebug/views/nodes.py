"""The nodes as they stand at an event."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from vcdebug.amount_text import format_amount, order_dimensions, short_name, short_text_without_pods
from vcdebug.framework.record import NodeAmounts
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.node import NodeInfo
from vcdebug.model.resource import CPU, MEMORY, PODS, Resource
from vcdebug.recording.cluster_overview import (
    RELEASING,
    REMARKS,
    offered_dimensions,
    optional_node_columns,
    requested_dimensions,
)
from vcdebug.recording.event_index import NODE
from vcdebug.recording.input_problems import noteworthy_nodes, overfull_dimensions
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.views.bars import LEGEND, fullest_dimension, node_bar
from vcdebug.views.cell_figures import node_figure
from vcdebug.views.table import MAX_CACHED_TABLES, Column, Piece, Row, RowsOnDemand, Table, make_line, muted_piece

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
