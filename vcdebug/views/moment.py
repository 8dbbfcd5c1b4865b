"""The present event in full; before the first step what the whole cycle came to."""

from __future__ import annotations

from vcdebug.debugger.driver import DebuggerState
from vcdebug.views.base import Table
from vcdebug.views.overview import before_first_step, overview


def panel(here: DebuggerState) -> Table:
    """Before the first step nothing has been decided yet: what the whole cycle came to is shown."""
    if before_first_step(here):
        return overview(here.recording)
    from vcdebug.views.event_view import event_view

    return event_view(here.recording, here.seq)
