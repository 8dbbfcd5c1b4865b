"""An operation of a statement or the session: which node and books it changed, before and after."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from vcdebug.amount_text import format_amount, short_name, short_resource_text, used_dimensions
from vcdebug.framework.figures import Figures
from vcdebug.framework.record import (
    ALLOCATE_OP,
    BIND_OP,
    CHARGING_OPS,
    EVICT_OP,
    PIPELINE_OP,
    RELEASING_OPS,
    UNALLOCATE_OP,
    UNEVICT_OP,
    UNPIPELINE_OP,
    NodeAmounts,
    OpEvent,
)
from vcdebug.model.names import Seq
from vcdebug.model.resource import Resource
from vcdebug.model.status import TaskStatus
from vcdebug.trace.claims import reserved_claims
from vcdebug.trace.node_map import VIEW_PLUGIN, pods_in_view
from vcdebug.trace.recording import Recording
from vcdebug.trace.registrations import ALLOCATION_EVENTS, DEALLOCATION_EVENTS, handler_subjects
from vcdebug.trace.timeline import ClusterState
from vcdebug.views.base import Column, Line, Piece, Row, Table, make_line, muted_piece, plain_columns, value_text
from vcdebug.views.cell_figures import operation_figure
from vcdebug.views.names import bare_name

OPERATION_COLUMNS = (Column("what", flexible=True), *plain_columns("dim", "before#", "#", "after#"))
_OPERATION_TEXTS = {
    EVICT_OP: "Running → Releasing: its room counts as future idle",
    UNEVICT_OP: "Releasing → Running: the eviction is taken back",
    PIPELINE_OP: "Pending → Pipelined: promised room that is not free yet",
    UNPIPELINE_OP: "Pipelined → Pending: the promise is taken back",
    ALLOCATE_OP: "Pending → Allocated: takes idle room",
    UNALLOCATE_OP: "Allocated → Pending: the room is given back",
    BIND_OP: "Allocated → Binding: handed to the cache",
}

_FROM_PIPELINED_TEXTS = {ALLOCATE_OP: "Pipelined → Allocated: takes the room that an earlier cycle promised"}
_TO_PIPELINED_TEXTS = {UNALLOCATE_OP: "Allocated → Pipelined: back to the promise of an earlier cycle"}


def operation_table(recording: Recording, seq: Seq, event: OpEvent) -> Table:
    """What the operation did to the node and to the plugins' books; rows that did not change are left out."""
    before = recording.timeline.state_at(seq - 1)
    title = f"Operation: {event.op} {bare_name(event.task)} @{event.node}"
    rows = [*_iter_node_rows(event, before), *_iter_book_rows(event, before)]
    figures = partial(operation_figure, event)
    foot = tuple(_iter_handler_lines(recording, seq, event))
    return Table(
        title,
        OPERATION_COLUMNS,
        rows,
        head=tuple(_iter_operation_head(recording, seq, event)),
        foot=foot,
        figures=figures,
    )


def _iter_handler_lines(recording: Recording, seq: Seq, event: OpEvent) -> Iterator[Line]:
    """Whose event handlers were told, in their order, and what predicates' keeps for Kubernetes' checks."""
    if event.op not in (*CHARGING_OPS, *RELEASING_OPS):
        return
    what = ALLOCATION_EVENTS if event.op in CHARGING_OPS else DEALLOCATION_EVENTS
    names = [name for name, words in handler_subjects(recording) if words == what]
    yield make_line(muted_piece(f"event handlers told: {', '.join(names) or 'none'}"))
    for claim, one in reserved_claims(recording).items() if event.op in CHARGING_OPS else ():
        if one.allocation is not None and (one.pod, one.node) == (event.task, event.node):
            found = [f"{device['pool']}/{device['device']}" for device in one.allocation.results]
            yield make_line(muted_piece(f"claim {bare_name(claim)} gets {', '.join(found)}"))
    counts = pods_in_view(recording, seq)
    if counts is not None:
        lost = "" if counts.after != counts.before else ", where the pod is not found"
        yield make_line(
            muted_piece(f"{VIEW_PLUGIN} keeps NodeMap: pods on {event.node} {counts.before} → {counts.after}{lost}")
        )


def _operation_words(recording: Recording, seq: Seq, event: OpEvent) -> str:
    """What the operation means; a task that an earlier cycle pipelined comes from there, and goes back."""
    statuses = (recording.timeline.state_at(at).tasks[event.task].status for at in (seq - 1, seq))
    for status, words in zip(statuses, (_FROM_PIPELINED_TEXTS, _TO_PIPELINED_TEXTS), strict=True):
        if status is TaskStatus.PIPELINED and event.op in words:
            return words[event.op]
    return _OPERATION_TEXTS.get(event.op, event.op)


def _iter_operation_head(recording: Recording, seq: Seq, event: OpEvent) -> Iterator[Line]:
    yield make_line(_operation_words(recording, seq, event))
    task = recording.timeline.tasks.get(event.task)
    if task is not None:
        yield make_line(
            muted_piece(f"{event.task} requests {short_resource_text(task.resreq)}, priority {task.priority}")
        )
    if event.reason:
        yield make_line(muted_piece(f"reason: {event.reason}"))
    if event.via:
        yield make_line(muted_piece("outside any statement: it takes effect at once"))


def _iter_node_rows(event: OpEvent, before: ClusterState) -> Iterator[Row]:
    if event.after is None or event.node not in before.nodes:
        return
    was, now = before.nodes[event.node], event.after
    for field in NodeAmounts._fields:
        yield from _iter_amount_rows(f"node {field}", getattr(was, field), getattr(now, field), event.node)


def _iter_amount_rows(what: str, was: Resource, now: Resource, node: str) -> Iterator[Row]:
    for dim in used_dimensions((was, now)):
        old, new = was.get(dim), now.get(dim)
        if old != new:
            sign = "+" if new > old else "-"
            cells = (
                Piece(what),
                muted_piece(short_name(dim)),
                Piece(format_amount(dim, old)),
                Piece(f"{sign}{format_amount(dim, abs(new - old))}", "warn"),
                Piece(format_amount(dim, new), "strong"),
            )
            yield Row(f"{what} {dim}", cells, subject=("node", node) if node else ("", ""))


def _iter_book_rows(event: OpEvent, before: ClusterState) -> Iterator[Row]:
    for plugin, figures in event.books:
        name = str(figures.get("job") or figures.get("queue") or "")
        yield from _iter_figure_rows(plugin, name, figures, before)


def _iter_figure_rows(plugin: str, name: str, figures: Figures, before: ClusterState) -> Iterator[Row]:
    for key, value in figures.items():
        if key in ("job", "queue"):
            continue
        old = before.plugin_figure(plugin, name, key)
        what = f"{plugin} {bare_name(name)} {key}"
        if isinstance(value, Resource) and isinstance(old, Resource):
            yield from _iter_amount_rows(what, old, value, "")
        elif old != value:
            cells = (
                Piece(what),
                Piece(""),
                Piece(value_text(old)),
                Piece("→", "warn"),
                Piece(value_text(value), "strong"),
            )
            yield Row(what, cells)
