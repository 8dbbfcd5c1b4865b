"""The panels Breaks, Watch and Bookmarks, whose entries are changed and removed by keys."""

from typing import ClassVar

from textual.binding import Binding

from vcdebug.debugger.driver import BreakpointStatus, DebuggerState
from vcdebug.tui.messages import CommandRequested
from vcdebug.tui.panels.base import GO_BINDING, PanelExtra
from vcdebug.views.pieces import NO, Piece, make_line, muted_piece
from vcdebug.views.table import Row, Table, table_columns

BREAKPOINT_COLUMNS = table_columns("#", "", "breakpoint~", "hits#", "next#")


class BreakpointsPanel(PanelExtra):
    """All breakpoints, with their hits in this recording and the next one."""

    FOOTER = (("breaks.change", "change"), ("breaks.switch", "on/off"), ("breaks.remove", "remove"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("enter", "extra('change')", "change condition, hit count, once, log", id="breaks.change"),
        Binding("space", "extra('toggle')", "switch the breakpoint off or on", id="breaks.switch"),
        Binding("delete,x", "extra('delete')", "remove the breakpoint", id="breaks.remove"),
    )

    def build_table(self, moment: DebuggerState) -> Table:
        """A row per breakpoint."""
        rows = [_breakpoint_row(status, moment) for status in moment.breakpoints]
        foot = () if rows else (make_line(muted_piece('none yet: b sets one, or :break victim if job == "ns/name"')),)
        return Table("Breaks", BREAKPOINT_COLUMNS, rows, footer=foot)

    def run_key(self, name: str) -> None:
        """Run a key; `change` opens the command line with the words of the breakpoint."""
        row, moment = self.panel.cursor_row, self.panel.moment
        if name != "change":
            super().run_key(name)
        elif row is not None and moment is not None:
            words = next(status.text for status in moment.breakpoints if str(status.number) == row.key)
            self.panel.post_message(CommandRequested(f"change {row.key} {words.removeprefix('break ')}", to_edit=True))


def _breakpoint_row(status: BreakpointStatus, moment: DebuggerState) -> Row:
    next_hit = next((seq for seq in status.hits if seq > moment.seq), 0)
    mark = Piece("◉ on", "good") if status.enabled else Piece(f"{NO} off", "muted")
    cells = (
        Piece(str(status.number)),
        mark,
        Piece(status.text.removeprefix("break ")),
        Piece(str(len(status.hits))),
        Piece(str(next_hit) if next_hit else "–"),
    )
    return Row(str(status.number), cells, next_hit)


class WatchesPanel(PanelExtra):
    """The key that removes a watch."""

    FOOTER = (("panel.go", "to its change"), ("watch.remove", "remove"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        GO_BINDING,
        Binding("delete,x", "extra('unwatch')", "stop watching it", id="watch.remove"),
    )


class BookmarksPanel(PanelExtra):
    """The keys that open and remove a bookmark."""

    FOOTER = (("bookmarks.go", "go there"), ("bookmarks.remove", "remove"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("enter", "extra('bookmarks')", "go to the bookmark, in whichever cycle it lies", id="bookmarks.go"),
        Binding("delete,x", "extra('unbookmark')", "remove the bookmark", id="bookmarks.remove"),
    )
