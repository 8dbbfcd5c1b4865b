"""Breakpoints: where continue stops."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from vcdebug.tui.messages import Command, RemoveBreakpoint, ToggleBreakpoint
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
    FOOTER = (("breaks.change", "change"), ("breaks.switch", "on/off"), ("breaks.remove", "remove"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "change", "change condition, hit count, once, log: all its words", id="breaks.change"),
        Binding("space", "switch", "switch the breakpoint off or on", id="breaks.switch"),
        Binding("delete,x", "remove", "remove the breakpoint", id="breaks.remove"),
    ]

    def view(self, moment: Moment) -> Table:
        """All breakpoints."""
        rows = [_row(stand, moment) for stand in moment.breakpoints]
        foot = () if rows else (line(muted('none yet: b sets one, or :break victim if job == "ns/name"')),)
        return Table("Breaks", COLUMNS, rows, foot=foot)

    def action_change(self) -> None:
        """Put the words of the one under the cursor into the line."""
        row, moment = self.cursor_row, self.moment
        for stand in moment.breakpoints if moment is not None and row is not None else ():
            if row is not None and str(stand.number) == row.key:
                words = stand.text.removeprefix("break ")
                self.post_message(Command(f"change {stand.number} {words}", to_edit=True))

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
