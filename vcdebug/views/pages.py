"""Pages that commands open, by name: what a screen shows over the panels, and where its rows lead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from vcdebug.debugger.driver import DebuggerState
from vcdebug.framework.registry import resolve
from vcdebug.views.base import Row, Table


def _later(reference: str) -> Callable[..., Any]:  # Any: what a page shows of what, its own module says
    """`module:function` of this room, imported when somebody opens the page."""
    return lambda *asked: resolve(f"vcdebug.views.{reference}")(*asked)


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
    "edits": Page(_later("branches:edits")),
    "diff": Page(
        _later("branches:difference"),
        _later("branches:commands_of"),
        "Enter shows it in the branch   x in the original",
    ),
    "cycles": Page(_later("cycles:cycles"), lambda row: (row.key,), "Enter shows the cycle"),
    "changes": Page(_later("captures:capture_changes")),
    "overview": Page(
        lambda here: _later("overview:overview")(here.recording), lambda row: (row.key,), "Enter goes into it"
    ),
    "waiting": Page(_later("pending:waiting"), lambda row: (f"explain {row.key}",), "Enter explains it"),
}
