"""Which figure of the state a cell shows, by its column's head and its row's subject: for watches and edits."""

from collections.abc import Mapping, Sequence
from typing import Final

from vcdebug.debugger.figures import FUTURE_IDLE, JOB, NODE, PLUGIN, QUEUE, TASK, Figure
from vcdebug.explain.equation import Equation
from vcdebug.framework.record import NodeAmounts, OpEvent
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.resource import CPU
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.table import Column, Row


def _parts_by_head(*same: str, **renamed: str) -> dict[str, str]:
    """Head of a column -> part of a figure: `same` names both."""
    return {**dict(zip(same, same, strict=True)), **renamed}


JOB_HEADS: Final = _parts_by_head("ready", "pending", "releasing", "phase", "priority", reserved="waiting")
QUEUE_HEADS: Final = {
    **_parts_by_head("deserved", "share", "request", "inqueue", "weight", alloc="allocated"),
    "of limit": "allocated",
}
TASK_HEADS: Final = _parts_by_head("status", "node", "priority", requests="request")
CLUSTER_HEADS: Final = {"inqueue": "inqueue", "limit": "idle"}
"""Head of a column -> part of overcommit's figure, in the cluster rows of the list of queues."""
LIMIT_PARTS: Final = ("realCapability", "capability")
DIMENSIONLESS_PARTS: Final = ("share", "weight")
"""Figures of a queue without dimensions: only its first row shows them."""
ROOM_HEADS: Final = {
    "future idle": FUTURE_IDLE,
    "= idle": "idle",
    "+ releasing": "releasing",
    "− pipelined": "pipelined",
}
EQUATION_LEAD: Final = 2
"""The number of columns before an equation's figures: verdict and name."""
STATEMENT_PARTS: Final = ("status", "status", "node", "status", "")
"""Per column of a statement (operation, task, node, reason, event): the part of the task's figure."""


def figure_by_head(
    kind: str, parts: Mapping[str, str], columns: Sequence[Column], row: Row, column: int
) -> Figure | None:
    """The figure of a cell in a table about jobs or tasks; `parts` has the figure's part by its column's head."""
    part = parts.get(columns[column].title)
    return Figure(kind, row.subject[1], part) if part and row.subject[0] == kind else None


def node_figure(
    heads: Mapping[str, tuple[str, str]], columns: Sequence[Column], row: Row, column: int
) -> Figure | None:
    """The figure of a cell in the list of nodes; `heads` has the part and dimension that each column shows."""
    part, dim = heads.get(columns[column].title, ("", ""))
    return Figure(NODE, row.subject[1], part, dim) if part in NodeAmounts._fields else None


def queue_figure(recording: Recording, plugin: str, columns: Sequence[Column], row: Row, column: int) -> Figure | None:
    """The figure of a cell in the list of queues; `plugin` computes the shares (proportion or capacity)."""
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
    """The figure of the first of LIMIT_PARTS that has the dimension; None if none has."""
    for part in LIMIT_PARTS:
        amount = recording.timeline.opening_books.get((plugin, name, part))
        if amount is not None and amount.has_dimension(dim):
            return Figure(QUEUE, name, part, dim, plugin)
    return None


def room_figure(node: NodeName, columns: Sequence[Column], row: Row, column: int) -> Figure | None:
    """The figure of a cell in the table of a node's future idle."""
    part = ROOM_HEADS.get(columns[column].title)
    return Figure(NODE, node, part, row.key) if part else None


def statement_figure(row: Row, column: int) -> Figure | None:
    """The figure of a cell in a statement, whose rows are operations on tasks."""
    part = STATEMENT_PARTS[column] if column < len(STATEMENT_PARTS) else ""
    return Figure(TASK, row.subject[1], part) if part and row.subject[0] == TASK else None


def subject_figure(row: Row, column: int) -> Figure | None:
    """The status of a row's task, or the phase of its job."""
    part = {TASK: "status", JOB: "phase"}.get(row.subject[0])
    return Figure(row.subject[0], row.subject[1], part) if part else None


def operation_figure(event: OpEvent, row: Row, column: int) -> Figure | None:
    """The figure of a row in an operation's table; keys are `node FIELD DIM` or `PLUGIN NAME FIGURE [DIM]`."""
    if row.subject[0] == NODE:
        _, part, dim = row.key.split(" ", 2)
        return Figure(NODE, row.subject[1], part, dim)
    for plugin, book in event.books:
        kind = next((kind for kind in (JOB, QUEUE) if book.get(kind)), PLUGIN)
        name = str(book.get(kind) or plugin)
        for part in book:
            label = f"{plugin} {bare_name(str(book.get(kind) or ''))} {part}"
            if row.key == label or row.key.startswith(f"{label} "):
                return Figure(kind, name, part, row.key[len(label) + 1 :], plugin)
    return None


def equation_figure(recording: Recording, seq: Seq, equation: Equation, row: Row, column: int) -> Figure | None:
    """The figure of a cell in an equation."""
    term = next((term for term in equation.terms if term.name == row.key), None)
    index = column - EQUATION_LEAD
    # A term may have fewer figures than the equation has columns.
    if term is None or not 0 <= index < min(len(equation.columns), len(term.figures)):
        return None
    from vcdebug.debugger.facts import operand_figure  # only a cursor on an equation asks

    fact = operand_figure(recording, seq, equation, term, index)
    return None if fact is None else fact.figure
