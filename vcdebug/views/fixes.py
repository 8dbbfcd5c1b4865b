"""Proven remedies as a page: what to change, what came of it when it was carried out, who pays, whose it is to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import count_noun
from vcdebug.explain.answer import ADVICE_OWNER
from vcdebug.views.table import NO, YES, Column, Line, Piece, Row, Table, make_line, muted_piece
from vcdebug.whatif.fixes.search import describe_conclusion, describe_result

if TYPE_CHECKING:
    from vcdebug.model.names import JobId
    from vcdebug.whatif.fixes.search import FixSearch, TriedPlan

FIX_COLUMNS: Final = (
    Column("", right=True),
    Column("change", flexible=True, least=20),
    Column("what it comes to", flexible=True, least=20),
    Column("who else", flexible=True, least=12),
    Column("whose to do", flexible=True, least=10),
)


def fixes_table(search: FixSearch, job: JobId) -> Table:
    """One row per remedy, the best first; its key is its place."""
    found = search.best_plans
    rows = [_fix_row(number, remedy) for number, remedy in enumerate(found)]
    works = bool(found) and found[0].is_proven
    tried = count_noun(search.trial_count, "cycle")
    head = f"what works, tried in {tried}" if works else f"what gets the job further ({tried} tried)"
    said = describe_conclusion(search)
    foot: tuple[Line, ...] = (make_line(Piece(f"{NO} {said}", "bad")),) if said else ()
    return Table(
        f"What lets {job} in", FIX_COLUMNS, rows, head=(make_line(muted_piece(head)), ()) if rows else (), foot=foot
    )


def _fix_row(number: int, remedy: TriedPlan) -> Row:
    costs = "; ".join(remedy.outcome.costs) or "nobody"
    cells = (
        Piece(str(number + 1)),
        Piece(remedy.plan_words, "strong"),
        Piece(f"{YES if remedy.is_proven else NO} {describe_result(remedy)}", "good" if remedy.is_proven else "muted"),
        muted_piece(costs),
        muted_piece(ADVICE_OWNER[remedy.plan.worst_harm]),
    )
    return Row(str(number), cells)
