"""The panels with keys of their own: Flow, Moment, Breaks, Watch and Bookmarks."""

from typing import ClassVar, Final

from msgspec.structs import replace
from textual.binding import Binding

from vcdebug.debugger.driver import DebuggerState
from vcdebug.tui.messages import CommandRequested
from vcdebug.tui.panels.base import GO_BINDING, Panel, PanelExtra
from vcdebug.views.pieces import Piece
from vcdebug.views.table import Table


class FlowPanel(PanelExtra):
    """Opens and closes spans; only open spans have rows, since a cycle may have millions."""

    FOOTER = (("panel.go", "go there"), ("flow.toggle", "open"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("right,l", "extra('open')", "open the span", id="flow.open"),
        Binding("left,h", "extra('close')", "close the span, or up to the one around it", id="flow.close"),
        Binding("space", "extra('toggle')", "open or close the span", id="flow.toggle"),
        GO_BINDING,
    )

    def __init__(self, panel: Panel) -> None:
        super().__init__(panel)
        self._opened: dict[str, None] = {}
        self._seq = 0

    def build_table(self, moment: DebuggerState) -> Table:
        """The tree, opened down to the current event."""
        from vcdebug.views.flow import flow_table, open_keys_around, whole_flow

        if moment.seq != self._seq:
            self._seq = moment.seq
            # Only after a step: a span that the user closes at this event stays closed.
            self._opened.update(dict.fromkeys(open_keys_around(moment.recording, moment.seq)))
        # A filter searches closed spans too, so their rows have to exist.
        if self.panel.filter_text:
            return whole_flow(moment.recording, moment.seq)
        return flow_table(moment.recording, self._opened, moment.seq)

    def searched_table(self, text: str) -> Table | None:
        """The whole tree, so that a filter finds events in closed spans; after it, spans around the cursor are open."""
        from vcdebug.views.flow import flow_table, open_keys_around, whole_flow

        moment, row = self.panel.moment, self.panel.cursor_row
        if moment is None or bool(text) == bool(self.panel.filter_text):
            return None
        if text:
            return whole_flow(moment.recording, moment.seq)
        if row is not None and row.seq:
            self._opened.update(dict.fromkeys(open_keys_around(moment.recording, row.seq)))
        return flow_table(moment.recording, self._opened, moment.seq)

    def run_key(self, name: str) -> None:
        """Open or close the span under the cursor; closing a closed one moves to the enclosing span."""
        row, moment = self.panel.cursor_row, self.panel.moment
        if row is None or moment is None:
            return
        can_open = not row.key.startswith("event ")
        is_open = can_open and row.key in self._opened
        if can_open and name != "close" and not is_open:
            self._opened[row.key] = None
        elif is_open and name != "open":
            del self._opened[row.key]
        elif name == "close":
            self._to_parent()
            return
        self.panel.set_table(self.panel.build_table(moment), follow=False)

    def _to_parent(self) -> None:
        from vcdebug.views.flow import depth_of

        rows, cursor = self.panel.shown_rows, self.panel.cursor
        depth = depth_of(rows[cursor])
        parent = next((index for index in range(cursor - 1, -1, -1) if depth_of(rows[index]) < depth), None)
        if parent is not None:
            self.panel.cursor = parent
            self.panel.show_cursor()


# The panel Moment: the current event, or the overview at the start.

MAX_ROW_TEXT: Final = 24
"""Length of a text that fits into a row on every screen."""


class MomentPanel(PanelExtra):
    """Enter runs the command of a row of the overview, and elsewhere opens the whole cell."""

    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("enter", "extra('go')", "the whole cell; in the overview what the row is about", id="moment.go"),
    )

    def build_table(self, moment: DebuggerState) -> Table:
        """The event's table; long text of the current row is shown in full above the rows, which have one line each."""
        table = super().build_table(moment)
        row = next((row for row in table.rows if row.key == table.current), None) if table.current else None
        if row is None:
            return table
        texts = [cell for cell, column in zip(row.cells, table.columns, strict=True) if column.flexible]
        longest = max(texts, key=lambda cell: len(cell.text), default=None)
        if longest is None or len(longest.text) <= MAX_ROW_TEXT:
            return table
        plugin = next(
            (cell for cell, column in zip(row.cells, table.columns, strict=True) if column.title == "plugin"), None
        )
        named = (plugin, Piece(" ")) if plugin is not None else ()
        return replace(table, header=((*named, longest), *table.header))

    def run_key(self, name: str) -> None:
        """Run the command of the row."""
        from vcdebug.views.overview import is_overview

        row = self.panel.cursor_row
        if row is not None and is_overview(self.panel.table):
            self.panel.post_message(CommandRequested(row.key))
        else:
            self.panel.action_open_cell()


# The panels Breaks, Watch and Bookmarks, whose entries are changed and removed by keys.


class BreakpointsPanel(PanelExtra):
    """The keys that change, switch and remove a breakpoint."""

    FOOTER = (("breaks.change", "change"), ("breaks.switch", "on/off"), ("breaks.remove", "remove"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("enter", "extra('change')", "change condition, hit count, once, log", id="breaks.change"),
        Binding("space", "extra('toggle')", "switch the breakpoint off or on", id="breaks.switch"),
        Binding("delete,x", "extra('delete')", "remove the breakpoint", id="breaks.remove"),
    )

    def run_key(self, name: str) -> None:
        """Run a key; `change` opens the command line with the words of the breakpoint."""
        row, moment = self.panel.cursor_row, self.panel.moment
        if name != "change":
            super().run_key(name)
        elif row is not None and moment is not None:
            words = next(status.text for status in moment.breakpoints if str(status.number) == row.key)
            self.panel.post_message(CommandRequested(f"change {row.key} {words.removeprefix('break ')}", to_edit=True))


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
