"""Pages that commands open, by name: what a screen shows over the panels, and where its rows lead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from vcdebug.debugger.driver import DebuggerState
from vcdebug.framework.registry import resolve_reference
from vcdebug.views.base import Row, Table


def _lazy_view(reference: str) -> Callable[..., Any]:  # Any: what a page shows of what, its own module says
    """`module:function` of this room, imported when somebody opens the page."""
    return lambda *asked: resolve_reference(f"vcdebug.views.{reference}")(*asked)


def _no_commands(_: Row) -> tuple[str, ...]:
    return ()


class Page(NamedTuple):
    """A table with the commands of its rows."""

    view: Callable[[DebuggerState], Table]
    commands: Callable[[Row], tuple[str, ...]] = _no_commands
    """The command of Enter, and the one of x where there are two."""
    keys: str = ""
    """What Enter and x do, in words."""


PAGES: Final[Mapping[str, Page]] = {
    "edits": Page(_lazy_view("branches:edits_table")),
    "diff": Page(
        _lazy_view("branches:difference_table"),
        _lazy_view("branches:commands_of"),
        "Enter shows it in the branch   x in the original",
    ),
    "cycles": Page(_lazy_view("cycles:shown_cycles_table"), lambda row: (row.key,), "Enter shows the cycle"),
    "changes": Page(_lazy_view("cycles:capture_changes")),
    "overview": Page(
        lambda here: _lazy_view("overview:overview_table")(here.recording), lambda row: (row.key,), "Enter goes into it"
    ),
    "waiting": Page(_lazy_view("pending:pending_jobs_table"), lambda row: (f"explain {row.key}",), "Enter explains it"),
}
