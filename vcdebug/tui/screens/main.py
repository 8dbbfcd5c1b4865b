"""The main screen: panels around one moment, keys and commands that move it."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.reactive import reactive
from textual.screen import Screen

from vcdebug.errors import VcdebugError
from vcdebug.model.names import Seq
from vcdebug.tui import worker
from vcdebug.tui.commands import Reply, execute
from vcdebug.tui.completion import completions
from vcdebug.tui.copying import copy_text
from vcdebug.tui.driver import Driver, Step
from vcdebug.tui.messages import CycleFailed, CycleReady, Goto, Progress, RemoveBreakpoint, ToggleBreakpoint
from vcdebug.tui.moment import Moment
from vcdebug.tui.panels import PANELS
from vcdebug.tui.screens.breakpoint import BreakpointScreen
from vcdebug.tui.screens.detail import DetailScreen
from vcdebug.tui.screens.help import help_table
from vcdebug.tui.screens.keys import ALWAYS, FOOTER, KEYS
from vcdebug.tui.screens.lists import FLOW, Lists
from vcdebug.tui.start import Start
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.header import ONE_LINE, Header
from vcdebug.tui.widgets.prompt import Prompt
from vcdebug.tui.widgets.status import Key, Status
from vcdebug.tui.widgets.tabs import Tabs
from vcdebug.tui.widgets.timeline import Timeline
from vcdebug.views.base import Table, plain
from vcdebug.views.breaking import fitting_kind
from vcdebug.views.detail import cell_detail, subject_detail
from vcdebug.views.pending import explanation, job_at

RIGHT = ("moment", "equation", "statement")
NARROW = 100


class MainScreen(Screen[str]):
    """Closes with the name of another snapshot to open, or an empty text for the chooser."""

    BINDINGS: ClassVar[list[BindingType]] = KEYS
    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [
        (0, "-narrow"),
        (NARROW, "-wide"),
        (ONE_LINE, "-very-wide"),
    ]
    ALLOW_IN_MAXIMIZED_VIEW: ClassVar[str] = "Header,Timeline,Status,Prompt"

    moment: reactive[Moment | None] = reactive(None, always_update=True)

    def __init__(self, start: Start) -> None:
        super().__init__()
        self.start = start
        self.driver: Driver | None = None
        self.failure = ""

    def compose(self) -> ComposeResult:
        """Flow and lists on the left, the moment on the right, the timeline below."""
        panels = {panel.TITLE.lower(): panel for panel in PANELS}
        yield Header().data_bind(MainScreen.moment)
        with Horizontal(id="body"):
            yield Lists(id="left").data_bind(MainScreen.moment)
            with Vertical(id="right"):
                yield from (panels[name](id=name).data_bind(MainScreen.moment) for name in RIGHT)
        yield Timeline().data_bind(MainScreen.moment)
        yield Status()
        yield Prompt()

    def on_mount(self) -> None:
        """Start the replay; keys answer meanwhile."""
        status = self.query_one(Status)
        status.keys = tuple(Key(*key) for key in FOOTER)
        status.always = tuple(Key(*key) for key in ALWAYS)
        self.query_one(Header).name_shown = self.start.name
        self.query_one("#moment" if self.app.size.width < NARROW else "#flow").focus()
        self.replay()

    # The recording

    @work(thread=True, exclusive=True)
    def replay(self) -> None:
        """Load and replay in a thread."""
        worker.run(self.start.source, self.post_message)

    @on(Progress)
    def progressed(self, event: Progress) -> None:
        """Say how far it is."""
        self.query_one(Header).progress = event.text

    @on(CycleFailed)
    def failed(self, event: CycleFailed) -> None:
        """One line says why there is nothing to see."""
        self.failure = event.line
        self.query_one(Header).progress = "nothing to show"
        self.say(event.line, error=True)

    @on(CycleReady)
    def ready(self, event: CycleReady) -> None:
        """Stand at the first event, or where the command line said."""
        self.driver = Driver(event.recording)
        try:
            self.moment = self.start.apply(self.driver)
        except VcdebugError as error:
            self.moment = self.driver.moment()
            self.say(error.line(), error=True)

    def say(self, text: str, *, error: bool = False) -> None:
        """A line in place of the keys, until the next one."""
        self.query_one(Status).say(text, error=error)

    def _driver(self) -> Driver | None:
        """The driver, or a word about why there is none yet."""
        if self.driver is None:
            self.say(self.failure or "still replaying: this key works in a moment", error=bool(self.failure))
        else:
            self.say("")
        return self.driver

    # Movement

    def action_step(self, verb: Step, back: bool = False) -> None:
        """One of the four movements."""
        driver = self._driver()
        if driver is not None:
            self.moment = driver.step(verb, back=back)

    def action_last_position(self) -> None:
        """Where the last jump began."""
        driver = self._driver()
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
        driver = self._driver()
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
        driver = self._driver()
        if driver is not None and seq:
            self.moment = driver.goto(seq)

    # Breakpoints

    def action_breakpoint(self) -> None:
        """Open the dialog."""
        if self._driver() is not None and self.moment is not None:
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
        self._filtered = self.grid
        self.query_one(Prompt).open("filter", self._filtered.filter_text)
        self.query_one(Status).display = False

    def _open_prompt(self, mode: str) -> None:
        if self._driver() is not None:
            self._filtered = self.grid
            self.query_one(Prompt).open(mode, words=completions(self.moment) if mode == "command" else ())  # type: ignore[arg-type]
            self.query_one(Status).display = False

    @on(Prompt.Edited)
    def edited(self, event: Prompt.Edited) -> None:
        """A filter acts with every key."""
        if event.mode == "filter":
            self._filtered.set_filter(event.text)

    @on(Prompt.Closed)
    def closed(self, event: Prompt.Closed) -> None:
        """Without a filter all rows are back."""
        if event.mode == "filter":
            self._filtered.set_filter("")
        self._prompt_done()

    @on(Prompt.Entered)
    def entered(self, event: Prompt.Entered) -> None:
        """Run the line."""
        self._prompt_done()
        if event.mode == "filter":
            shown = self._filtered.set_filter(event.text)
            self.say(f"{shown} rows; Esc shows all" if event.text else "")
        elif event.text.strip():
            self.run_command(f"goto {event.text}" if event.mode == "goto" else event.text)

    def _prompt_done(self) -> None:
        self.query_one(Status).display = True
        self._filtered.focus()

    def run_command(self, text: str) -> None:
        """Run a command line and show what it came to."""
        driver = self._driver()
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
            case "open":
                self.dismiss(reply.argument)

    # Panels

    @property
    def grid(self) -> Grid:
        """The table that has the focus, else the flow."""
        return self.focused if isinstance(self.focused, Grid) else self.query_one("#flow", Grid)

    def action_panel(self, key: str) -> None:
        """The panel with this digit."""
        panel = next((panel for panel in PANELS if key == panel.KEY), None)
        if panel is not None:
            self.show_panel(panel.TITLE.lower())

    def show_panel(self, name: str) -> None:
        """Bring a panel to the front and give it the focus."""
        found = next((panel for panel in PANELS if panel.TITLE.lower().startswith(name.lower()[:4])), None)
        if found is None or not name:
            self.say(f"no panel {name!r}: {', '.join(panel.TITLE.lower() for panel in PANELS)}", error=True)
            return
        panel = found.TITLE.lower()
        self.query_one(Lists).bring(panel)
        self.minimize()
        self.query_one(f"#{panel}").focus()

    # Everything else

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
        driver = self._driver()
        if driver is None or self.moment is None:
            return
        row = self.grid.cursor_row
        kind, subject = ("job", name) if name else row.subject if row is not None else ("", "")
        try:
            self.open_detail(explanation(self.moment.recording, job_at(self.moment.recording, kind, subject, self.moment.job)))
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
