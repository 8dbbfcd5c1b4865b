"""The main screen's keys and commands: they move the moment, type lines, open pages."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import BindingType

from vcdebug.debugger.commands import Reply, execute
from vcdebug.debugger.driver import Step
from vcdebug.errors import VcdebugError
from vcdebug.model.names import Seq
from vcdebug.tui.completion import completions
from vcdebug.tui.copying import copy_text
from vcdebug.tui.messages import Goto, RemoveBreakpoint, ToggleBreakpoint
from vcdebug.tui.panels import PANELS
from vcdebug.tui.panels.log import LogPanel
from vcdebug.tui.screens.breakpoint import BreakpointScreen
from vcdebug.tui.screens.desk import Desk
from vcdebug.tui.screens.detail import DetailScreen
from vcdebug.tui.screens.help import help_table
from vcdebug.tui.screens.keys import KEYS
from vcdebug.tui.start import Start
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import Mode, Prompt
from vcdebug.tui.widgets.status import Status
from vcdebug.views.base import Table, plain
from vcdebug.views.breaking import fitting_kind
from vcdebug.views.detail import cell_detail, subject_detail
from vcdebug.views.pending import explanation, job_at


class MainScreen(Desk):
    """Closes with the name of another snapshot to open, or an empty text for the chooser."""

    BINDINGS: ClassVar[list[BindingType]] = KEYS

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._filtered: Grid | None = None
        """The table that a filter being typed acts on."""

    # Movement

    def action_step(self, verb: Step, back: bool = False) -> None:
        """One of the four movements."""
        driver = self.ready_driver()
        if driver is not None:
            self.moment = driver.step(verb, back=back)

    def action_last_position(self) -> None:
        """Where the last jump began."""
        driver = self.ready_driver()
        if driver is not None:
            self.moment = driver.last_position()

    def action_run_to_cursor(self) -> None:
        """To the event of the row under the cursor."""
        row = self.grid.cursor_row
        if row is not None and row.seq:
            self.go(row.seq)
        else:
            self.say("this row tells about no event")

    def action_about(self, back: bool) -> None:
        """The next or previous event about what the row shows, else about the present job."""
        driver = self.ready_driver()
        if driver is None or self.moment is None:
            return
        row = self.grid.cursor_row
        kind, name = row.subject if row is not None and row.subject[1] else ("job", self.moment.job)
        self.moment = driver.next_about(kind, name, back=back)

    @on(Goto)
    def goto_asked(self, event: Goto) -> None:
        """A panel asks."""
        self.go(event.seq)

    def go(self, seq: Seq | None) -> None:
        """Stand at another event; 0 and None stay."""
        driver = self.ready_driver()
        if driver is not None and seq:
            self.moment = driver.goto(seq)

    # Breakpoints

    def action_breakpoint(self) -> None:
        """Open the dialog."""
        if self.ready_driver() is not None and self.moment is not None:
            kind = fitting_kind(self.moment.recording, self.moment.seq)
            self.app.push_screen(BreakpointScreen(self.moment, kind), self._breakpoint_chosen)

    def _breakpoint_chosen(self, words: str | None) -> None:
        if words:
            self.run_command(f"break {words}")

    @on(ToggleBreakpoint)
    def toggle_asked(self, event: ToggleBreakpoint) -> None:
        """The list of breakpoints asks."""
        self.run_command(f"toggle {event.number}")

    @on(RemoveBreakpoint)
    def remove_asked(self, event: RemoveBreakpoint) -> None:
        """The list of breakpoints asks."""
        self.run_command(f"delete {event.number}")

    # Typed lines

    def action_command(self) -> None:
        """Type a command."""
        self._open_prompt("command")

    def action_goto(self) -> None:
        """Type an event number."""
        self._open_prompt("goto")

    def action_filter(self) -> None:
        """Type a filter for the table that has the focus."""
        self._open_prompt("filter")

    def _open_prompt(self, mode: Mode) -> None:
        self._filtered = self.grid
        words = completions(self.moment) if mode == "command" else ()
        text = self._filtered.filter_text if mode == "filter" else ""
        self.query_one(Prompt).open(mode, text, words)
        self.query_one(Status).display = False

    def _filter(self, text: str) -> int:
        return self._filtered.set_filter(text) if self._filtered is not None else 0

    @on(Prompt.Edited)
    def edited(self, event: Prompt.Edited) -> None:
        """A filter acts with every key."""
        if event.mode == "filter":
            self._filter(event.text)

    @on(Prompt.Closed)
    def closed(self, event: Prompt.Closed) -> None:
        """Without a filter all rows are back."""
        if event.mode == "filter":
            self._filter("")
        self._prompt_done()

    @on(Prompt.Entered)
    def entered(self, event: Prompt.Entered) -> None:
        """Run the line."""
        self._prompt_done()
        if event.mode == "filter":
            shown = self._filter(event.text)
            self.say(f"{shown} rows; Esc shows all" if event.text else "")
        elif event.text.strip():
            self.run_command(f"goto {event.text}" if event.mode == "goto" else event.text)

    def _prompt_done(self) -> None:
        self.query_one(Status).display = True
        if self._filtered is not None:
            self._filtered.focus()

    def run_command(self, text: str) -> None:
        """Run a command line and show what it came to."""
        driver = self.ready_driver()
        if driver is None:
            return
        try:
            self._show(execute(driver, text))
        except VcdebugError as error:
            self.say(error.line(), error=True)

    def _show(self, reply: Reply) -> None:
        if reply.moment is not None:
            self.moment = reply.moment
        self.say(reply.text)
        match reply.opens:
            case "help":
                self.action_help()
            case "explain":
                self.action_explain(reply.argument)
            case "quit":
                self.app.exit()
            case "filter":
                self.grid.set_filter(reply.argument)
            case "panel":
                self.show_panel(reply.argument)
            case "log":
                self._show_log(reply.argument)
            case "open":
                self.dismiss(reply.argument)

    # Panels and pages

    def action_panel(self, key: str) -> None:
        """The panel with this digit."""
        panel = next((panel for panel in PANELS if key == panel.KEY), None)
        if panel is not None:
            self.show_panel(panel.TITLE.lower())

    def _show_log(self, level: str) -> None:
        self.show_panel("log")
        if level:
            self.query_one(LogPanel).set_level(int(level))

    def action_help(self) -> None:
        """Keys, commands and kinds of breakpoints."""
        self.open_detail(help_table(KEYS))

    def open_detail(self, table: Table) -> None:
        """Show a table over the screen; it closes with an event to go to."""
        self.app.push_screen(DetailScreen(table), self.go_if)

    def go_if(self, seq: Seq | None) -> None:
        """Go to an event, if one was chosen."""
        if seq:
            self.go(seq)

    @on(Grid.Opened)
    def opened(self, event: Grid.Opened) -> None:
        """The page of a node or job, else the whole row."""
        moment, (kind, name) = self.moment, event.row.subject
        found = subject_detail(moment.recording, moment.seq, kind, name) if moment is not None and name else None
        own = cell_detail(event.table, event.row, event.column)
        self.open_detail(found if found is not None and event.column == 0 else own)

    def action_explain(self, name: str = "") -> None:
        """Why a job waits: the one named, the one under the cursor, the present one."""
        driver = self.ready_driver()
        if driver is None or self.moment is None:
            return
        recording, row = self.moment.recording, self.grid.cursor_row
        if not name:
            name = job_at(recording, *(row.subject if row is not None else ("", "")), self.moment.job)
        try:
            self.open_detail(explanation(recording, name))
        except VcdebugError as error:
            self.say(error.line(), error=True)

    def action_copy(self, whole: bool = False) -> None:
        """Copy the cell under the cursor, or the whole panel."""
        grid = self.grid
        row = grid.cursor_row
        if whole or row is None:
            text, what = plain(grid.table), "the panel"
        else:
            text, what = row.cells[min(grid.cursor_column, len(row.cells) - 1)].text.strip(), "the cell"
        self.say(f"copied {what} {copy_text(self.app, text)}")

    def action_zoom(self) -> None:
        """The focused panel alone, or all of them again."""
        if self.maximized is None:
            self.maximize(self.grid, container=False)
        else:
            self.minimize()

    def action_open(self) -> None:
        """Choose another snapshot."""
        self.dismiss("")

    def action_quit(self) -> None:
        """Leave."""
        self.app.exit(0)

    def action_back(self) -> None:
        """One step back: the message, the zoom, the filter."""
        if self.query_one(Status).message:
            self.say("")
        elif self.maximized is not None:
            self.minimize()
        elif self.grid.filter_text:
            self.grid.set_filter("")
