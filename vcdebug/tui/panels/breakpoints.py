"""Breakpoints: where continue stops."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from vcdebug.tui.messages import RemoveBreakpoint, ToggleBreakpoint
from vcdebug.tui.moment import Moment, Stand
from vcdebug.tui.panels.base import Panel
from vcdebug.views.base import NO, Column, Piece, Row, Table, line, muted

COLUMNS = (
    Column("", right=True),
    Column(""),
    Column("breakpoint", flexible=True),
    Column("stops", right=True),
    Column("next", right=True),
)


class BreakpointsPanel(Panel):
    """Each with how often it stops in this recording."""

    TITLE = "Breaks"
    KEY = "8"
    HELP = "breakpoints with their conditions and how often they stop"
    FOOTER = (("breaks.switch", "on/off"), ("breaks.remove", "remove"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "switch", "switch the breakpoint off or on", id="breaks.switch"),
        Binding("delete,x", "remove", "remove the breakpoint", id="breaks.remove"),
    ]

    def view(self, moment: Moment) -> Table:
        """All breakpoints."""
        rows = [_row(stand, moment) for stand in moment.breakpoints]
        foot = () if rows else (line(muted('none yet: b sets one, or :break victim if job == "ns/name"')),)
        return Table("Breaks", COLUMNS, rows, foot=foot)

    def action_switch(self) -> None:
        """Switch the one under the cursor."""
        if self.cursor_row is not None:
            self.post_message(ToggleBreakpoint(int(self.cursor_row.key)))

    def action_remove(self) -> None:
        """Forget the one under the cursor."""
        if self.cursor_row is not None:
            self.post_message(RemoveBreakpoint(int(self.cursor_row.key)))


def _row(stand: Stand, moment: Moment) -> Row:
    later = next((seq for seq in stand.hits if seq > moment.seq), 0)
    mark = Piece("◉ on", "good") if stand.enabled else Piece(f"{NO} off", "muted")
    cells = (
        Piece(str(stand.number)),
        mark,
        Piece(stand.text.removeprefix("break ")),
        Piece(str(len(stand.hits))),
        Piece(str(later) if later else "–"),
    )
    return Row(str(stand.number), cells, later)
