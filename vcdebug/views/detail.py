"""The page behind a row: its cells in full, or its job, node, queue or candidates."""

from __future__ import annotations

from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.views.jobs import job_page
from vcdebug.views.node_grids import REASON, SHORT_OF, node_list
from vcdebug.views.nodes import node_page
from vcdebug.views.pieces import muted_piece
from vcdebug.views.queues import cluster_page, queue_page
from vcdebug.views.table import Column, Row, Table
from vcdebug.views.votes import VICTIMS_SUBJECT, candidates_table

FIELD_COLUMNS = (Column("column"), Column("whole text", flexible=True))


def cell_detail(table: Table, row: Row, column: int) -> Table:
    """Every cell of a row that has text, the one in `column` first."""
    order = [column, *(i for i in range(len(row.cells)) if i != column)]
    filled = [(i, row.cells[i]) for i in order if row.cells[i].text.strip()]
    rows = [Row(str(i), (muted_piece(table.columns[i].title or "–"), cell), row.seq) for i, cell in filled]
    return Table(table.title, FIELD_COLUMNS, rows)


def subject_detail(recording: Recording, seq: Seq, kind: str, name: str) -> Table | None:
    """The page of a row's subject (kind, name); a task leads to its job. None where there is no page."""
    if kind == "node" and name in recording.session.nodes:
        return node_page(recording, seq, name)
    if kind == "queue" and name in recording.session.queues:
        return queue_page(recording, seq, name)
    if kind in (REASON, SHORT_OF):
        return node_list(recording, seq, kind, name)
    if kind == VICTIMS_SUBJECT:
        return candidates_table(recording, int(name))
    if kind == "cluster":
        return cluster_page(recording, seq)
    # A task has no page of its own: its job's page has a row for it.
    if kind == "task":
        kind, name = "job", recording.owners.jobs.get(name, "")
    if kind == "job" and name in recording.session.jobs:
        return job_page(recording, seq, name)
    return None
