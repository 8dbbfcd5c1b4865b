"""What is set: breakpoints are changed and switched in their list, watches and bookmarks taken off theirs."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding

from vcdebug.debugger.driver import BreakpointStatus, DebuggerState
from vcdebug.tui.messages import Command
from vcdebug.tui.panels.base import GO, Extra
from vcdebug.views.base import NO, Column, Piece, Row, Table, line, muted, plain_columns

COLUMNS = (*plain_columns("#", ""), Column("breakpoint", flexible=True), *plain_columns("stops#", "next#"))


class Breakpoints(Extra):
    """Each with how often it stops in this recording, and where it stops next."""

    FOOTER = (("breaks.change", "change"), ("breaks.switch", "on/off"), ("breaks.remove", "remove"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding(
            "enter", "extra('change')", "change condition, hit count, once, log: all its words", id="breaks.change"
        ),
        Binding("space", "extra('toggle')", "switch the breakpoint off or on", id="breaks.switch"),
        Binding("delete,x", "extra('delete')", "remove the breakpoint", id="breaks.remove"),
    )

    def view(self, moment: DebuggerState) -> Table:
        """All breakpoints."""
        rows = [_row(stand, moment) for stand in moment.breakpoints]
        foot = () if rows else (line(muted('none yet: b sets one, or :break victim if job == "ns/name"')),)
        return Table("Breaks", COLUMNS, rows, foot=foot)

    def act(self, name: str) -> None:
        """To change the one under the cursor, its words stand ready."""
        row, moment = self.panel.cursor_row, self.panel.moment
        if name != "change":
            super().act(name)
        elif row is not None and moment is not None:
            words = next(stand.text for stand in moment.breakpoints if str(stand.number) == row.key)
            self.panel.post_message(Command(f"change {row.key} {words.removeprefix('break ')}", to_edit=True))


def _row(stand: BreakpointStatus, moment: DebuggerState) -> Row:
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


class Watches(Extra):
    """Takes one off the list."""

    FOOTER = (("panel.go", "to its change"), ("watch.remove", "remove"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        GO,
        Binding("delete,x", "extra('unwatch')", "stop watching it", id="watch.remove"),
    )


class Bookmarks(Extra):
    """Takes one off the list."""

    FOOTER = (("bookmarks.go", "go there"), ("bookmarks.remove", "remove"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("enter", "extra('bookmarks')", "go to the bookmark, in whichever cycle it lies", id="bookmarks.go"),
        Binding("delete,x", "extra('unbookmark')", "remove the bookmark", id="bookmarks.remove"),
    )
