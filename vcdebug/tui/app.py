"""The application: which screen is open, and how it looks."""

from __future__ import annotations

import os
import sys
from io import BytesIO
from pathlib import Path

from textual.app import App

from vcdebug.framework.webhook import AskExtender
from vcdebug.model.names import Seq
from vcdebug.tui.screens.chooser import ChooserScreen
from vcdebug.tui.screens.main import MainScreen
from vcdebug.tui.start import Start

STDIN = "-"


class VcdebugApp(App[int]):
    """Opens the main screen on a snapshot, or the chooser without one."""

    TITLE = "vcdebug"
    CSS_PATH = "vcdebug.tcss"
    ENABLE_COMMAND_PALETTE = False
    ESCAPE_TO_MINIMIZE = False

    def __init__(self, start: Start | None) -> None:
        super().__init__()
        self.start = start
        self.animation_level = "none"

    def on_mount(self) -> None:
        """The first screen."""
        if self.start is None:
            self.choose()
        else:
            self.show(self.start)

    def choose(self) -> None:
        """Ask which snapshot."""
        self.push_screen(ChooserScreen(), self._chosen)

    def _chosen(self, name: str | None) -> None:
        if name:
            self.show(Start(name, Path(name).name))
        else:
            self.exit(0)

    def show(self, start: Start) -> None:
        """Open the main screen on a snapshot."""
        self.push_screen(MainScreen(start), self._left)

    def _left(self, name: str | None) -> None:
        """The main screen asks for another snapshot, or for the chooser."""
        if name:
            self.show(Start(name, Path(name).name))
        else:
            self.choose()


def run_tui(
    source: str | None,
    *,
    goto: Seq | None = None,
    breaks: list[str] | None = None,
    job: str | None = None,
    ask_extender: AskExtender | None = None,
    complete: bool | None = None,
) -> int:
    """Run the terminal debugger until somebody leaves it."""
    start = None
    if source is not None:
        piped = source == STDIN
        origin = BytesIO(sys.stdin.buffer.read()) if piped else source
        name = "standard input" if piped else Path(source).name
        start = Start(origin, name, goto, tuple(breaks or ()), job, ask_extender, complete)
    if not sys.stdin.isatty():
        _keys_from_terminal()
    return VcdebugApp(start).run() or 0


def _keys_from_terminal() -> None:
    """Standard input is something else, such as the snapshot; keys come from the terminal itself."""
    terminal = os.open("/dev/tty", os.O_RDWR)
    os.dup2(terminal, 0)
    os.close(terminal)
