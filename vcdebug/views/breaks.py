"""Breakpoints, and how often they stop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from vcdebug.debugger.driver import BreakpointStatus
from vcdebug.views.base import NO, YES, Column, Piece, Row, Table, line

COLUMNS: Final = (Column("", right=True), Column(""), Column("breakpoint", flexible=True), Column("stops", right=True))


def breaks(breakpoints: Iterable[BreakpointStatus]) -> Table:
    """One row per breakpoint."""
    cells = ((str(one.number), YES if one.enabled else NO, one.text, str(len(one.hits))) for one in breakpoints)
    rows = [Row(words[0], tuple(map(Piece, words))) for words in cells]
    return Table("Breaks", COLUMNS, rows, foot=() if rows else (line("none"),))
