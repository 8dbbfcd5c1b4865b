"""The application: which screen is open, how it looks, and which keys mean what."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from textual import events
from textual.app import App
from textual.driver import Driver
from textual.filter import LineFilter

from vcdebug.debugger.captures import CaptureSeries
from vcdebug.files.kept import RecordingCache
from vcdebug.framework.webhook import AskExtender
from vcdebug.model.names import Seq
from vcdebug.snapshot.archive import MAX_BYTES
from vcdebug.snapshot.file_access import read_stdin
from vcdebug.snapshot.history import order_captures
from vcdebug.tui.config import UserSettings, read_settings
from vcdebug.tui.folders import state_folder
from vcdebug.tui.keymap import main_screen_keys
from vcdebug.tui.keynames import key_names
from vcdebug.tui.leaving import TERMINAL_CHECK_SECONDS, TerminalWatch, redirect_fds
from vcdebug.tui.line_filter import PRINTABLE
from vcdebug.tui.main.screen import MainScreen
from vcdebug.tui.session_state import SessionStore
from vcdebug.tui.start import STDIN, NextScreen, Start
from vcdebug.tui.themes import THEMES
from vcdebug.tui.typeahead import TypeAhead
from vcdebug.tui.worker import DEFAULT_LIMITS, RecordingLimits


class VcdebugApp(App[int]):
    """Opens the main screen on a snapshot, or the chooser without one."""

    TITLE = "vcdebug"
    CSS_PATH = "vcdebug.tcss"
    ENABLE_COMMAND_PALETTE = False
    ESCAPE_TO_MINIMIZE = False

    def __init__(
        self,
        start: Start | None,
        settings: UserSettings | None = None,
        store: SessionStore | None = None,
        kept: RecordingCache | None = None,
    ) -> None:
        super().__init__()
        self.start = start
        self._kept = kept
        """Where recordings are kept for the next time, if they are."""
        self.settings = settings if settings is not None else UserSettings()
        self.store = store if store is not None else SessionStore()
        self._asked: Start | None = None
        """What was wanted from a folder of snapshots."""
        self._after = False
        """Whether some snapshot has been left."""
        self.animation_level = "none"
        self._type_ahead = TypeAhead(self, self._deliver_key)
        for theme in THEMES.values():
            self.register_theme(theme)
        self.theme = self.settings.theme
        self.set_keymap(self.settings.keys)

    def on_mount(self) -> None:
        """The first screen."""
        if not self.is_headless and os.isatty(0):
            leaving = TerminalWatch(self.exit)
            leaving.handle_signals()
            self.set_interval(TERMINAL_CHECK_SECONDS, leaving.check_terminal)
        if self.start is None:
            self.open_chooser()
        else:
            self.open_snapshot(self.start)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """No widget has to remember that text from outside may write to the terminal."""
        return [*super().get_line_filters(), PRINTABLE]

    def get_driver_class(self) -> type[Driver]:
        """A terminal's driver is ours; a browser and a test have their own."""
        from textual.drivers.linux_driver import LinuxDriver

        from vcdebug.tui.terminal_driver import TerminalDriver

        found = super().get_driver_class()
        return TerminalDriver if found is LinuxDriver else found

    def open_chooser(self, failure: str = "") -> None:
        """Ask which snapshot; a failure says why the one before could not be opened."""
        self._push_chooser(self._open_chosen, failure=failure)

    def _push_chooser(
        self, then: Callable[[str | None], None], *, failure: str = "", among: Sequence[Path] = ()
    ) -> None:
        from vcdebug.tui.screens.chooser import ChooserScreen

        self.push_screen(ChooserScreen(self.store.recent_snapshots(), failure, among=among), then)

    def _open_chosen(self, name: str | None) -> None:
        if name:
            self.open_snapshot(Start(name, Path(name).name))
        else:
            self.exit(0)

    def open_snapshot(self, start: Start) -> None:
        """Open the main screen on a snapshot; where a folder holds several, ask which."""
        among = start.snapshots_to_choose()
        captures = order_captures(among) if len(among) > 1 else []
        if captures:
            self.push_screen(self._new_main_screen(start.newest_capture(captures)), self._after_main_screen)
        elif len(among) > 1:
            self._asked = start
            self._push_chooser(self._open_chosen_among, among=among)
        else:
            self.push_screen(
                self._new_main_screen(start.with_source(str(among[0])) if among else start), self._after_main_screen
            )

    def _open_chosen_among(self, name: str | None) -> None:
        if name and self._asked is not None:
            self.open_snapshot(self._asked.with_source(name))
        else:
            self.exit(0)

    def _new_main_screen(self, start: Start) -> MainScreen:
        return MainScreen(replace(start, after=self._after, kept=self._kept), self.settings, self.store)

    def _after_main_screen(self, wanted: NextScreen | None) -> None:
        """The main screen asks for another snapshot, or for the chooser."""
        self._after = True
        if wanted is not None and wanted.snapshot:
            self.open_snapshot(Start(wanted.snapshot, Path(wanted.snapshot).name))
        else:
            self.open_chooser(wanted.failure if wanted is not None else "")

    def action_help_quit(self) -> None:
        """Ctrl+C leaves nothing behind unasked: it says which key leaves."""
        main = next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)
        if main is not None:
            main.say_line(f"{key_names(main_screen_keys('quit', self.settings.keys))} quits")

    async def on_event(self, event: events.Event) -> None:
        """A key waits until the one before it has been done."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            self._type_ahead.add_key(event)
        else:
            await super().on_event(event)

    async def _deliver_key(self, key: events.Key) -> None:
        await super().on_event(key)


def run_tui(
    source: str | None,
    *,
    goto: Seq | None = None,
    breaks: list[str] | None = None,
    job: str | None = None,
    panel: str | None = None,
    filter: str | None = None,
    fresh: bool = False,
    config: str | None = None,
    theme: str | None = None,
    mouse: bool | None = None,
    ask_extender: AskExtender | None = None,
    complete: bool | None = None,
    release: str | None = None,
    captures: CaptureSeries | None = None,
    follow: float = 0.0,
    limits: RecordingLimits = DEFAULT_LIMITS,
    kept: RecordingCache | None = None,
) -> int:
    """Run the terminal debugger until somebody leaves it; answers with the exit code."""
    settings = read_settings(None if config is None else Path(config)).with_flags(theme=theme, mouse=mouse)
    start = None
    if source is not None:
        piped = source == STDIN
        origin = BytesIO(read_stdin(MAX_BYTES)) if piped else source
        name = "standard input" if piped else Path(source).name
        start = Start(
            origin,
            name,
            goto,
            tuple(breaks or ()),
            job,
            ask_extender,
            complete,
            filter=filter or "",
            panel=panel or "",
            fresh=fresh,
            limits=limits,
            release=release,
            captures=captures,
            follow=follow,
        )
    if not sys.stdin.isatty() and not os.environ.get("TEXTUAL_DRIVER"):  # a browser sends its keys there
        _read_keys_from_terminal()
    app = VcdebugApp(start, settings, SessionStore(state_folder()), kept)
    before = signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # until `Leaving` listens: asyncio's own would cut drawing off
    try:
        return app.run(mouse=settings.mouse) or 0
    finally:
        signal.signal(signal.SIGINT, before)


def _read_keys_from_terminal() -> None:
    """Standard input is something else, such as the snapshot; keys come from the terminal itself."""
    redirect_fds("/dev/tty", 0)
