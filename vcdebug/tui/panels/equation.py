"""Equation: the arithmetic behind the answer."""

from __future__ import annotations

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import Panel
from vcdebug.views.base import Table
from vcdebug.views.equation import equation


class EquationPanel(Panel):
    """Every number from the session as it stood, per dimension, the deciding one marked."""

    TITLE = "Equation"
    KEY = "3"
    HELP = "the arithmetic of the present answer, per dimension, the deciding one marked"

    def view(self, moment: Moment) -> Table:
        """The equation of the event."""
        return equation(moment.recording, moment.seq)
