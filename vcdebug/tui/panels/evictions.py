"""Evictions: who was evicted for whom, also where it was taken back."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import GO, Panel
from vcdebug.views.base import Table
from vcdebug.views.evictions import evictions_table


class EvictionsPanel(Panel):
    """Every eviction that was planned, with what became of its statement."""

    TITLE = "Evictions"
    KEY = "E"
    HELP = "who was evicted for whom, by which action and tier, and whether it was committed"
    BINDINGS: ClassVar[list[BindingType]] = [GO]

    def view(self, moment: Moment) -> Table:
        """All evictions of the cycle."""
        return evictions_table(moment.recording, moment.seq)
