"""Funnel: the search for victims node by node, and the filter that leaves nobody."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import GO, Panel
from vcdebug.views.base import Table
from vcdebug.views.funnel import funnel


class FunnelPanel(Panel):
    """One row per node that was tried, and those that never were."""

    TITLE = "Funnel"
    KEY = "V"
    HELP = "the search for victims: how many tasks each filter leaves on each node, and which leaves nobody"
    BINDINGS: ClassVar[list[BindingType]] = [GO]

    def view(self, moment: Moment) -> Table:
        """The task that looks for victims, else every search of the action."""
        return funnel(moment.recording, moment.seq)
