"""Conf: the configuration in force."""

from __future__ import annotations

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import Panel
from vcdebug.views.base import Table
from vcdebug.views.conf import conf


class ConfPanel(Panel):
    """Actions, tiers and switches, with what is misspelt or unknown."""

    TITLE = "Conf"
    KEY = "p"
    HELP = "the configuration in force: actions, plugins by tier, switches, flags, chance; what is misspelt or unknown"

    def view(self, moment: Moment) -> Table:
        """The whole configuration."""
        return conf(moment.recording)
