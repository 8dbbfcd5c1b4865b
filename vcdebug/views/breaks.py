"""Breakpoints, and how often they stop."""

from __future__ import annotations

from typing import Final

from vcdebug.debugger.driver import DebuggerState
from vcdebug.views.base import NO, YES, Column, Piece, Row, Table, line

COLUMNS: Final = (Column("", right=True), Column(""), Column("breakpoint", flexible=True), Column("stops", right=True))


def panel(here: DebuggerState) -> Table:
    """The panel, at the present event."""
    rows = [
        Row(
            str(one.number),
            tuple(map(Piece, (str(one.number), YES if one.enabled else NO, one.text, str(len(one.hits))))),
        )
        for one in here.breakpoints
    ]
    return Table("Breaks", COLUMNS, rows, foot=() if rows else (line("none"),))
