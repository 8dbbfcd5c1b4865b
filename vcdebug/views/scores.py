"""Scores of nodes: node by plugin, the best first."""

from __future__ import annotations

import numpy as np

from vcdebug.amount_text import count_noun, format_number
from vcdebug.explain.equations_scores import scores_before
from vcdebug.framework.record import BestEvent, ScoreEvent
from vcdebug.model.names import KeptScores, Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import BEST, Column, Piece, Row, RowsOnDemand, Table, make_line, muted_piece
from vcdebug.views.names import bare_name, short_part


def score_grid(recording: Recording, seq: Seq, event: ScoreEvent) -> Table:
    """Every node with each plugin's part and the total, in order of the total."""
    title = f"Scores for {bare_name(event.task)}"
    if not len(event.rows):
        return Table(title, foot=(make_line(muted_piece("no node was left to score")),))
    order = np.argsort(-np.nan_to_num(event.total, nan=-np.inf), kind="stable")
    top = float(event.total[order[0]])
    parts = [(short_part(name), values) for name, values in event.parts if name in _nonzero_parts(event)]
    columns = (
        Column(""),
        Column("node", name=True),
        Column("total", right=True),
        *(Column(n, right=True) for n, _ in parts),
    )
    tied = int(np.count_nonzero(event.total == top))
    words = f"{tied} tie at the top" if tied > 1 else ""
    head = (make_line(count_noun(len(event.rows), "node"), muted_piece(f"  {words}")),)
    names = [recording.node_names[row] for row in event.rows[order].tolist()]
    rows = RowsOnDemand(names, lambda i: _score_row(recording, event, int(order[i]), top, [v for _, v in parts]))
    return Table(title, columns, rows, head=head)


def _nonzero_parts(event: ScoreEvent) -> dict[str, None]:
    """Parts that are not all zero; without any, all."""
    telling = {name: None for name, values in event.parts if np.nan_to_num(values).any()}
    return telling or dict.fromkeys(name for name, _ in event.parts)


def _score_row(recording: Recording, event: ScoreEvent, index: int, top: float, parts: list[KeptScores]) -> Row:
    name = recording.node_names[int(event.rows[index])]
    total = float(event.total[index])
    best = total == top
    cells = (
        Piece(BEST if best else "", "accent"),
        Piece(name, "strong" if best else ""),
        Piece(_score_text(total), "strong" if best else ""),
        *(Piece(_score_text(float(values[index]))) for values in parts),
    )
    return Row(name, cells, subject=("node", name))


def _score_text(value: float) -> str:
    return "–" if np.isnan(value) else format_number(value)


def best_grid(recording: Recording, seq: Seq, event: BestEvent) -> Table:
    """The choice, and the scores that it was made from."""
    found = scores_before(recording, seq)
    if found is not None:
        table, ties = score_grid(recording, *found), len(event.tied)
        drawn = f"  drawn among {ties} that tie; the real scheduler may draw another" if ties > 1 else ""
        best = make_line(
            "best ", Piece(f"{BEST} {event.name}", "accent"), f" with {format_number(event.score)}", muted_piece(drawn)
        )
        return Table(table.title, table.columns, table.rows, head=(best, *table.head))
    columns = (Column(event.kind), Column("score", right=True))
    rows = [Row(name, (Piece(name), Piece(format_number(event.score)))) for name in event.tied]
    return Table(f"Best {event.kind}: {event.name}", columns, rows)
