"""Statement: the operations of the open statement and its fate."""

from __future__ import annotations

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import Panel
from vcdebug.views.base import Table
from vcdebug.views.statement import statement


class StatementPanel(Panel):
    """Done and still to come, committed or discarded, and which vote decided."""

    TITLE = "Statement"
    KEY = "4"
    HELP = "operations of the open statement, whether it is committed or discarded, and why"

    def view(self, moment: Moment) -> Table:
        """The statement around the event."""
        return statement(moment.recording, moment.seq)
