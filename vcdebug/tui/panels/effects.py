"""Effects: what the cycle writes to the API server."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import GO, Panel
from vcdebug.views.base import Table
from vcdebug.views.effects import effects


class EffectsPanel(Panel):
    """Every write with the event that causes it; later ones step back."""

    TITLE = "Effects"
    KEY = "0"
    HELP = "what the cycle writes to the API server: binds, evictions, conditions, statuses, events"
    BINDINGS: ClassVar[list[BindingType]] = [GO]

    def view(self, moment: Moment) -> Table:
        """All writes of the cycle."""
        return effects(moment.recording, moment.seq)
