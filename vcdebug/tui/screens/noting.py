"""Keys about single numbers and events: where a figure came from, what to keep in sight, bookmarks, the report."""

from __future__ import annotations

from typing import NamedTuple

from textual import on

from vcdebug.debugger.figures import Figure
from vcdebug.model.names import Seq
from vcdebug.tui.messages import Command
from vcdebug.tui.screens.commanding import Commanding
from vcdebug.tui.start import Start
from vcdebug.tui.widgets.prompt import Prompt

NO_FIGURE = "no figure of the state under the cursor: go to a number in Jobs, Nodes, Queues, Statement or Equation"


class Followed(NamedTuple):
    """The figure that one follows back, the table that it was taken from, and the event that this led to."""

    figure: Figure
    title: str
    seq: Seq


class Noting(Commanding):
    """Each key is short for a command about what the cursor is on."""

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._followed: Followed | None = None

    def _figure_or_word(self) -> Figure | None:
        """The figure under the cursor, or a word about why there is none."""
        found = self.grid.cursor_figure if self.ready_driver() is not None else None
        if found is None and self.driver is not None:
            self.say(NO_FIGURE)
        return found

    def action_last_change(self) -> None:
        """To the event that wrote the figure; again, further back, also where the panel shows other things by then."""
        if self.ready_driver() is None or self.moment is None:
            return
        followed, title = self._followed, self.grid.table.title
        goes_on = followed is not None and followed.seq == self.moment.seq and followed.title != title
        found = followed.figure if followed is not None and goes_on else self.grid.cursor_figure
        if found is None:
            self.say(NO_FIGURE)
            return
        self._follow(found, followed.title if followed is not None and goes_on else title)

    def go_if(self, chosen: Seq | Figure | None) -> None:
        """A page closes with an event, or with a figure of which one wants to know who wrote it."""
        if isinstance(chosen, Figure):
            self._follow(chosen, "")
        else:
            super().go_if(chosen)

    def _follow(self, figure: Figure, title: str) -> None:
        self.run_command(f"last-change {figure}")
        if self.moment is not None:
            self._followed = Followed(figure, title, self.moment.seq)

    def action_watch(self) -> None:
        """Keep the figure under the cursor in sight."""
        found = self._figure_or_word()
        if found is not None:
            self.run_command(f"watch {found}")

    def action_break_on_figure(self) -> None:
        """Stop wherever the figure under the cursor changes: the words stand ready to be narrowed."""
        found = self._figure_or_word()
        if found is not None:
            self._prefill(f"break data {found}")

    def action_bookmark(self) -> None:
        """Mark this event; where it is marked already, write its note."""
        driver = self.ready_driver()
        if driver is None:
            return
        cycle, branch = driver.where()
        known = driver.notebook.bookmarks.at(driver.debugger.seq, cycle, branch=branch)
        if known is None:
            self.run_command("bookmark")
        else:
            self._prefill(f"note {known.note}")

    @on(Command)
    def command_asked(self, event: Command) -> None:
        """A panel asks."""
        if not event.to_edit:
            self.run_command(event.text)
        elif self.ready_driver() is not None:
            self._prefill(event.text)

    def _prefill(self, text: str) -> None:
        """Open the command line with words that stand ready to be changed."""
        self.action_command()
        self.query_one(Prompt).start_with(text)
