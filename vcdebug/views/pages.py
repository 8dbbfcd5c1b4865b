"""Pages that commands open, by name: what a screen shows over the panels, and where its rows lead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from vcdebug.debugger.driver import DebuggerState
from vcdebug.views.base import Row, Table
from vcdebug.views.branches import commands_of, difference, edits
from vcdebug.views.captures import capture_changes
from vcdebug.views.cycles import cycles
from vcdebug.views.overview import overview
from vcdebug.views.waiting import waiting


def _nowhere(_: Row) -> tuple[str, ...]:
    return ()


class Page(NamedTuple):
    """A table with the commands of its rows."""

    view: Callable[[DebuggerState], Table]
    commands: Callable[[Row], tuple[str, ...]] = _nowhere
    """The command of Enter, and the one of x where there are two."""
    keys: str = ""
    """What Enter and x do, in words."""


PAGES: Final[Mapping[str, Page]] = {
    "edits": Page(edits),
    "diff": Page(difference, commands_of, "Enter shows it in the branch   x in the original"),
    "cycles": Page(cycles, lambda row: (row.key,), "Enter shows the cycle"),
    "changes": Page(capture_changes),
    "overview": Page(lambda here: overview(here.recording), lambda row: (row.key,), "Enter goes into it"),
    "waiting": Page(waiting, lambda row: (f"explain {row.key}",), "Enter explains it"),
}
