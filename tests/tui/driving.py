"""Drives the application in tests: opens it on a fixture, presses keys, and waits for conditions, not for time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from time import monotonic, process_time
from typing import Any
from unittest.mock import patch

from textual.app import App
from textual.pilot import Pilot
from textual.strip import Strip

from tests.tui.drawing import skip_frame_assembly
from tests.tui.settling import SLICE, settled
from tests.tui.starting import quick_start
from vcdebug.debugger.driver import DebuggerState
from vcdebug.snapshot.sources import find_bundled
from vcdebug.tui.app import VcdebugApp
from vcdebug.tui.config import UserSettings
from vcdebug.tui.main.layout import MainLayout
from vcdebug.tui.main.screen import MainScreen
from vcdebug.tui.messages import CommandRequested
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.screens.chooser import ChooserScreen
from vcdebug.tui.session_state import SessionStore
from vcdebug.tui.widgets.bars import Status
from vcdebug.tui.widgets.prompt import Prompt
from vcdebug.tui.worker import Start
from vcdebug.views.table import format_table

NARROW, WIDE = (80, 24), (120, 40)
NEVER = 86400.0
"""Seconds between Textual's timed frames, in effect never: `settled` draws due frames once the loop is idle."""
PATIENCE = 30.0
"""Seconds of processor time after which a wait for a condition fails the test."""
LONGEST_WAIT = 90.0
"""Wall-clock seconds after which the test fails in any case: an idle application uses almost no processor time."""


class Desk:
    """The application under test, with the parts that tests read."""

    def __init__(self, pilot: Pilot[int]) -> None:
        self.pilot = pilot

    @property
    def app(self) -> VcdebugApp:
        app = self.pilot.app
        assert isinstance(app, VcdebugApp)
        return app

    @property
    def main(self) -> MainScreen:
        return next(screen for screen in self.app.screen_stack if isinstance(screen, MainScreen))

    @property
    def moment(self) -> DebuggerState:
        assert self.main.moment is not None
        return self.main.moment

    @property
    def seq(self) -> int:
        """The current event number, as the header shows it: 0 is the overview."""
        return self.moment.number

    def panel(self, name: str) -> Panel:
        return self.main.get_panel(name)

    @property
    def is_zoomed(self) -> bool:
        """Whether a panel is shown alone."""
        return bool(self.main.query_one(MainLayout).zoomed)

    def text(self, name: str) -> str:
        """The complete text of a panel, including rows out of sight."""
        return format_table(self.panel(name).table)

    def strips(self) -> list[Strip]:
        """The lines on the terminal with their styles."""
        return self.app.screen._compositor.render_strips()

    def screen(self) -> str:
        """Every character on the terminal."""
        width, height = self.app.size
        lines = self.strips()
        assert height == len(lines)
        text = ["".join(segment.text for segment in line) for line in lines]
        assert all(len(line) <= width + 8 for line in text)
        return "\n".join(text)

    def status(self) -> str:
        return self.main.query_one(Status).message

    async def press(self, *keys: str) -> None:
        await self.app._press_keys(keys)
        await self.pause()

    async def pause(self) -> None:
        """Let the application come to rest."""
        await settled(self.app)

    async def type(self, text: str) -> None:
        """Type a line and enter it."""
        await self.press(*(NAMES.get(letter, letter) for letter in text), "enter")

    async def command(self, *texts: str) -> None:
        """Send commands as a panel or a page does; `type` types one on the command line."""
        for text in texts:
            self.main.post_message(CommandRequested(text))
        await self.pause()

    async def until_failed(self) -> None:
        await self.until(lambda: bool(self.failure()), "the chooser is there with a failure")

    def failure(self) -> str:
        """The chooser's message about a snapshot that could not be opened."""
        screen = self.app.screen
        return screen.failure if isinstance(screen, ChooserScreen) else ""

    async def close_everything(self) -> None:
        """Close pages, prompt and messages, and focus the flow panel."""
        while not isinstance(self.app.screen, MainScreen):
            self.app.pop_screen()
            await self.pause()
        prompt = self.main.query_one(Prompt)
        if prompt.is_open:
            prompt.action_cancel()
        self.main.query_one(MainLayout).zoom_panel("")
        self.main.show_message("")
        self.panel("flow").focus()
        await self.pause()

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Run the application until the condition holds; fail the test after PATIENCE."""
        deadline, end = process_time() + PATIENCE, monotonic() + LONGEST_WAIT
        while not condition():
            if process_time() > deadline or monotonic() > end:
                raise AssertionError(f"waited in vain until {what}; on the screen:\n{self.screen()}")
            await asyncio.sleep(SLICE)
            await self.pause()

    async def until_at_rest(self) -> None:
        """Wait until no long work is running."""
        await self.until(
            lambda: not self.main.work.work_description and not self.main.panel_rerun.running_text, "the work is done"
        )

    async def work(self, text: str) -> None:
        """Send a command that runs cycles, and wait for its end."""
        await self.command(text)
        await self.until_at_rest()
        await self.pause()

    async def until_ready(self) -> None:
        await self.until(lambda: bool(self.failure()) or self.main.moment is not None, "the recording is there")
        assert "" == self.failure()
        await self.pause()


NAMES = {
    " ": "space",
    "/": "slash",
    ":": "colon",
    "-": "minus",
    "=": "equals_sign",
    '"': "quotation_mark",
    ".": "full_stop",
    ",": "comma",
    "!": "exclamation_mark",
    ">": "greater_than_sign",
    "+": "plus",
    "|": "vertical_line",
    "_": "underscore",
    "(": "left_parenthesis",
    ")": "right_parenthesis",
    "[": "left_square_bracket",
}


@contextmanager
def waits_until_settled(app: App[Any]) -> Iterator[None]:
    """Patch Textual's waits in tests: they end as soon as the application has nothing left to do."""
    at_rest = partial(settled, app)
    with (
        patch("textual.app.wait_for_idle", at_rest),
        patch("textual.pilot.wait_for_idle", at_rest),
        patch("textual.screen.UPDATE_PERIOD", NEVER),
    ):
        yield


@asynccontextmanager
async def opened(
    name: str | None = "preempt-blocked-by-gang",
    size: tuple[int, int] = WIDE,
    *,
    wait: bool = True,
    settings: UserSettings | None = None,
    store: SessionStore | None = None,
    replayed_once: bool = False,
    **start: object,
) -> AsyncIterator[Desk]:
    """Open the application on a bundled snapshot or a path, and wait for the recording.

    With `replayed_once` a bundled snapshot's recording is that of earlier tests, with the answers found in it.
    """
    begin = None
    if name is not None:
        folder = find_bundled(name)
        begin = Start(str(folder or name), name, **start)  # type: ignore[arg-type]
    app = VcdebugApp(begin, settings, store)
    with (
        waits_until_settled(app),
        skip_frame_assembly(),
        quick_start(replayed_once=replayed_once),
    ):
        async with app.run_test(size=size) as pilot:
            desk = Desk(pilot)
            if begin is not None and wait:
                await desk.until_ready()
            yield desk


opened_again = partial(opened, replayed_once=True)
"""Opens a bundled snapshot for a test that neither looks at running work nor at memory."""
