"""The main screen without a terminal, once its recording is there."""

import asyncio
from typing import Any

from textual.app import App

from vcdebug.tui.main.screen import MainScreen

SIZE = (200, 60)


async def main_screen(app: App[Any]) -> MainScreen:
    """The main screen, once the recording is there; who looks often whether it is takes time from what is measured."""
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
