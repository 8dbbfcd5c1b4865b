"""Hierarchical drf as a tree: weights, shares and saturation of paths and jobs at one moment."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import format_number, short_resource_text
from vcdebug.explain.plugins.drf import hierarchy_at
from vcdebug.model.names import Seq
from vcdebug.plugins.drf.hierarchy import HierarchyNode
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Piece, Row, Table, make_line, muted_piece, plain_columns
from vcdebug.views.names import bare_name

SHARE_COLUMNS = (
    Column("path and jobs", flexible=True, least=18),
    *plain_columns("weight#", "share#", "share / weight#", "dominant", "saturated"),
    Column("allocated", flexible=True),
)
SHARE_FORMULA = (
    "a path's amount is the sum of its children's, each scaled to the smallest share of those that are not saturated; "
    "queues are compared level by level: the unsaturated one first, then the smaller share / weight"
)
ROOT_PATH = "root"


def share_tree(recording: Recording, seq: Seq, title: str) -> Table | None:
    """The tree after an event; None without a hierarchy."""
    root = hierarchy_at(recording, seq)
    if root is None:
        return None
    found = list(_iter_share_rows(ROOT_PATH, ROOT_PATH, root, 0))
    rows, depths = [row for row, _ in found], [depth for _, depth in found]
    return Table(
        f"{title} of hierarchical drf",
        SHARE_COLUMNS,
        rows,
        head=(make_line(muted_piece(SHARE_FORMULA)),),
        depths=depths,
    )


def _iter_share_rows(key: str, name: str, node: HierarchyNode, depth: int) -> Iterator[tuple[Row, int]]:
    job = node.request is not None
    shown = bare_name(name) if job else name
    cells = (
        Piece(f"{'  ' * depth}{shown}", "" if job else "strong"),
        Piece(format_number(node.weight)),
        Piece(format_number(node.share.value)),
        Piece(format_number(node.weighted_share())),
        muted_piece(node.share.dominant),
        Piece("yes" if node.saturated else "no"),
        Piece(short_resource_text(node.share.allocated)),
    )
    yield Row(key, cells, subject=("job", name) if job else ("", "")), depth
    for child in sorted(node.children):
        yield from _iter_share_rows(f"{key}/{child}", child, node.children[child], depth + 1)
