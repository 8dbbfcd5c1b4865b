"""Which figure of the state a cell shows: by the head of its column and the subject of its row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from vcdebug.debugger import figures
from vcdebug.debugger.fields import fields_of
from vcdebug.debugger.figures import FUTURE_IDLE, JOB, NODE, PLUGIN, QUEUE, TASK, Figure
from vcdebug.explain.equation import DimensionAmount, Equation, Term
from vcdebug.framework.record import NodeAmounts, OpEvent
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.resource import CPU
from vcdebug.recording.recording import Recording
from vcdebug.views.headline import bare_name
from vcdebug.views.table import Column, Row

JOB_HEADS: Final[Mapping[str, str]] = {
    "ready": "ready",
    "wait": "waiting",
    "pend": "pending",
    "phase": "phase",
    "prio": "priority",
    "rel": "releasing",
}
QUEUE_HEADS: Final[Mapping[str, str]] = {
    "alloc": "allocated",
    "deserved": "deserved",
    "share": "share",
    "request": "request",
    "inqueue": "inqueue",
    "weight": "weight",
}
TASK_HEADS: Final[Mapping[str, str]] = {
    "status": "status",
    "node": "node",
    "priority": "priority",
    "requests": "request",
}
CLUSTER_HEADS: Final[Mapping[str, str]] = {"inqueue": "inqueue", "limit": "idle"}
"""What overcommit's rows among the queues show."""
LIMIT_PARTS: Final = ("realCapability", "capability")
DIMENSIONLESS_PARTS: Final = ("share", "weight")
"""Figures of a queue without dimensions: they stand in its first row."""
ROOM_HEADS: Final[Mapping[str, str]] = {
    "future idle": FUTURE_IDLE,
    "= idle": "idle",
    "+ releasing": "releasing",
    "− pipelined": "pipelined",
}
EQUATION_LEAD: Final = 2
"""Columns of an equation before its figures: the verdict and the name."""
STATEMENT_PARTS: Final = ("status", "status", "node", "status", "")
"""Per column of a statement: what is done to the task, the task, its node, why."""


def job_figure(columns: Sequence[Column], row: Row, column: int) -> Figure | None:
    """The figure that a cell of the list of jobs shows."""
    part = JOB_HEADS.get(columns[column].title)
    return Figure(JOB, row.subject[1], part) if part else None


def task_figure(columns: Sequence[Column], row: Row, column: int) -> Figure | None:
    """The figure that a cell of a table of tasks shows."""
    part = TASK_HEADS.get(columns[column].title)
    return Figure(TASK, row.subject[1], part) if part and row.subject[0] == TASK else None


def node_figure(dims: Sequence[str], columns: Sequence[Column], row: Row, column: int) -> Figure | None:
    """Of the list of nodes: a column per dimension, then whole amounts."""
    title = columns[column].title
    if title in NodeAmounts._fields:
        return Figure(NODE, row.subject[1], title)
    return Figure(NODE, row.subject[1], "idle", dims[column - 1]) if 0 < column <= len(dims) else None


def queue_figure(recording: Recording, plugin: str, columns: Sequence[Column], row: Row, column: int) -> Figure | None:
    """Of the list of queues: a row per dimension; plugin is the one that shares out."""
    title, dim = columns[column].title, row.key.rpartition(" ")[2]
    kind, name = row.subject
    if kind == "cluster":
        part = CLUSTER_HEADS.get(title)
        return Figure(PLUGIN, name, part, dim, name) if part else None
    if title == "limit":
        return _limit_figure(recording, plugin, name, dim)
    part = QUEUE_HEADS.get(title)
    if part is None or not row.cells[column].text or (part in DIMENSIONLESS_PARTS and dim != CPU):
        return None
    if part == "weight":
        return Figure(QUEUE, name, part)
    if part not in recording.timeline.figures.get(plugin, {}).get(name, ()):
        return None
    return Figure(QUEUE, name, part, "" if part in DIMENSIONLESS_PARTS else dim, plugin)


def _limit_figure(recording: Recording, plugin: str, name: str, dim: str) -> Figure | None:
    """The first limit that says something about the dimension."""
    for part in LIMIT_PARTS:
        found = recording.timeline.opening_books.get((plugin, name, part))
        if found is not None and found.has_dimension(dim):
            return Figure(QUEUE, name, part, dim, plugin)
    return None


def room_figure(node: NodeName, columns: Sequence[Column], row: Row, column: int) -> Figure | None:
    """Of the arithmetic of a node's future idle: a row per dimension."""
    part = ROOM_HEADS.get(columns[column].title)
    return Figure(NODE, node, part, row.key) if part else None


def statement_figure(row: Row, column: int) -> Figure | None:
    """Of a statement: rows are operations on tasks."""
    part = STATEMENT_PARTS[column] if column < len(STATEMENT_PARTS) else ""
    return Figure(TASK, row.subject[1], part) if part and row.subject[0] == TASK else None


def subject_figure(row: Row, column: int) -> Figure | None:
    """What says most about a row's task or job: its status or phase."""
    part = {TASK: "status", JOB: "phase"}.get(row.subject[0])
    return Figure(row.subject[0], row.subject[1], part) if part else None


def operation_figure(event: OpEvent, row: Row, column: int) -> Figure | None:
    """Of an operation: rows are named `node idle cpu`, or `PLUGIN NAME FIGURE` with or without a dimension."""
    if row.subject[0] == NODE:
        _, part, dim = row.key.split(" ", 2)
        return Figure(NODE, row.subject[1], part, dim)
    for plugin, book in event.books:
        kind = next((kind for kind in (JOB, QUEUE) if book.get(kind)), PLUGIN)
        name = str(book.get(kind) or plugin)
        for part in book:
            what = f"{plugin} {bare_name(str(book.get(kind) or ''))} {part}"
            if row.key == what or row.key.startswith(f"{what} "):
                return Figure(kind, name, part, row.key[len(what) + 1 :], plugin)
    return None


def equation_figure(recording: Recording, seq: Seq, found: Equation, row: Row, column: int) -> Figure | None:
    """Of an equation: what the node, queue or job has under that name, if its value is the one that is shown."""
    term = next((term for term in found.terms if term.name == row.key), None)
    index = column - EQUATION_LEAD
    if term is None or not 0 <= index < min(len(found.columns), len(term.figures)):
        return None
    head = found.columns[index].lstrip("=+−- ").strip()
    head = FUTURE_IDLE if head == "future idle" else head
    shown = term.figures[index]
    dim = term.name.rpartition(" ")[2] if found.kind == "dimension" else ""
    if isinstance(shown, DimensionAmount):
        dim = shown.dimension
    for kind, name in _iter_figure_owners(recording, seq, found, term):
        for candidate in _iter_candidate_figures(recording, kind, name, head, dim):
            if any(_is_shown_value(recording, candidate, at, shown) for at in (seq, seq - 1)):
                return candidate
    return None


def _iter_figure_owners(recording: Recording, seq: Seq, found: Equation, term: Term) -> Iterator[tuple[str, str]]:
    """What the figures of a term may be about: its own task or queue, a queue that it names, what the event names."""
    if found.kind == "task" and term.name in recording.owners.jobs:
        yield TASK, term.name
        yield JOB, recording.owners.jobs[term.name]
    if found.kind == "queue":
        yield QUEUE, term.name
    if QUEUE in found.columns[: len(term.figures)]:
        yield QUEUE, str(term.figures[found.columns.index(QUEUE)])
    fields = fields_of(recording, seq)
    for kind in (NODE, QUEUE, JOB, TASK):
        name = fields(kind)
        if isinstance(name, str):
            yield kind, name


def _iter_candidate_figures(recording: Recording, kind: str, name: str, part: str, dim: str) -> Iterator[Figure]:
    if name not in figures.object_names(recording, kind):
        return
    if part in figures.OWN_PARTS[kind]:
        yield Figure(kind, name, part, dim)
    for plugin, books in recording.timeline.figures.items():
        if part in books.get(name, ()):
            yield Figure(kind, name, part, dim, plugin)


def _is_shown_value(recording: Recording, candidate: Figure, seq: Seq, shown: object) -> bool:
    if candidate.dim and candidate.dim not in figures.figure_dimensions(recording, candidate):
        return False
    return str(figures.figure_value(recording, candidate, seq)) == str(shown)
