"""HyperNodes: the network topology."""

from __future__ import annotations

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import Panel
from vcdebug.views.base import Table
from vcdebug.views.hypernodes import hypernodes


class HyperNodesPanel(Panel):
    """The tree of HyperNodes, with tiers and nodes."""

    TITLE = "HyperNodes"
    KEY = "H"
    HELP = "the network topology as a tree: HyperNodes with their tiers and nodes"

    def view(self, moment: Moment) -> Table:
        """The whole tree."""
        return hypernodes(moment.recording, moment.node)
