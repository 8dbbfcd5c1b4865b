"""The present event in full; before the first step what the whole cycle came to."""

from __future__ import annotations

from typing import Final

from vcdebug.debugger.driver import DebuggerState
from vcdebug.views.base import Table
from vcdebug.views.event_view import event_view
from vcdebug.views.overview import overview

START: Final = "start"
"""The reason of a first position, as the debugger says it."""


def panel(here: DebuggerState) -> Table:
    """Before the first step nothing has been decided yet: what the whole cycle came to is shown."""
    at_start = here.seq == 1 and here.reason == START
    return overview(here.recording) if at_start else event_view(here.recording, here.seq)
