"""The application: opens screens, delivers keys to them, and ends when its terminal is closed."""

import asyncio
import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Final

from msgspec.structs import replace
from textual import events, on
from textual.app import App
from textual.driver import Driver
from textual.filter import LineFilter

from vcdebug.files.recording_files import RecordingCache
from vcdebug.tui.config import DEFAULT_THEME, UserSettings, find_theme, read_settings, readable_variables, require_theme
from vcdebug.tui.key_names import key_names
from vcdebug.tui.keymap import KEYS_WHILE_LOADING, main_screen_keys
from vcdebug.tui.main.screen import MainScreen
from vcdebug.tui.messages import CycleReady
from vcdebug.tui.session_state import SessionStore, state_folder
from vcdebug.tui.terminal import PRINTABLE, TypeAhead
from vcdebug.tui.worker import NextScreen, Start

WAITING_KEYS_TEXT: Final = "keys act when the snapshot is loaded; Esc stops loading"


class VcdebugApp(App[int]):
    """Opens the main screen on a snapshot, or the chooser."""

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
        source_code: Callable[[str], Sequence[str]] | None = None,
    ) -> None:
        super().__init__()
        self.start = start
        self._source_code = source_code
        self._recording_cache = kept
        """The cache of recordings; None where it is off."""
        self.settings = settings if settings is not None else UserSettings()
        self.store = store if store is not None else SessionStore()
        self._chosen = ""
        """What was chosen or typed last in the chooser."""
        self._requested_start: Start | None = None
        """The start whose folder has several snapshots, while the user chooses one of them."""
        self._has_opened = False
        """Whether a snapshot was open before."""
        # Animated scrolling would delay the frame that answers a key.
        self.animation_level = "none"
        self._type_ahead = TypeAhead(self, self._deliver_key, self._must_key_wait)
        theme = self.settings.requested_theme or self.store.remembered_theme(self.settings.theme)
        self.theme = find_theme(theme) or require_theme(DEFAULT_THEME)
        self.set_keymap(self.settings.keys)

    def on_mount(self) -> None:
        # Tests and browsers have no terminal that could hang up.
        if not self.is_headless and os.isatty(0):
            watch = TerminalWatch(self.exit)
            watch.handle_signals()
            self.set_interval(TERMINAL_CHECK_SECONDS, watch.check_terminal)
        if self.start is None:
            self.open_chooser()
        else:
            self.open_snapshot(self.start)

    def on_resize(self) -> None:
        self.screen.refresh()  # the frame of the new size is lost if a key holds back frames

    def get_css_variables(self) -> dict[str, str]:
        """The theme's variables, with text colours adjusted for contrast."""
        self.theme_variables = readable_variables(self.current_theme, super().get_css_variables(), grey=self.no_color)
        return self.theme_variables

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's filters and ours, through which every widget's text passes."""
        return [*super().get_line_filters(), PRINTABLE]

    def get_driver_class(self) -> type[Driver]:
        """Our driver for terminals; browsers and tests keep theirs."""
        from textual.drivers.linux_driver import LinuxDriver

        from vcdebug.tui.terminal import TerminalDriver

        driver_class = super().get_driver_class()
        return TerminalDriver if driver_class is LinuxDriver else driver_class

    def open_chooser(self, failure: str = "", requested: Start | None = None, among: Sequence[Path] = ()) -> None:
        """Open the chooser: of all snapshots, after a failure to open one, or among those of the requested folder."""
        from vcdebug.tui.screens.chooser import ChooserScreen

        self._requested_start = requested
        recent, typed = self.store.recent_snapshots(), self._chosen if failure else ""
        self.push_screen(ChooserScreen(recent, failure, typed, among=among), self._open_chosen)

    def _open_chosen(self, name: str | None) -> None:
        self._chosen = name or ""
        if not name:
            self.exit(0)
        elif self._requested_start is not None:
            self.open_snapshot(self._requested_start.with_source(name))
        else:
            self.open_snapshot(Start.from_word(name))

    def open_snapshot(self, start: Start) -> None:
        """Open the main screen on a snapshot, the newest of several captures, or after a choice among several."""
        choices = start.snapshots_to_choose()
        captures: list[Path] = []
        if len(choices) > 1:
            from vcdebug.snapshot.saved_files import order_captures

            captures = order_captures(choices)
        if len(choices) > 1 and not captures:
            self.open_chooser(requested=start, among=choices)
            return
        if captures:
            start = start.newest_capture(captures)
        elif choices:
            start = start.with_source(str(choices[0]))
        start = replace(start, after=self._has_opened, kept=self._recording_cache, source_code=self._source_code)
        self.push_screen(MainScreen(start, self.settings, self.store), self._after_main_screen)

    def _after_main_screen(self, next_screen: NextScreen | None) -> None:
        """Open the snapshot that the main screen closed with, or the chooser."""
        self._has_opened = True
        if next_screen is not None and next_screen.snapshot:
            self.open_snapshot(replace(Start.from_word(next_screen.snapshot), lesson=next_screen.lesson))
        else:
            self.open_chooser(next_screen.failure if next_screen is not None else "")

    def action_palette(self) -> None:
        if isinstance(self.screen, MainScreen):
            from vcdebug.tui.palette import PaletteScreen

            self.push_screen(PaletteScreen(self.screen))

    def action_help_quit(self) -> None:
        """Show which key quits, instead of quitting: Ctrl+C might lose edits."""
        main = next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)
        if main is not None:
            main.show_message(f"{key_names(main_screen_keys('quit', self.settings.keys))} quits")

    async def on_event(self, event: events.Event) -> None:
        """Queue keys until the effects of the last one are done."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            self._type_ahead.add_key(event)
            if self._must_key_wait(event) and isinstance(self.screen, MainScreen):
                self.screen.show_message(WAITING_KEYS_TEXT)
        else:
            await super().on_event(event)

    def _must_key_wait(self, key: events.Key) -> bool:
        """Whether a key waits for the snapshot that is being loaded; keys that leave the screen act at once."""
        return isinstance(self.screen, MainScreen) and self.screen.is_loading and key.key not in self._keys_at_once

    @cached_property
    def _keys_at_once(self) -> frozenset[str]:
        by_name = (main_screen_keys(name, self.settings.keys) for name in (*KEYS_WHILE_LOADING, "back"))
        return frozenset(("ctrl+c", "ctrl+q", *chain.from_iterable(by_name)))

    @on(CycleReady)
    def deliver_waiting_keys(self) -> None:
        """Deliver the keys that were typed while the snapshot was being loaded; the screen has handled this message."""
        self._type_ahead.deliver_waiting()

    async def _deliver_key(self, key: events.Key) -> None:
        await super().on_event(key)


def run_tui(
    start: Start | None,
    settings: UserSettings | None = None,
    kept: RecordingCache | None = None,
    source_code: Callable[[str], Sequence[str]] | None = None,
) -> int:
    """Run the terminal debugger, by default with the settings of the user's file; returns its exit code."""
    settings = settings or read_settings()
    if not sys.stdin.isatty() and not os.environ.get("TEXTUAL_DRIVER"):  # a browser sends its keys there
        redirect_fds("/dev/tty", 0)  # standard input is something else, such as the snapshot
    app = VcdebugApp(start, settings, SessionStore(state_folder()), kept, source_code)
    # SIGINT is ignored until TerminalWatch handles it: asyncio's handler would cancel the drawing task.
    old_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return app.run(mouse=settings.mouse) or 0
    finally:
        signal.signal(signal.SIGINT, old_handler)


# Signals and lost terminals end the debugger like the key that quits: the session is saved.

TERMINAL_CHECK_SECONDS = 1.0
"""Interval between checks for a closed terminal."""
EXIT_TIMEOUT_SECONDS = 2.0
"""Seconds to end without a terminal, since drawing may wait for a thread that ended with the terminal."""
EXIT_SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
EXIT_INTERRUPTED = 130

INPUT_FLAGS, LOCAL_FLAGS = 0, 3
"""Indexes in the list that `tcgetattr` returns."""
RESTORING: Final = b"\x1b[?2004l\x1b[?7h\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l\x1b[0m"
"""Resets the terminal: paste, wrapping, mouse, keys, alternate screen, cursor, focus."""


class TerminalWatch:
    """Ends the debugger on signals and when the terminal is closed."""

    def __init__(self, leave: Callable[[int], object]) -> None:
        """`leave` takes the exit code and ends the application."""
        self._end_app = leave
        self._signalled_before = False
        self._end_timer: threading.Timer | None = None

    def handle_signals(self) -> None:
        """Handle signals in the running event loop."""
        loop = asyncio.get_running_loop()
        for number in EXIT_SIGNALS:
            loop.add_signal_handler(number, self._on_signal, number)

    def check_terminal(self) -> None:
        """End the program if its terminal was closed. A parent process such as make can hold the signal back; then no
        key ever arrives, and reading one never blocks.
        """
        if is_hung_up(0):
            self._leave_without_terminal()

    def _on_signal(self, number: signal.Signals) -> None:
        """End the debugger; a second signal ends it within EXIT_TIMEOUT_SECONDS.

        The handlers stay: the signal's default would end the process before the terminal is as it was.
        """
        is_second, self._signalled_before = self._signalled_before, True
        if number is signal.SIGHUP or is_hung_up(0):
            self._leave_without_terminal()
        elif is_second:  # leaving may wait for a thread: the second signal does not
            self._end_soon(EXIT_INTERRUPTED, restore_terminal)
        else:
            self._end_app(EXIT_INTERRUPTED if number is signal.SIGINT else 0)

    def _leave_without_terminal(self) -> None:
        if is_hung_up(0):
            redirect_fds(os.devnull, 0, 1, 2)  # writing to a lost terminal raises
        self._end_soon(0, lambda: None)
        self._end_app(0)

    def _end_soon(self, code: int, cleanup: Callable[[], object]) -> None:
        if self._end_timer is None:
            self._end_timer = threading.Timer(EXIT_TIMEOUT_SECONDS, _end, (code, cleanup))
            self._end_timer.daemon = True
            self._end_timer.start()


def _end(code: int, cleanup: Callable[[], object]) -> None:
    try:
        cleanup()
    finally:
        # Not sys.exit, which would end the thread of the timer alone.
        os._exit(code)


def restore_terminal() -> None:
    """Leave the alternate screen, show the cursor, and restore the terminal's line mode."""
    with suppress(OSError, termios.error):
        os.set_blocking(2, False)  # a terminal that accepts no more output must not block the process
        os.write(2, RESTORING)
        os.set_blocking(2, True)  # the shell has the same terminal
        settings = termios.tcgetattr(0)
        settings[LOCAL_FLAGS] |= termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG
        settings[INPUT_FLAGS] |= termios.ICRNL | termios.IXON
        termios.tcsetattr(0, termios.TCSANOW, settings)


def is_hung_up(descriptor: int) -> bool:
    """Whether the other end of a descriptor is closed."""
    # poll with no events asked for still reports POLLHUP, and never waits for input.
    poller = select.poll()
    poller.register(descriptor, 0)
    return bool(poller.poll(0))


def redirect_fds(path: str, *descriptors: int) -> None:
    """Replace the descriptors by the file."""
    file = os.open(path, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(file, descriptor)
    os.close(file)
