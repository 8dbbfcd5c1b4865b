"""A gang action's bundles as a table: safe ones first, what each frees, what the plugins left, where it is enough."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import format_number, short_resource_text
from vcdebug.explain.gang_bundles import BundleOutcome, DomainBundles
from vcdebug.views.base import NO, YES, Column, Piece, Row, Table, make_line, muted_piece, plain_columns
from vcdebug.views.names import bare_name

BUNDLE_COLUMNS = (
    Column(""),
    Column("bundle", flexible=True, least=18),
    *plain_columns("frees", "its job loses", "frees / loses#"),
    Column("what becomes of it", flexible=True, least=20),
)


def bundle_table(found: DomainBundles, title: str) -> Table:
    """One row per bundle, its tasks below."""
    rows = [row for place, one in enumerate(found.bundles, start=1) for row in _iter_bundle_rows(place, one)]
    head = (
        make_line(
            f"domain {found.domain}: needs {short_resource_text(found.need)}; idle + releasing {short_resource_text(found.free)}"
        ),
        make_line(
            muted_piece(
                "safe: tasks that the gang can spare; whole: the rest of a gang, which goes as a whole or not at all"
            )
        ),
    )
    return Table(f"{title} of the bundles for {bare_name(found.job)}", BUNDLE_COLUMNS, rows, head=head)


def _iter_bundle_rows(place: int, one: BundleOutcome) -> Iterator[Row]:
    kept = bool(one.kept)
    mark = Piece(YES, "good") if kept else Piece(NO, "bad")
    name = f"{place}. {'safe' if one.safe else 'whole'} of {bare_name(one.job)}"
    words = "; ".join(text for text in (one.why, _enough_words(one)) if text)
    cells = (mark, Piece(name, "strong"), Piece(short_resource_text(one.frees)), Piece(short_resource_text(one.loses)))
    yield Row(f"bundle {place}", (*cells, Piece(format_number(one.roi)), Piece(words)), subject=("job", one.job))
    for task in one.tasks:
        state = muted_piece("" if task in one.kept else "kept by the plugins")
        blank = (Piece(""), Piece(""), Piece(""))
        mark = muted_piece("") if task in one.kept else muted_piece(NO)
        yield Row(
            f"bundle {place} {task}", (mark, Piece(f"   {bare_name(task)}"), *blank, state), subject=("task", task)
        )


def _enough_words(one: BundleOutcome) -> str:
    if not one.kept:
        return ""
    return (
        "there is room with those before it: a plan is tried unless one was found" if one.enough else "not enough yet"
    )
