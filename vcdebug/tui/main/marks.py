"""What a person sets: breakpoints, watches and bookmarks; and the way from a number back to who wrote it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from vcdebug.debugger.figures import Figure
from vcdebug.model.names import Seq
from vcdebug.tui.main.command_line import CommandLine
from vcdebug.tui.main.current import LayOver, ScreenState
from vcdebug.tui.screens.breakpoint import BreakpointScreen
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.breaks import fitting_kind

NO_FIGURE: Final = (
    "no figure of the state under the cursor: go to a number in Jobs, Nodes, Queues, Statement or Equation"
)


class FollowedFigure(NamedTuple):
    """The figure that one follows back, the table that it was taken from, and the event that this led to."""

    figure: Figure
    title: str
    seq: Seq


class MarkCommands:
    """Each key is short for a command about what the cursor is on."""

    def __init__(
        self, current: ScreenState, commands: CommandLine, lay_over: LayOver, focused: Callable[[], Grid]
    ) -> None:
        self._current = current
        self._commands = commands
        self._lay_over = lay_over
        self._focused = focused
        self._followed: FollowedFigure | None = None

    # Numbers

    def goto_last_change(self) -> None:
        """To the event that wrote the figure; again, further back, also where the panel shows other things by then."""
        moment = self._current.moment
        if self._current.ready_driver() is None or moment is None:
            return
        grid, followed = self._focused(), self._followed
        if followed is not None and followed.seq == moment.seq and followed.title != grid.table.title:
            self.follow_figure(followed.figure, followed.title)
            return
        found = grid.cursor_figure
        if found is None:
            self._current.say(NO_FIGURE)
        else:
            self.follow_figure(found, grid.table.title)

    def follow_figure(self, figure: Figure, title: str = "") -> None:
        """To the event that wrote a figure of a table."""
        self._commands.run_command(f"last-change {figure}")
        if self._current.moment is not None:
            self._followed = FollowedFigure(figure, title, self._current.moment.seq)

    def watch_figure(self) -> None:
        """Keep the figure under the cursor in sight."""
        found = self._figure_under_cursor()
        if found is not None:
            self._commands.run_command(f"watch {found}")

    def _figure_under_cursor(self) -> Figure | None:
        """The figure under the cursor, or a word about why there is none."""
        found = self._focused().cursor_figure if self._current.ready_driver() is not None else None
        if found is None and self._current.driver is not None:
            self._current.say(NO_FIGURE)
        return found

    # Breakpoints

    def open_breakpoint_dialog(self) -> None:
        """Open the dialog, with the kind that suits the present event."""
        moment = self._current.moment
        if self._current.ready_driver() is not None and moment is not None:
            kind = fitting_kind(moment.recording, moment.seq)
            self._lay_over(BreakpointScreen(moment, kind), self._set_breakpoint)

    def _set_breakpoint(self, words: str | None) -> None:
        if words:
            self._commands.run_command(f"break {words}")

    def break_on_figure(self) -> None:
        """Stop wherever the figure under the cursor changes: the words stand ready to be narrowed."""
        found = self._figure_under_cursor()
        if found is not None:
            self._commands.open_prompt("command", f"break data {found}")

    # Bookmarks

    def set_bookmark(self) -> None:
        """Mark this event; where it is marked already, write its note."""
        driver = self._current.ready_driver()
        if driver is None:
            return
        cycle, branch = driver.shown_place()
        known = driver.notebook.bookmarks.bookmark_at(driver.debugger.seq, cycle, branch=branch)
        if known is None:
            self._commands.run_command("bookmark")
        else:
            self._commands.open_prompt("command", f"note {known.note}")
