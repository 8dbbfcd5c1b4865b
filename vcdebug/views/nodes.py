"""The nodes as they stand at an event."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from vcdebug.amount_text import amount, besides_places, in_order, short_name
from vcdebug.framework.record import NodeAmounts
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.node import NodeInfo
from vcdebug.model.resource import CPU, MEMORY, PODS, Resource
from vcdebug.trace.change_index import NODE
from vcdebug.trace.input_problems import overfull
from vcdebug.trace.memo import per_recording
from vcdebug.trace.odd_nodes import odd_nodes
from vcdebug.trace.offered import asked_for, offered
from vcdebug.trace.recording import Recording
from vcdebug.trace.told_of_nodes import RELEASING, REMARKS, told_of_nodes
from vcdebug.views.base import KEPT_TABLES, Column, OnDemand, Piece, Row, Table, line, muted
from vcdebug.views.cell_figures import node_figure
from vcdebug.views.pictures import LEGEND, fullest, node_bar

BAR_WIDTH = 8
KEPT_ROWS = 8_192
TAINT = 24
"""Cells that remarks have in any case: `dedicated=a:NoSchedule`."""


def nodes(recording: Recording, seq: Seq, current: str = "") -> Table:
    """Every node: idle of allocatable per dimension, what is being released and what is promised."""
    dims = node_dimensions(recording)
    columns = (
        Column("node", name=True),
        *(Column(short_name(dim), right=True, spare=_spare(recording, dim)) for dim in dims),
        Column("fullest"),
        *(_told(title) for title in told_of_nodes(recording)),
    )
    rows = _rows(recording, recording.timeline.same_as(seq))
    figures = partial(node_figure, dims, columns)
    head = (line(muted(LEGEND)),)
    return Table("Nodes: idle/allocatable", columns, rows, head=head, current=current, figures=figures)


def _spare(recording: Recording, dim: str) -> int:
    """Where there is no room, what nobody asks for goes first, then the places for pods: the node's page has them."""
    if dim == PODS:
        return 1
    return 0 if dim in (CPU, MEMORY) or dim in asked_for(recording) else 2


def _told(title: str) -> Column:
    """A taint is read as a whole; amounts wrap."""
    return Column(title, flexible=True, explains=title == REMARKS, least=TAINT if title == REMARKS else 0)


@per_recording(most=KEPT_TABLES)
def _rows(recording: Recording, seq: Seq) -> OnDemand:
    """The nodes as an event left them: the same rows until something changes."""
    names, changed = recording.node_names, recording.timeline.last_change
    return OnDemand(names, lambda i: _row(recording, names[i], changed(NODE, names[i], seq) or 0))


@per_recording()
def node_dimensions(recording: Recording) -> Sequence[str]:
    """Dimensions that some node has to offer, pods last."""
    found = in_order(offered(recording))
    return [*(dim for dim in found if dim != PODS), *(dim for dim in found if dim == PODS)]


@per_recording(most=KEPT_ROWS)
def _row(recording: Recording, name: NodeName, changed: Seq) -> Row:
    """A node as the event left it that changed it last: most are the same at the next event."""
    node, dims = recording.session.nodes[name], node_dimensions(recording)
    amounts = recording.timeline.state_at(changed).nodes[name]
    cells = (
        Piece(name, "strong"),
        *(_of(dim, amounts.idle, node.allocatable) for dim in dims),
        _fullest(node, amounts, dims),
        *(_said(recording, title, name, amounts) for title in told_of_nodes(recording)),
    )
    return Row(name, cells, subject=("node", name))


def _of(dim: str, idle: Resource, allocatable: Resource) -> Piece:
    if not allocatable.get(dim) and not idle.get(dim):
        return muted("–")
    text = f"{amount(dim, idle.get(dim))}/{amount(dim, allocatable.get(dim))}"
    return Piece(text, "warn" if idle.get(dim) < 0 else "") if idle.get(dim) else muted(text)


def _fullest(node: NodeInfo, amounts: NodeAmounts, dims: Sequence[str]) -> Piece:
    """The bar of the dimension that is used most; places for pods only where nothing else is offered."""
    dim = fullest(amounts, node.allocatable, [dim for dim in dims if dim != PODS] or dims)
    return Piece(f"{node_bar(amounts, node.allocatable, dim, BAR_WIDTH)} {short_name(dim)}".strip(), "accent")


def _said(recording: Recording, title: str, name: NodeName, amounts: NodeAmounts) -> Piece:
    if title == REMARKS:
        return Piece(", ".join(filter(None, (_overfull(amounts), remarks(recording, name)))), "warn")
    return _some(amounts.releasing if title == RELEASING else amounts.pipelined)


def _some(resource: Resource) -> Piece:
    shown = besides_places(resource)
    return Piece(shown, "warn") if shown else muted("–")


def remarks(recording: Recording, name: NodeName) -> str:
    """What keeps pods away: cordon and taints; and what does not: that it is not ready, or promised away."""
    ready = odd_nodes(recording).get(name)
    if ready is None:
        return ""
    node = recording.session.nodes[name]
    parts = ["cordoned"] if node.unschedulable else []
    parts += [f"Ready is {ready}: only a taint keeps pods away"] if ready else []
    for taint in node.taints:
        value = f"={taint['value']}" if taint.get("value") else ""
        parts.append(f"{taint.get('key', '')}{value}:{taint.get('effect', '')}")
    return ", ".join(parts)


def _overfull(amounts: NodeAmounts) -> str:
    """Dimensions of which more is used than there is: every task that asks for one of them is refused."""
    below = [short_name(name) for name in overfull(amounts.idle)]
    return f"idle below 0: {' '.join(below)}" if below else ""
