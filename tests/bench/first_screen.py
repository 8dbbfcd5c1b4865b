"""Opens the main screen headless and waits for its recording."""

import asyncio
from typing import Any

from textual.app import App

from vcdebug.tui.main.screen import MainScreen

SIZE = (200, 60)


async def main_screen(app: App[Any]) -> MainScreen:
    """Wait for the main screen with its recording; uses a watcher, since polling would distort the measured time."""
    while not isinstance(app.screen, MainScreen):
        await asyncio.sleep(0.01)
    there = asyncio.Event()

    def look() -> None:
        if screen.moment is not None:
            there.set()

    screen = app.screen
    screen.watch(screen, "moment", look)
    await there.wait()
    return screen
