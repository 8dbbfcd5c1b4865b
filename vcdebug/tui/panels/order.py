"""Order: which queue, job, task and victim goes before which, and what decided."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import GO, Panel
from vcdebug.views.base import Table
from vcdebug.views.order import orders


class OrderPanel(Panel):
    """The priority queues around the event as they were left, each row with the comparison that decided."""

    TITLE = "Order"
    KEY = "O"
    HELP = "queues, jobs, tasks and victims in the order of their turn, and which plugin's comparison decided"
    BINDINGS: ClassVar[list[BindingType]] = [GO]

    def view(self, moment: Moment) -> Table:
        """All queues of elements around the event."""
        return orders(moment.recording, moment.seq)
