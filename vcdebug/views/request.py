"""What the present task asks for, and where that comes from."""

from __future__ import annotations

from vcdebug.amount_text import format_amount, short_name, used_dimensions
from vcdebug.framework.record import Level
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.resource import PODS
from vcdebug.trace.recording import Recording
from vcdebug.trace.requests import RequestLine, request_lines
from vcdebug.views.base import Column, Piece, Row, Table, make_line, muted_piece
from vcdebug.views.names import bare_name

REQUEST_TITLE = "Request"
TOTAL_PARTS = ("Resreq", "InitResreq")
NO_TASK = "no task here: go to an event about one"


def event_request_table(recording: Recording, seq: Seq) -> Table:
    """The request of the task that an event is about."""
    span = recording.span_tree.span_around(seq, Level.TASK)
    name = getattr(recording.event_at(seq), "task", "") or (span.name if span is not None else "")
    if name not in recording.timeline.tasks:
        return Table(REQUEST_TITLE, foot=(make_line(muted_piece(NO_TASK)),))
    return request_table(recording, name)


def request_table(recording: Recording, task: TaskKey) -> Table:
    """One row per part of the pod, then what the scheduler works with."""
    lines = list(request_lines(recording, task))
    dims = used_dimensions(each.amount for each in lines)
    columns = (
        Column("part"),
        Column("name"),
        *(Column(short_name(dim), right=True) for dim in dims),
        Column("how it counts", flexible=True, least=20),
    )
    rows = [_request_row(each, dims) for each in lines]
    return Table(f"{REQUEST_TITLE} of {bare_name(task)}", columns, rows)


def _request_row(each: RequestLine, dims: list[str]) -> Row:
    total = each.part in TOTAL_PARTS
    figures = (
        format_amount(dim, each.amount.get(dim)) if each.amount.get(dim) or (total and dim != PODS) else "–"
        for dim in dims
    )
    cells = (
        Piece(f"= {each.part}" if total else each.part, "strong" if total else ""),
        Piece(each.name),
        *(Piece(text, "strong" if total else "") for text in figures),
        muted_piece(each.counts),
    )
    return Row(f"{each.part} {each.name}", cells)
