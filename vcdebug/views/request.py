"""What the present task asks for, and where that comes from."""

from __future__ import annotations

from vcdebug.amount_text import amount, dimensions, short_name
from vcdebug.framework.record import Level
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.resource import PODS
from vcdebug.trace.recording import Recording
from vcdebug.trace.requests import RequestLine, request_lines
from vcdebug.views.base import Column, Piece, Row, Table, line, muted
from vcdebug.views.names import bare

TITLE = "Request"
TOTALS = ("Resreq", "InitResreq")
NO_TASK = "no task here: go to an event about one"


def request(recording: Recording, seq: Seq) -> Table:
    """The request of the task that an event is about."""
    span = recording.tree.around(seq, Level.TASK)
    name = getattr(recording.event(seq), "task", "") or (span.name if span is not None else "")
    if name not in recording.timeline.tasks:
        return Table(TITLE, foot=(line(muted(NO_TASK)),))
    return request_table(recording, name)


def request_table(recording: Recording, task: TaskKey) -> Table:
    """One row per part of the pod, then what the scheduler works with."""
    lines = list(request_lines(recording, task))
    dims = dimensions(each.amount for each in lines)
    columns = (
        Column("part"),
        Column("name"),
        *(Column(short_name(dim), right=True) for dim in dims),
        Column("how it counts", flexible=True, least=20),
    )
    rows = [_row(each, dims) for each in lines]
    return Table(f"{TITLE} of {bare(task)}", columns, rows)


def _row(each: RequestLine, dims: list[str]) -> Row:
    total = each.part in TOTALS
    figures = (
        amount(dim, each.amount.get(dim)) if each.amount.get(dim) or (total and dim != PODS) else "–" for dim in dims
    )
    cells = (
        Piece(f"= {each.part}" if total else each.part, "strong" if total else ""),
        Piece(each.name),
        *(Piece(text, "strong" if total else "") for text in figures),
        muted(each.counts),
    )
    return Row(f"{each.part} {each.name}", cells)
