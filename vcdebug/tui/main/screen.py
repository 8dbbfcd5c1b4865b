"""The main screen: panels around the present event, a line below them, and a part for each thing that keys do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.reactive import reactive
from textual.screen import Screen

from vcdebug.debugger.driver import DebuggerState, Driver, DriverStep
from vcdebug.errors import VcdebugError
from vcdebug.tui import messages
from vcdebug.tui.clipboard import copy_text
from vcdebug.tui.config import THEMES, UserSettings, find_theme
from vcdebug.tui.key_names import key_names
from vcdebug.tui.keymap import MAIN_KEYS, main_screen_keys, show_footer_keys
from vcdebug.tui.main.background_work import BackgroundWork, PanelRerun, RecordingLoader, ScreenState
from vcdebug.tui.main.command_line import CommandLine, Movement
from vcdebug.tui.main.layout import NARROW_WIDTH, MainLayout
from vcdebug.tui.main.parts import PartContext, ScreenParts
from vcdebug.tui.main.session_keeper import SessionKeeper
from vcdebug.tui.panels import PANELS
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.session_state import SessionStore
from vcdebug.tui.widgets.bars import ALL_PANELS, ONE_LINE_WIDTH, Header, Tabs, Timeline
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import Prompt
from vcdebug.tui.widgets.status import FirstKeys, Status
from vcdebug.tui.worker import NextScreen, Start

Result = TypeVar("Result")
FIRST_FRAME_SECONDS = 0.05
"""Seconds with the first frame before anything else is made ready: scroll bars may take a second one."""
SAVE_SECONDS = 10.0
"""Seconds after which a new position is kept: a terminal may close without a word."""


class MainScreen(Screen[NextScreen]):
    """Puts the parts together: each is handed what it needs, and every key and message has one line here."""

    BINDINGS: ClassVar[list[BindingType]] = MAIN_KEYS
    HORIZONTAL_BREAKPOINTS = [
        (0, "-narrow"),
        (NARROW_WIDTH, "-wide"),
        (ONE_LINE_WIDTH, "-very-wide"),
    ]
    ALLOW_IN_MAXIMIZED_VIEW = "Header,FirstKeys,Timeline,Status,Prompt"

    moment: reactive[DebuggerState | None] = reactive(None, always_update=True, repaint=False)

    def __init__(self, start: Start, settings: UserSettings, store: SessionStore) -> None:
        super().__init__()
        self.start = start
        self.settings = settings
        self.store = store
        self._loading = RecordingLoader(start, self.post_message)
        self._status, self._prompt, self._header, self._tabs = Status(), Prompt(), Header(), Tabs()
        self._panels = MainLayout(id="body")
        self.current = ScreenState(self._draw_moment, self.say_line)
        self.movement = Movement(self.current, self._focused_grid)
        self.work = BackgroundWork(self._start_thread, self.post_message, self.say_line, self._show_progress)
        self.asking_again = PanelRerun(self._start_thread, self.post_message, self._show_progress)
        self.commands = CommandLine(
            self.current,
            self.work,
            self._prompt,
            self._status,
            focused=self._focused_grid,
            focus=self.set_focus,
            open_what=self._open_what,
        )
        self.keeper = SessionKeeper(
            store,
            start,
            settings.problems,
            show_panel=self.show_panel,
            panel=self._panels.get_panel,
            focused_grid=self._focused_grid,
        )
        self.parts = ScreenParts(
            PartContext(
                self.current,
                self.work,
                self.commands,
                self.lay_over,
                self._focused_grid,
                settings.clipboard,
                start.command_line_name(),
                go=self.movement.goto_event,
                copy=lambda text, how: copy_text(self.app, text, how),
                of_screen=self._screen_targets(),
            )
        )

    def _screen_targets(self) -> Mapping[str, Callable[[str], object]]:
        """What commands ask of this screen."""
        return {
            "help": lambda _: self.action_help(),
            "prove": lambda job: self.parts.question_commands.search_fixes(job),
            "ask": lambda words: self.parts.question_commands.ask_question(words),
            "explain": self.action_explain,
            "panel": self.show_panel,
            "theme": self.choose_theme,
            "log": self.show_log,
            "filter": lambda text: self.focused_grid.set_filter(text),
            "open": lambda snapshot: self.parts.what_if_commands.leave_recording(
                lambda: self.dismiss(NextScreen(snapshot))
            ),
            "quit": lambda _: self.action_quit(),
        }

    def compose(self) -> ComposeResult:
        """The panels between two lines about where one stands, and the line to type in below."""
        yield self._header.data_bind(MainScreen.moment)
        yield self._tabs
        yield self._panels.data_bind(MainScreen.moment)
        yield Timeline().data_bind(MainScreen.moment)
        yield FirstKeys()
        yield self._status
        yield self._prompt

    def on_mount(self) -> None:
        """Start the replay; keys answer meanwhile."""
        fitting = [name for least, name in self.HORIZONTAL_BREAKPOINTS if self.app.size.width >= least]
        self.add_class(fitting[-1])  # Textual says so only once everything has been drawn
        self.bindings_updated_signal.subscribe(self, self._show_keys)
        self._prompt.add_history(self.store.typed_lines())
        self.set_interval(SAVE_SECONDS, self.keeper.save_session)
        if self.start.follow:
            self.set_interval(self.start.follow, self._capture_again)
        self.keeper.panels = self._panels.open_panels
        self._tabs.tabs = tuple(self._panels.panel_tabs())
        self._tabs.all_key = key_names(main_screen_keys("panels", self.settings.keys)[:1])
        self.query_one(FirstKeys).display = self.store.is_first_time()
        self._header.name_shown = self.start.name
        self.set_focus(self._panels.first_panel)
        self.run_worker(self._load_and_replay, thread=True, exclusive=True)

    def on_unmount(self) -> None:
        """What was set and typed is there the next time; whatever still loads for this screen ends."""
        self._loading.stop_loading()
        self.keeper.save_session()
        self.store.save_history({str(mode): lines for mode, lines in self._prompt.history.items()})

    def on_key(self) -> None:
        """Any key removes the hint that is shown at the first start."""
        self.query_one(FirstKeys).display = False

    # The recording

    def _load_and_replay(self) -> None:
        """In a thread: load and replay."""
        self.keeper.identify_snapshot()
        self._loading.load_recording()

    def _capture_again(self) -> None:
        """The live cluster once more, if nothing else is being done."""
        if self.current.driver is not None and not self.work.about:
            self.run_command("recapture")

    def _start_thread(self, work: Callable[[], None]) -> None:
        self.run_worker(work, thread=True)

    def _show_progress(self, text: str) -> None:
        self._header.progress = text

    @on(messages.Progress)
    def show_loading_progress(self, event: messages.Progress) -> None:
        if self.current.driver is None or self.work.about or self.asking_again.running_text:
            self._show_progress(event.text)

    @on(messages.CycleReady)
    def cycle_ready(self, event: messages.CycleReady) -> None:
        """Stand at the first event, or where the command line said."""
        self._show_progress("")
        driver = self.current.driver = Driver(event.recording)
        driver.captures = self.start.captures
        try:
            moment, said = self.keeper.begin_session(driver)
            self.current.show_moment(moment)
            self.say_line(said)
        except VcdebugError as error:
            self.current.show_moment(driver.current_state())
            self.say_line(error.format_line(), error=True)
        self.call_after_refresh(self.set_timer, FIRST_FRAME_SECONDS, self._loading.on_drawn)

    @on(messages.CycleFailed)
    def cycle_failed(self, event: messages.CycleFailed) -> None:
        """What cannot be opened leads to the chooser, with the reason."""
        self._to_chooser(event.line)

    def _to_chooser(self, line: str) -> None:
        while self.app.screen is not self:
            self.app.pop_screen()
        self.dismiss(NextScreen(failure=line))

    @on(messages.WorkDone)
    def work_done(self, event: messages.WorkDone) -> None:
        if self.work.is_awaited(event):
            self.commands.work_ended(self.work.finish_work(event))

    @on(messages.PanelRerunNeeded)
    def panel_waits(self, event: messages.PanelRerunNeeded) -> None:
        self.asking_again.request_panel(event)

    @on(messages.PanelDrawn)
    def panel_drawn(self, event: messages.PanelDrawn) -> None:
        if self.asking_again.finish_panel(event):
            self._panels.get_panel(event.asked.panel).accept_table(event.asked.moment, event.table)

    def _stop_asking_again(self) -> bool:
        """Esc; whether anybody waited."""
        given_up = self.asking_again.stop_all()
        for asked in given_up:
            self._panels.get_panel(asked.panel).give_up()
        return bool(given_up)

    # What is seen

    @property
    def focused_grid(self) -> Grid:
        """The table that has the focus, else the flow."""
        return self.focused if isinstance(self.focused, Grid) else self._panels.get_panel("flow")

    def _focused_grid(self) -> Grid:
        return self.focused_grid

    def get_panel(self, name: str) -> Panel:
        """The panel of a name, whether or not it is seen."""
        return self._panels.get_panel(name)

    def _draw_moment(self, moment: DebuggerState) -> None:
        self.asking_again.drop_outdated(moment)
        self.moment = moment
        self._show_keys()
        self.keeper.save_if_changed()

    def _show_keys(self, _: object = None) -> None:
        if isinstance(self.focused, Panel):
            self.keeper.panel_focused(self.focused)
            self._tabs.active = self.focused.shows.command_name
        show_footer_keys(self._status, self.active_bindings, self.focused, replayed=self.moment is not None)

    def say_line(self, text: str, *, error: bool = False) -> None:
        """A line in place of the keys, until the next one."""
        self._status.show_message(text, error=error)

    def lay_over(self, screen: Screen[Result], then: Callable[[Result | None], None]) -> None:
        """Put a screen over this one."""
        self.app.push_screen(screen, then)

    def show_panel(self, name: str) -> None:
        """Bring a panel to the front and give it the focus; without a name the list of all."""
        if not name:
            self.action_panels()
            return
        panel = self._panels.bring_panel(name)
        if panel is None:
            self.say_line(f"no panel {name!r}: {', '.join(panel.command_name for panel in PANELS)}", error=True)
            return
        self.minimize()
        self.set_focus(panel)
        if panel.given_up:
            panel.draw_moment()

    def show_log(self, level: str) -> None:
        """The log, at another level if one is named."""
        self.show_panel("log")
        if level:
            from vcdebug.tui.panels.log import LogPanel

            log = self._panels.get_panel("log").extra
            assert isinstance(log, LogPanel)
            log.set_level(int(level))

    def choose_theme(self, word: str) -> None:
        """Another look, at once."""
        name = find_theme(word)
        if name is None:
            self.say_line(f"no theme {word!r}: {', '.join(THEMES)}", error=True)
        else:
            self.app.theme = name

    # Commands

    def run_command(self, text: str) -> None:
        """Run a command line and show what it came to."""
        self.commands.run_command(text)

    def type_command(self, text: str) -> None:
        """Open the command line with the beginning of a command."""
        self.commands.open_prompt("command", text)

    def _open_what(self, name: str, argument: str) -> None:
        self.parts.command_targets.open_target(name, argument)

    @on(Prompt.Edited)
    def prompt_edited(self, event: Prompt.Edited) -> None:
        self.commands.prompt_edited(event)

    @on(Prompt.Closed)
    def prompt_closed(self, event: Prompt.Closed) -> None:
        self.commands.prompt_closed(event)

    @on(Prompt.Entered)
    def prompt_entered(self, event: Prompt.Entered) -> None:
        self.commands.prompt_entered(event)

    @on(messages.CommandRequested)
    def command_asked(self, event: messages.CommandRequested) -> None:
        """Run the command that a panel asks for."""
        if not event.to_edit:
            self.run_command(event.text)
        elif self.current.ready_driver() is not None:
            self.type_command(event.text)

    @on(messages.GotoRequested)
    def goto_asked(self, event: messages.GotoRequested) -> None:
        self.movement.goto_event(event.seq)

    @on(Tabs.Chosen)
    def tab_chosen(self, event: Tabs.Chosen) -> None:
        """A tab was clicked."""
        if event.panel == ALL_PANELS:
            self.action_panels()
        else:
            self.show_panel(event.panel)

    @on(Grid.Opened)
    def cell_opened(self, event: Grid.Opened) -> None:
        self.parts.page_opener.open_cell(event)

    # Keys that move

    def action_step(self, verb: DriverStep, back: bool = False) -> None:
        self.movement.make_step(verb, back=back)

    def action_down(self) -> None:
        self.movement.step_down()

    def action_last_position(self) -> None:
        self.movement.goto_last_position()

    def action_run_to_cursor(self) -> None:
        self.movement.goto_row()

    def action_about(self, back: bool) -> None:
        self.movement.goto_next_about(back=back)

    # Keys to type something

    def action_command(self) -> None:
        self.commands.open_prompt("command")

    def action_goto(self) -> None:
        self.commands.open_prompt("goto")

    def action_filter(self) -> None:
        self.commands.open_prompt("filter")

    def action_palette(self) -> None:
        from textual.command import CommandPalette

        from vcdebug.tui.completion import PaletteProvider

        self.app.push_screen(CommandPalette(providers=[PaletteProvider], placeholder="command, panel, job or theme"))

    # Keys about what the cursor is on

    def action_breakpoint(self) -> None:
        self.parts.mark_commands.open_breakpoint_dialog()

    def action_last_change(self) -> None:
        self.parts.mark_commands.goto_last_change()

    def action_watch(self) -> None:
        self.parts.mark_commands.watch_figure()

    def action_break_on_figure(self) -> None:
        self.parts.mark_commands.break_on_figure()

    def action_bookmark(self) -> None:
        self.parts.mark_commands.set_bookmark()

    def action_what_if(self) -> None:
        self.parts.what_if_commands.suggest_edit()

    def action_edit(self, verb: str) -> None:
        self.run_command(verb)

    # Keys to read something

    def action_panel(self, key: str) -> None:
        """The panel with this key."""
        self.show_panel(next(panel.command_name for panel in PANELS if key == panel.key))

    def action_panels(self) -> None:
        """Every panel with its key, by group."""
        from vcdebug.tui.screens.pages import PANEL_PAGE, PageScreen, panel_table

        self.lay_over(
            PageScreen(panel_table(self.settings.keys), PANEL_PAGE), lambda command: self.run_command(command or "")
        )

    def action_help(self) -> None:
        from vcdebug.tui.screens.pages import help_table

        self.parts.page_opener.open_table(help_table(self.settings.keys, self.keeper.lines))

    def action_explain(self, name: str = "") -> None:
        """Why a job waits: the one named, the one under the cursor, the present one; without any, all that wait."""
        row = self.focused_grid.cursor_row
        if not self.parts.page_opener.open_explanation(name, row.subject if row is not None else ("", "")):
            self.parts.command_targets.open_waiting_jobs()

    def action_ask(self) -> None:
        self.parts.question_commands.ask_question()

    def action_prove(self) -> None:
        self.parts.question_commands.search_fixes()

    def action_copy(self) -> None:
        self.parts.copy_commands.open_menu()

    def action_copy_panel(self) -> None:
        self.parts.copy_commands.copy_panel()

    def action_zoom(self) -> None:
        """The focused panel alone, or all of them again."""
        if self.maximized is None:
            self.maximize(self.focused_grid, container=False)
        else:
            self.minimize()

    # Keys that lead back, and away

    def action_back(self) -> None:
        """One step back: loading, work, message, zoom, filter, order."""
        if self.current.driver is None:
            self._to_chooser(f"{self.start.name}: loading was stopped")
        elif not self.commands.stop_work() and not self._stop_asking_again():
            self._step_back(self.focused_grid)

    def _step_back(self, grid: Grid) -> None:
        if self._status.message:
            self.say_line("")
        elif self.maximized is not None:
            self.minimize()
        elif grid.filter_text:
            grid.set_filter("")
        elif grid.shown.order is not None:
            grid.set_order(None)

    def action_open(self) -> None:
        self.parts.what_if_commands.leave_recording(lambda: self.dismiss(NextScreen()))

    def action_quit(self) -> None:
        self.parts.what_if_commands.leave_recording(lambda: self.app.exit(0))
