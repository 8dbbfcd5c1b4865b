"""The panel of the present event's arithmetic: beside the overview it leaves the room to that."""

from __future__ import annotations

from vcdebug.debugger.driver import DebuggerState
from vcdebug.views.base import Table, line, muted
from vcdebug.views.overview import before_first_step


def panel(here: DebuggerState) -> Table:
    """Before the first step there is none, and nothing that works it out."""
    if before_first_step(here):
        return Table("Equation", foot=(line(muted("no arithmetic before the first step: s")),))
    from vcdebug.views.equation import equation

    return equation(here.recording, here.seq)
