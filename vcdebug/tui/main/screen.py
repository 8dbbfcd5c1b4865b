"""The main screen: the panels around the current event, the command line below them, and what each key does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Self, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Region
from textual.reactive import Reactive, reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from vcdebug.debugger.cursor import OVERVIEW
from vcdebug.debugger.driver import DebuggerState, Driver, DriverStep
from vcdebug.errors import VcdebugError
from vcdebug.model.names import Seq
from vcdebug.tui import messages
from vcdebug.tui.clipboard import copy_text
from vcdebug.tui.config import UserSettings, require_theme
from vcdebug.tui.key_names import key_names
from vcdebug.tui.keymap import MAIN_KEYS, main_screen_keys, show_footer_keys
from vcdebug.tui.main.background_work import BackgroundWork, PanelRerun, RecordingLoader, ScreenState
from vcdebug.tui.main.command_line import CommandLine, ScreenTools
from vcdebug.tui.main.layout import MIDDLE_PANELS, MainLayout
from vcdebug.tui.main.session_keeper import SessionKeeper
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.session_state import SessionStore
from vcdebug.tui.widgets.bars import FirstKeys, Footer, Header, Status, Timeline
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import Prompt
from vcdebug.tui.worker import NextScreen, Start
from vcdebug.views.panels import PANELS

if TYPE_CHECKING:
    from vcdebug.tui.main.pages import ScreenParts

Result = TypeVar("Result")
FIRST_FRAME_SECONDS = 0.05
"""Delay after the first frame before other modules load: scroll bars may need a second frame."""
SAVE_SECONDS = 10.0
"""Interval between two saves of the session: a terminal may close without a signal."""


class MainScreen(Screen[NextScreen]):
    """The main screen: makes its parts, connects them, and passes keys and messages on to them."""

    BINDINGS: ClassVar[list[BindingType]] = MAIN_KEYS
    AUTO_FOCUS = ""

    moment: reactive[DebuggerState | None] = reactive(None, always_update=True, repaint=False)
    # The two widgets that lose and get the focus are drawn again; Textual would draw all of the screen.
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(self, start: Start, settings: UserSettings, store: SessionStore) -> None:
        super().__init__()
        self.start = start
        self.settings = settings
        self.store = store
        self._loading = RecordingLoader(start, self.post_message)
        self._status, self._prompt, self._header = Status(), Prompt(), Header()
        self._panels = MainLayout(id="body")
        self.current = ScreenState(self._draw_moment, self.show_message)

        def focused() -> Grid:
            return self.focused_grid

        def start_thread(work: Callable[[], None]) -> None:
            self.run_worker(work, thread=True)

        self.work = BackgroundWork(start_thread, self.post_message, self.show_message, self._show_progress)
        self.panel_rerun = PanelRerun(start_thread, self.post_message, self._show_progress)
        self.commands = CommandLine(
            self.current,
            self.work,
            self._prompt,
            self._status,
            focused=focused,
            focus=self.set_focus,
            open_what=lambda name, argument: self.parts.targets[name](argument),
        )
        self.session_keeper = SessionKeeper(
            store,
            start,
            settings.problems,
            show_panel=self.show_panel,
            panel=self._panels.get_panel,
            focused_grid=focused,
        )
        self._tools = ScreenTools(
            self.current,
            self.work,
            self.commands,
            self.lay_over,
            focused,
            settings.clipboard,
            start.command_line_name(),
            go_to_event=self.goto_event,
            copy=lambda text, clipboard: copy_text(self.app, text, clipboard),
            store=store,
            open_next=lambda target: self.parts.what_if_commands.leave_recording(lambda: self.dismiss(target)),
        )

    @cached_property
    def parts(self) -> ScreenParts:
        """What keys and commands use beyond moving: many modules, of which the first frame needs none."""
        from vcdebug.tui.main.pages import ScreenParts

        return ScreenParts(self._tools, self._screen_targets())

    def _screen_targets(self) -> Mapping[str, Callable[[str], object]]:
        """The callbacks of the commands that act on this screen, by the command's name; each takes its argument."""
        return {
            "help": lambda _: self.action_help(),
            "explain": self.action_explain,
            "panel": self.show_panel,
            "theme": self.choose_theme,
            "log": self.show_log,
            "filter": lambda text: self.focused_grid.set_filter(text),
            "open": lambda snapshot: self.parts.what_if_commands.leave_recording(
                lambda: self.dismiss(NextScreen(snapshot))
            ),
            "quit": lambda _: KEY_ACTIONS["quit"](self),
        }

    def compose(self) -> ComposeResult:
        """The header, the panels with their tabs, and below them the timeline, the footer and the command line."""
        timeline, footer = Timeline().data_bind(MainScreen.moment), Footer(self._status, self._prompt)
        for widget in (self._panels, timeline, footer):
            # Textual also renders the frames that a delay does not send.
            widget.display = False
            self._panels.frame_delay.callback(setattr, widget, "display", True)
        yield self._header.data_bind(MainScreen.moment)
        yield self._panels.data_bind(MainScreen.moment)
        yield timeline
        yield FirstKeys()
        yield footer

    def on_mount(self) -> None:
        # The keys of the footer depend on the focus, which Textual reports by this signal alone.
        self.bindings_updated_signal.subscribe(self, self._show_keys)
        self._prompt.add_history(self.store.typed_lines())
        self.set_interval(SAVE_SECONDS, self.session_keeper.save_session)
        if self.start.follow:
            self.set_interval(self.start.follow, self._capture_again)
        self.session_keeper.panels = self._panels.panels
        self._panels.tabs.all_key = key_names(main_screen_keys("panels", self.settings.keys)[:1])
        self.query_one(FirstKeys).display = not self.start.lesson and self.store.claim_first_time()
        self._header.name_shown = self.start.name
        self.set_focus(self._panels.get_panel(MIDDLE_PANELS[0]))
        self.run_worker(self._load_and_replay, thread=True, exclusive=True)

    def on_unmount(self) -> None:
        """Stop loading; save the session and the typed lines."""
        self._loading.stop_loading()
        self.session_keeper.save_session()
        self.store.save_history({str(mode): lines for mode, lines in self._prompt.history.items()})

    def on_key(self) -> None:
        self.query_one(FirstKeys).display = False

    def _load_and_replay(self) -> None:
        # The session must be known first, because the recording may be ready at once.
        self.session_keeper.identify_snapshot()
        self._loading.load_recording()

    def _capture_again(self) -> None:
        if self.current.driver is not None and not self.work.work_description:
            self.run_command("recapture")

    def _show_progress(self, text: str) -> None:
        self._header.progress = self._name_jobs(text)

    @on(messages.Progress)
    def show_loading_progress(self, event: messages.Progress) -> None:
        if self.current.driver is None or self.work.work_description or self.panel_rerun.running_text:
            self._show_progress(event.text)

    @on(messages.CycleReady)
    def cycle_ready(self, event: messages.CycleReady) -> None:
        """Show the first event, or the position that the command line or the saved session names."""
        self._show_progress("")
        driver = self.current.driver = Driver(event.recording, first=OVERVIEW)
        driver.captures, driver.source = self.start.captures, self.start.source_code
        try:
            moment, message = self.session_keeper.begin_session(driver)
            self.current.show_moment(moment)
            self.show_message(message)
        except VcdebugError as error:
            self.current.show_moment(driver.current_state())
            self.show_message(error.format_line(), error=True)
        if self.start.lesson:
            self.run_command(f"lesson {self.start.lesson}")
        # Indexes and the cache are built after the frame: they hold the interpreter lock.
        self.call_after_refresh(self.set_timer, FIRST_FRAME_SECONDS, self._prepare_keys)

    def _prepare_keys(self) -> None:
        """Make what the first keys need, once the first frame is drawn."""
        for name in MIDDLE_PANELS:
            self._panels.get_panel(name)
        self._loading.on_drawn()

    @on(messages.CycleFailed)
    def cycle_failed(self, event: messages.CycleFailed) -> None:
        """Close this screen for the chooser, which shows the reason."""
        self._to_chooser(event.line)

    def _to_chooser(self, line: str) -> None:
        # Pages over this screen would show a closed recording.
        while self.app.screen is not self:
            self.app.pop_screen()
        self.dismiss(NextScreen(failure=line))

    @on(messages.WorkDone)
    def work_done(self, event: messages.WorkDone) -> None:
        if self.work.is_awaited(event):
            self.commands.work_ended(self.work.finish_work(event))

    @on(messages.PanelRerunNeeded)
    def panel_waits(self, event: messages.PanelRerunNeeded) -> None:
        self.panel_rerun.request_panel(event)

    @on(messages.PanelDrawn)
    def panel_drawn(self, event: messages.PanelDrawn) -> None:
        if self.panel_rerun.finish_panel(event):
            self._panels.get_panel(event.rerun.panel).accept_table(event.rerun.state, event.table)

    def _stop_panel_reruns(self) -> bool:
        """Cancel all reruns of the cycle for panels; returns whether there were any."""
        given_up = self.panel_rerun.stop_all()
        for rerun in given_up:
            self._panels.get_panel(rerun.panel).give_up()
        return bool(given_up)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Draw the screen again; the removal of a page, for which Textual asks for a layout, moves nothing."""
        return super().refresh(*regions, repaint=repaint, layout=layout and self.is_loading, recompose=recompose)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines behind the widgets, which cover them."""
        return [Strip.blank(crop.width, self.rich_style)] * crop.height

    @property
    def focused_grid(self) -> Grid:
        """The table that has the focus, else the flow."""
        return self.focused if isinstance(self.focused, Grid) else self._panels.get_panel("flow")

    @property
    def is_loading(self) -> bool:
        """Whether the recording is still to come."""
        return self.current.driver is None

    def get_panel(self, name: str) -> Panel:
        return self._panels.get_panel(name)

    def _draw_moment(self, moment: DebuggerState) -> None:
        self.panel_rerun.drop_outdated(moment)
        self.moment = moment
        self._show_keys()
        self.session_keeper.save_if_changed()

    def _show_keys(self, _: object = None) -> None:
        if isinstance(self.focused, Panel):
            self.session_keeper.panel_focused(self.focused)
        show_footer_keys(self._status, self.active_bindings, self.focused, replayed=self.moment is not None)

    def show_message(self, text: str, *, error: bool = False) -> None:
        self._status.show_message(self._name_jobs(text), error=error)

    def _name_jobs(self, text: str) -> str:
        return text if self.moment is None else self.moment.recording.job_names.in_text(text)

    def lay_over(self, screen: Screen[Result], then: Callable[[Result | None], None]) -> None:
        """Show a screen over this one; `then` takes its result, unless that is a command typed there."""

        def follow(result: Result | None) -> None:
            if isinstance(result, messages.TypedCommand):
                self.run_command(result.text)
            else:
                then(result)

        self.app.push_screen(screen, follow)

    def show_panel(self, name: str) -> None:
        """Bring a panel to the front and give it the focus; without a name the list of all."""
        if not name:
            self.action_panels()
            return
        panel = self._panels.bring_panel(name)
        if panel is None:
            self.show_message(f"no panel {name!r}: {', '.join(panel.command_name for panel in PANELS)}", error=True)
            return
        self._panels.zoom_panel("")
        self.set_focus(panel)
        # Showing a panel again restarts the rerun that Esc has stopped.
        if panel.given_up:
            panel.draw_moment()

    def show_log(self, level: str) -> None:
        """Show the log panel, at this level of klog unless it is empty."""
        self.show_panel("log")
        if level:
            from vcdebug.tui.panels.log import LogPanel

            log = self._panels.get_panel("log").extra
            assert isinstance(log, LogPanel)
            log.set_level(int(level))

    def choose_theme(self, word: str) -> None:
        """Change the theme and remember it; raises ConfigError for a word that names none."""
        self.app.theme = require_theme(word)
        self.store.save_theme(self.app.theme, self.settings.theme)

    def run_command(self, text: str) -> None:
        self.commands.run_command(text)

    def type_command(self, text: str) -> None:
        """Open the command line with the beginning of a command."""
        self.commands.open_prompt("command", text)

    @on(Prompt.Edited)
    @on(Prompt.Closed)
    @on(Prompt.Entered)
    def prompt_used(self, event: Prompt.Edited | Prompt.Closed | Prompt.Entered) -> None:
        self.commands.prompt_used(event)

    @on(messages.CommandRequested)
    def command_asked(self, event: messages.CommandRequested) -> None:
        if not event.to_edit:
            self.run_command(event.text)
        elif self.current.ready_driver() is not None:
            self.type_command(event.text)

    @on(messages.GotoRequested)
    def goto_asked(self, event: messages.GotoRequested) -> None:
        self.goto_event(event.seq)

    def goto_event(self, seq: Seq) -> None:
        """Go to an event; 0 does nothing."""
        if seq:
            self.current.move_to(lambda driver: driver.goto_event(seq))

    def goto_row(self) -> None:
        """Go to the event of the row under the cursor."""
        row = self.focused_grid.cursor_row
        if row is not None and row.seq:
            self.goto_event(row.seq)
        else:
            self.show_message("this row has no event")

    @on(Grid.Opened)
    def cell_opened(self, event: Grid.Opened) -> None:
        self.parts.page_opener.open_cell(event)

    def action_run(self, name: str) -> None:
        """Run an entry of `KEY_ACTIONS`."""
        KEY_ACTIONS[name](self)

    def action_step(self, verb: DriverStep, back: bool = False) -> None:
        self.current.move_to(lambda driver: driver.take_step(verb, back=back))

    def action_about(self, back: bool) -> None:
        self.parts.mark_commands.goto_about(back=back)

    def action_edit(self, verb: str) -> None:
        self.run_command(verb)

    def action_panel(self, key: str) -> None:
        self.show_panel(next(panel.command_name for panel in PANELS if key == panel.key))

    def action_show(self, name: str) -> None:
        self.show_panel(name)

    def action_panels(self) -> None:
        """Show the list of all panels with their keys, by group."""
        from vcdebug.tui.screens.pages import PANEL_PAGE, panel_table

        self.parts.page_opener.open_commands(panel_table(self.settings.keys), PANEL_PAGE)

    def action_help(self) -> None:
        from vcdebug.tui.screens.pages import help_table

        focused = self.focused.shows.title if isinstance(self.focused, Panel) else ""
        self.parts.page_opener.open_table(help_table(self.settings.keys, self.session_keeper.lines, focused))

    def action_explain(self, name: str = "") -> None:
        """Why a job is Pending: the named one, the one under the cursor, or the current one; else all Pending jobs."""
        row = self.focused_grid.cursor_row
        if not self.parts.page_opener.open_explanation(name, row.subject if row is not None else ("", "")):
            self.parts.open_waiting_jobs(opens_only_job=True)

    def action_zoom(self) -> None:
        self._panels.zoom_panel("" if self._panels.zoomed else self.focused_grid.id or "")

    def action_back(self) -> None:
        """One step back: loading, work, message, zoom, filter, order."""
        if self.is_loading:
            self._to_chooser(f"{self.start.name}: loading was stopped")
        elif not self.commands.stop_work() and not self._stop_panel_reruns():
            self._step_back(self.focused_grid)

    def _step_back(self, grid: Grid) -> None:
        if self._status.message:
            self.show_message("")
        elif self._panels.zoomed:
            self._panels.zoom_panel("")
        elif grid.filter_text:
            grid.set_filter("")
        elif grid.shown.order is not None:
            grid.set_order(None)


KEY_ACTIONS: Final[Mapping[str, Callable[[MainScreen], object]]] = {
    "down": lambda main: main.current.move_to(Driver.step_down),
    "last_position": lambda main: main.current.move_to(Driver.last_position),
    "run_to_cursor": MainScreen.goto_row,
    "command": lambda main: main.commands.open_prompt("command"),
    "goto": lambda main: main.commands.open_prompt("goto"),
    "filter": lambda main: main.commands.open_prompt("filter"),
    "breakpoint": lambda main: main.parts.mark_commands.open_breakpoint_dialog(),
    "last_change": lambda main: main.parts.mark_commands.goto_last_change(),
    "why": lambda main: main.parts.mark_commands.explain_origin(),
    "watch": lambda main: main.parts.mark_commands.watch_figure(),
    "break_on_figure": lambda main: main.parts.mark_commands.break_on_figure(),
    "bookmark": lambda main: main.parts.mark_commands.set_bookmark(),
    "what_if": lambda main: main.parts.what_if_commands.suggest_edit(),
    "ask": lambda main: main.parts.question_commands.ask_question(),
    "prove": lambda main: main.parts.question_commands.search_fixes(),
    "copy": lambda main: main.parts.copy_commands.open_menu(),
    "copy_panel": lambda main: main.parts.copy_commands.copy_panel(),
    "open": lambda main: main.parts.what_if_commands.leave_recording(lambda: main.dismiss(NextScreen())),
    "quit": lambda main: main.parts.what_if_commands.leave_recording(lambda: main.app.exit(0)),
}
"""NAME of the keymap's bindings `run('NAME')` → the function that runs."""
