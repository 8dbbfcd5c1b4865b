"""An operation of a statement or the session: which node and books it changed, before and after."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from vcdebug.amount_text import amount, dimensions, resource_text, short_name
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
from vcdebug.trace.node_map import KEEPER, pods_in_view
from vcdebug.trace.recording import Recording
from vcdebug.trace.registrations import ALLOCATIONS, DEALLOCATIONS, told
from vcdebug.trace.timeline import ClusterState
from vcdebug.views.base import Column, Line, Piece, Row, Table, line, muted, plain_columns, value_text
from vcdebug.views.cell_figures import operation_figure
from vcdebug.views.names import bare

COLUMNS = (Column("what", flexible=True), *plain_columns("dim", "before#", "#", "after#"))
_WORDS = {
    EVICT_OP: "Running → Releasing: its room counts as future idle",
    UNEVICT_OP: "Releasing → Running: the eviction is taken back",
    PIPELINE_OP: "Pending → Pipelined: promised room that is not free yet",
    UNPIPELINE_OP: "Pipelined → Pending: the promise is taken back",
    ALLOCATE_OP: "Pending → Allocated: takes idle room",
    UNALLOCATE_OP: "Allocated → Pending: the room is given back",
    BIND_OP: "Allocated → Binding: handed to the cache",
}

_FROM_PROMISE = {ALLOCATE_OP: "Pipelined → Allocated: takes the room that an earlier cycle promised"}
_TO_PROMISE = {UNALLOCATE_OP: "Allocated → Pipelined: back to the promise of an earlier cycle"}


def operation(recording: Recording, seq: Seq, event: OpEvent) -> Table:
    """What the operation did to the node and to the plugins' books; rows that did not change are left out."""
    before = recording.timeline.state_at(seq - 1)
    title = f"Operation: {event.op} {bare(event.task)} @{event.node}"
    rows = [*_node_rows(event, before), *_book_rows(event, before)]
    figures = partial(operation_figure, event)
    foot = tuple(_told(recording, seq, event))
    return Table(title, COLUMNS, rows, head=tuple(_head(recording, seq, event)), foot=foot, figures=figures)


def _told(recording: Recording, seq: Seq, event: OpEvent) -> Iterator[Line]:
    """Whose event handlers were told, in their order, and what predicates' keeps for Kubernetes' checks."""
    if event.op not in (*CHARGING_OPS, *RELEASING_OPS):
        return
    what = ALLOCATIONS if event.op in CHARGING_OPS else DEALLOCATIONS
    names = [name for name, words in told(recording) if words == what]
    yield line(muted(f"event handlers told: {', '.join(names) or 'none'}"))
    for claim, one in reserved_claims(recording).items() if event.op in CHARGING_OPS else ():
        if one.allocation is not None and (one.pod, one.node) == (event.task, event.node):
            found = [f"{device['pool']}/{device['device']}" for device in one.allocation.results]
            yield line(muted(f"claim {bare(claim)} gets {', '.join(found)}"))
    counts = pods_in_view(recording, seq)
    if counts is not None:
        lost = "" if counts.after != counts.before else ", where the pod is not found"
        yield line(muted(f"{KEEPER} keeps NodeMap: pods on {event.node} {counts.before} → {counts.after}{lost}"))


def _words(recording: Recording, seq: Seq, event: OpEvent) -> str:
    """What the operation means; a task that an earlier cycle pipelined comes from there, and goes back."""
    statuses = (recording.timeline.state_at(at).tasks[event.task].status for at in (seq - 1, seq))
    for status, words in zip(statuses, (_FROM_PROMISE, _TO_PROMISE), strict=True):
        if status is TaskStatus.PIPELINED and event.op in words:
            return words[event.op]
    return _WORDS.get(event.op, event.op)


def _head(recording: Recording, seq: Seq, event: OpEvent) -> Iterator[Line]:
    yield line(_words(recording, seq, event))
    task = recording.timeline.tasks.get(event.task)
    if task is not None:
        yield line(muted(f"{event.task} requests {resource_text(task.resreq)}, priority {task.priority}"))
    if event.reason:
        yield line(muted(f"reason: {event.reason}"))
    if event.via:
        yield line(muted("outside any statement: it takes effect at once"))


def _node_rows(event: OpEvent, before: ClusterState) -> Iterator[Row]:
    if event.after is None or event.node not in before.nodes:
        return
    was, now = before.nodes[event.node], event.after
    for field in NodeAmounts._fields:
        yield from _changes(f"node {field}", getattr(was, field), getattr(now, field), event.node)


def _changes(what: str, was: Resource, now: Resource, node: str) -> Iterator[Row]:
    for dim in dimensions((was, now)):
        old, new = was.get(dim), now.get(dim)
        if old != new:
            sign = "+" if new > old else "-"
            cells = (
                Piece(what),
                muted(short_name(dim)),
                Piece(amount(dim, old)),
                Piece(f"{sign}{amount(dim, abs(new - old))}", "warn"),
                Piece(amount(dim, new), "strong"),
            )
            yield Row(f"{what} {dim}", cells, subject=("node", node) if node else ("", ""))


def _book_rows(event: OpEvent, before: ClusterState) -> Iterator[Row]:
    for plugin, figures in event.books:
        name = str(figures.get("job") or figures.get("queue") or "")
        yield from _figure_rows(plugin, name, figures, before)


def _figure_rows(plugin: str, name: str, figures: Figures, before: ClusterState) -> Iterator[Row]:
    for key, value in figures.items():
        if key in ("job", "queue"):
            continue
        old = before.figure(plugin, name, key)
        what = f"{plugin} {bare(name)} {key}"
        if isinstance(value, Resource) and isinstance(old, Resource):
            yield from _changes(what, old, value, "")
        elif old != value:
            cells = (
                Piece(what),
                Piece(""),
                Piece(value_text(old)),
                Piece("→", "warn"),
                Piece(value_text(value), "strong"),
            )
            yield Row(what, cells)
