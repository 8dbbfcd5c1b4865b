"""Flow: the cycle as a tree that opens where one stands."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from vcdebug.tui.moment import Moment
from vcdebug.tui.panels.base import GO, Panel
from vcdebug.views.base import Table
from vcdebug.views.flow import around, flow


class FlowPanel(Panel):
    """Spans with their outcome; rows exist only for what is open."""

    TITLE = "Flow"
    KEY = "1"
    HELP = "actions, queues, jobs, tasks and nodes in order, with what came of each"
    FOOTER = (("panel.go", "go there"), ("flow.toggle", "open"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "open(True)", "open the span", id="flow.open"),
        Binding("left,h", "open(False)", "close the span, or up to the one around it", id="flow.close"),
        Binding("space", "open", "open or close the span", id="flow.toggle"),
        GO,
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._opened: dict[int, None] = {}
        self._seq = 0

    def view(self, moment: Moment) -> Table:
        """Open the way to the present event."""
        if moment.seq != self._seq:
            self._seq = moment.seq
            self._opened.update(dict.fromkeys(around(moment.recording, moment.seq)))
        return flow(moment.recording, self._opened, moment.seq)

    def action_open(self, want: bool | None = None) -> None:
        """Open or close the span under the cursor; closing a leaf goes to its parent."""
        row, moment = self.cursor_row, self.moment
        if row is None or moment is None:
            return
        kind, _, number = row.key.partition(" ")
        index = int(number)
        is_open = kind == "span" and index in self._opened
        if kind == "span" and want is not False and not is_open:
            self._opened[index] = None
        elif is_open and want is not True:
            del self._opened[index]
        elif want is False:
            self._to_parent(moment, row.seq, kind == "span")
            return
        self._redraw(moment)

    def _to_parent(self, moment: Moment, seq: int, is_span: bool) -> None:
        path = moment.recording.tree.path(seq)
        row = self.cursor_row
        above = [f"span {span.index}" for span in path if row is None or f"span {span.index}" != row.key]
        if above:
            self.cursor = max(
                (i for i, shown in enumerate(self.shown_rows) if shown.key in above and i < self.cursor),
                default=self.cursor,
            )
            self.show_cursor()

    def _redraw(self, moment: Moment) -> None:
        self.set_table(flow(moment.recording, self._opened, moment.seq), follow=False)
