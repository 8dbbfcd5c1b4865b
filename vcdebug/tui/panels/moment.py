"""The panel of the moment: votes, victims, predicates, scores, order, operation, whatever happens now."""

from __future__ import annotations

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import Panel
from vcdebug.views.base import Table
from vcdebug.views.moment import moment as view_of


class MomentPanel(Panel):
    """Chooses its view by the kind of event."""

    TITLE = "Moment"
    KEY = "2"
    HELP = "the present event in full: votes by tier, victims, node by reason, node by plugin, before and after"

    def view(self, moment: Moment) -> Table:
        """The event's own view."""
        return view_of(moment.recording, moment.seq)
