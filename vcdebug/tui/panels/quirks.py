"""Quirks of upstream that acted, each with its event."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import GO, Panel
from vcdebug.views.base import Table
from vcdebug.views.quirks import quirks


class QuirksPanel(Panel):
    """Where the real scheduler does what nobody would expect."""

    TITLE = "Quirks"
    KEY = "Q"
    HELP = "odd things that the real scheduler did in this cycle, where, and what they can change"
    BINDINGS: ClassVar[list[BindingType]] = [GO]

    def view(self, moment: Moment) -> Table:
        """One row per note."""
        return quirks(moment.recording, moment.seq)
