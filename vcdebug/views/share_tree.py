"""Hierarchical drf as a tree: weights, shares and saturation of paths and jobs at one moment."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import number, resource_text
from vcdebug.explain.plugins.drf import tree_at
from vcdebug.model.names import Seq
from vcdebug.plugins.drf.hierarchy import Node
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Piece, Row, Table, line, muted, plain_columns
from vcdebug.views.names import bare

COLUMNS = (
    Column("path and jobs", flexible=True, least=18),
    *plain_columns("weight#", "share#", "share / weight#", "dominant", "saturated"),
    Column("allocated", flexible=True),
)
FORMULA = (
    "a path's amount is the sum of its children's, each scaled to the smallest share of those that are not saturated; "
    "queues are compared level by level: the unsaturated one first, then the smaller share / weight"
)
ROOT = "root"


def share_tree(recording: Recording, seq: Seq, title: str) -> Table | None:
    """The tree after an event; None without a hierarchy."""
    root = tree_at(recording, seq)
    if root is None:
        return None
    found = list(_rows(ROOT, ROOT, root, 0))
    rows, depths = [row for row, _ in found], [depth for _, depth in found]
    return Table(f"{title} of hierarchical drf", COLUMNS, rows, head=(line(muted(FORMULA)),), depths=depths)


def _rows(key: str, name: str, node: Node, depth: int) -> Iterator[tuple[Row, int]]:
    job = node.request is not None
    shown = bare(name) if job else name
    cells = (
        Piece(f"{'  ' * depth}{shown}", "" if job else "strong"),
        Piece(number(node.weight)),
        Piece(number(node.share.value)),
        Piece(number(node.weighted_share())),
        muted(node.share.dominant),
        Piece("yes" if node.saturated else "no"),
        Piece(resource_text(node.share.allocated)),
    )
    yield Row(key, cells, subject=("job", name) if job else ("", "")), depth
    for child in sorted(node.children):
        yield from _rows(f"{key}/{child}", child, node.children[child], depth + 1)
