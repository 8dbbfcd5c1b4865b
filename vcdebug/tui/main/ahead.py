"""What the first keys need beyond the first frame: imported while somebody reads that."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final

from vcdebug.debugger import commands

MODULES: Final = (
    "vcdebug.views.event_view",
    "vcdebug.views.equation",
    "vcdebug.explain.dry_run",
    "vcdebug.tui.completion",
    "vcdebug.tui.main.opening",
    "vcdebug.tui.main.asking",
    "vcdebug.tui.main.marks",
    "vcdebug.tui.main.copying",
    "vcdebug.tui.main.what_if",
    "vcdebug.tui.screens.help",
    "vcdebug.tui.screens.panel_list",
    "vcdebug.views.detail",
)
"""In the order in which they are likely to be wanted: a step, a command, a page."""


def import_ahead(wanted: Callable[[], bool]) -> None:
    """In a thread, a module at a time, while the screen is there; a key that needs one sooner has it sooner."""
    for name in MODULES:
        if not wanted():
            return
        import_module(name)
    commands.verbs()
