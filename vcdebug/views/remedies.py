"""Proven remedies as a page: what to change, what came of it when it was carried out, who pays, whose it is to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import plural
from vcdebug.debugger.remedies.prove import conclusion, result
from vcdebug.explain.answer import WHO
from vcdebug.views.base import NO, YES, Column, Line, Piece, Row, Table, line, muted

if TYPE_CHECKING:
    from vcdebug.debugger.remedies.plan import Remedy
    from vcdebug.debugger.remedies.search import Search
    from vcdebug.model.names import JobId

COLUMNS: Final = (
    Column("", right=True),
    Column("change", flexible=True, least=20),
    Column("what it comes to", flexible=True, least=20),
    Column("who else", flexible=True, least=12),
    Column("whose to do", flexible=True, least=10),
)


def remedies(search: Search, job: JobId) -> Table:
    """One row per remedy, the best first; its key is its place."""
    found = search.remedies
    rows = [_row(number, remedy) for number, remedy in enumerate(found)]
    works = bool(found) and found[0].proven
    tried = plural(search.trials, "cycle")
    head = f"what works, tried in {tried}" if works else f"what gets the job further ({tried} tried)"
    said = conclusion(search)
    foot: tuple[Line, ...] = (line(Piece(f"{NO} {said}", "bad")),) if said else ()
    return Table(f"What lets {job} in", COLUMNS, rows, head=(line(muted(head)), ()) if rows else (), foot=foot)


def _row(number: int, remedy: Remedy) -> Row:
    costs = "; ".join(remedy.outcome.costs) or "nobody"
    cells = (
        Piece(str(number + 1)),
        Piece(remedy.words, "strong"),
        Piece(f"{YES if remedy.proven else NO} {result(remedy)}", "good" if remedy.proven else "muted"),
        muted(costs),
        muted(WHO[remedy.plan.harm]),
    )
    return Row(str(number), cells)
