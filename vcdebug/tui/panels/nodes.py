"""Nodes at the present moment."""

from __future__ import annotations

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import Panel
from vcdebug.views.base import Table
from vcdebug.views.nodes import nodes


class NodesPanel(Panel):
    """The node of the moment is marked."""

    TITLE = "Nodes"
    KEY = "6"
    HELP = "every node with idle, releasing and pipelined amounts at this moment"
    KEEPS_ROW = True

    def view(self, moment: Moment) -> Table:
        """All nodes."""
        return nodes(moment.recording, moment.seq, moment.node)
