"""The main screen without a terminal, once its recording is there."""

import asyncio
from typing import Any

from textual.app import App

from vcdebug.tui.main.screen import MainScreen

SIZE = (200, 60)


async def main_screen(app: App[Any]) -> MainScreen:
    """The main screen, once the recording is there."""
    while not (isinstance(app.screen, MainScreen) and app.screen.moment is not None):
        await asyncio.sleep(0.01)
    return app.screen
