"""Jobs at the present moment."""

from __future__ import annotations

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import Panel
from vcdebug.views.base import Table
from vcdebug.views.jobs import jobs


class JobsPanel(Panel):
    """The job of the moment is marked."""

    TITLE = "Jobs"
    KEY = "5"
    HELP = "every job with ready, waiting and pending tasks at this moment"
    KEEPS_ROW = True

    def view(self, moment: Moment) -> Table:
        """All jobs."""
        return jobs(moment.recording, moment.seq, moment.job)
