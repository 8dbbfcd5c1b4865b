"""Pages over the screen, the focused panel alone, copying."""

from __future__ import annotations

from textual import on

from vcdebug.debugger.figures import Figure
from vcdebug.errors import VcdebugError
from vcdebug.model.names import Seq
from vcdebug.tui.copying import Clipboard
from vcdebug.tui.panels import PANELS
from vcdebug.tui.screens.detail import DetailScreen
from vcdebug.tui.screens.help import help_table
from vcdebug.tui.screens.moving import Moving
from vcdebug.tui.themes import THEMES, theme_named
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.status import Status
from vcdebug.views.base import Table
from vcdebug.views.detail import cell_detail, subject_detail
from vcdebug.views.pending import explanation, job_at


class Reading(Moving):
    """What is read: panels, pages about one thing, explanations."""

    def action_panel(self, key: str) -> None:
        """The panel with this digit."""
        panel = next((panel for panel in PANELS if key == panel.KEY), None)
        if panel is not None:
            self.show_panel(panel.TITLE.lower())

    def action_help(self) -> None:
        """Keys, commands and kinds of breakpoints."""
        self.open_detail(self.help_page())

    def help_page(self) -> Table:
        """The help, with the keys in force."""
        return help_table({})

    @property
    def clipboard(self) -> Clipboard:
        """How things are copied."""
        return "auto"

    def open_detail(self, table: Table) -> None:
        """Show a table over the screen; it closes with an event to go to."""
        self.app.push_screen(DetailScreen(table, self.clipboard), self.go_if)

    def go_if(self, chosen: Seq | Figure | None) -> None:
        """Go to an event, if one was chosen."""
        if isinstance(chosen, int) and chosen:
            self.go(chosen)

    @on(Grid.Opened)
    def opened(self, event: Grid.Opened) -> None:
        """The page of a node or job, else the whole row."""
        moment, (kind, name) = self.moment, event.row.subject
        found = subject_detail(moment.recording, moment.seq, kind, name) if moment is not None and name else None
        own = cell_detail(event.table, event.row, event.column)
        self.open_detail(found if found is not None and event.column == 0 else own)

    def action_explain(self, name: str = "") -> None:
        """Why a job waits: the one named, the one under the cursor, the present one; without any, all that wait."""
        driver = self.ready_driver()
        if driver is None or self.moment is None:
            return
        recording, row = self.moment.recording, self.grid.cursor_row
        name = name or job_at(self.moment, *(row.subject if row is not None else ("", "")))
        if not name:
            self.open_overview()
            return
        try:
            self.open_detail(explanation(recording, name))
        except VcdebugError as error:
            self.say(error.line(), error=True)

    def open_overview(self) -> None:
        """Every job that waits, over the screen."""
        raise NotImplementedError

    def choose_theme(self, word: str) -> None:
        """Another look, at once."""
        name = theme_named(word)
        if name is None:
            self.say(f"no theme {word!r}: {', '.join(THEMES)}", error=True)
        else:
            self.app.theme = name

    def action_zoom(self) -> None:
        """The focused panel alone, or all of them again."""
        if self.maximized is None:
            self.maximize(self.grid, container=False)
        else:
            self.minimize()

    def action_back(self) -> None:
        """One step back: message, zoom, filter, order."""
        grid = self.grid
        if self.query_one(Status).message:
            self.say("")
        elif self.maximized is not None:
            self.minimize()
        elif grid.filter_text:
            grid.set_filter("")
        elif grid.shown.order is not None:
            grid.set_order(None)
