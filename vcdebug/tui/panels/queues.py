"""Queues at the present moment."""

from __future__ import annotations

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import Panel
from vcdebug.views.base import Table
from vcdebug.views.queues import queues


class QueuesPanel(Panel):
    """The queue of the moment is marked."""

    TITLE = "Queues"
    KEY = "7"
    HELP = "every queue with deserved, allocated, request and share at this moment"
    KEEPS_ROW = True

    def view(self, moment: Moment) -> Table:
        """All queues."""
        return queues(moment.recording, moment.seq, moment.queue)
