"""A gang action's bundles as a table: safe ones first, what each frees, what the plugins left, where it is enough."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import number, resource_text
from vcdebug.explain.gang_bundles import Bundles, Offered
from vcdebug.views.base import NO, YES, Column, Piece, Row, Table, line, muted, plain_columns
from vcdebug.views.names import bare

COLUMNS = (
    Column(""),
    Column("bundle", flexible=True, least=18),
    *plain_columns("frees", "its job loses", "frees / loses#"),
    Column("what becomes of it", flexible=True, least=20),
)


def bundle_table(found: Bundles, title: str) -> Table:
    """One row per bundle, its tasks below."""
    rows = [row for place, one in enumerate(found.bundles, start=1) for row in _rows(place, one)]
    head = (
        line(f"domain {found.domain}: needs {resource_text(found.need)}; idle + releasing {resource_text(found.free)}"),
        line(
            muted("safe: tasks that the gang can spare; whole: the rest of a gang, which goes as a whole or not at all")
        ),
    )
    return Table(f"{title} of the bundles for {bare(found.job)}", COLUMNS, rows, head=head)


def _rows(place: int, one: Offered) -> Iterator[Row]:
    kept = bool(one.kept)
    mark = Piece(YES, "good") if kept else Piece(NO, "bad")
    name = f"{place}. {'safe' if one.safe else 'whole'} of {bare(one.job)}"
    words = "; ".join(text for text in (one.why, _enough(one)) if text)
    cells = (mark, Piece(name, "strong"), Piece(resource_text(one.frees)), Piece(resource_text(one.loses)))
    yield Row(f"bundle {place}", (*cells, Piece(number(one.roi)), Piece(words)), subject=("job", one.job))
    for task in one.tasks:
        state = muted("" if task in one.kept else "kept by the plugins")
        blank = (Piece(""), Piece(""), Piece(""))
        mark = muted("") if task in one.kept else muted(NO)
        yield Row(f"bundle {place} {task}", (mark, Piece(f"   {bare(task)}"), *blank, state), subject=("task", task))


def _enough(one: Offered) -> str:
    if not one.kept:
        return ""
    return (
        "there is room with those before it: a plan is tried unless one was found" if one.enough else "not enough yet"
    )
