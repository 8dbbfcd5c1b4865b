"""The timeline: the whole recording in one line, with what happened and where one stands."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from rich.text import Text
from textual import events
from textual.reactive import reactive
from textual.widget import Widget

from vcdebug.debugger.driver import BreakpointStatus, DebuggerState
from vcdebug.debugger.notebook import Bookmark
from vcdebug.model.names import Seq
from vcdebug.recording.effects import timeline_marks
from vcdebug.recording.recording import Recording
from vcdebug.tui.messages import GotoRequested

LINE, ACTION, EVICT, COMMIT, DISCARD, BREAK, BOOKMARK, HERE = "━", "┿", "▲", "○", "◆", "◉", "▼", "●"
LEGEND = f" {HERE} here {COMMIT} commit {DISCARD} discard {EVICT} evict {BREAK} break {BOOKMARK} mark {ACTION} action"
LEGEND_WIDTH = 100
_MARK_STYLES = {
    EVICT: "yellow",
    COMMIT: "green",
    DISCARD: "red",
    BREAK: "bold magenta",
    BOOKMARK: "bold cyan",
    HERE: "bold reverse",
    ACTION: "",
}


class Timeline(Widget):
    """A click goes to the event there."""

    DEFAULT_CSS = "Timeline { height: 1; padding: 0 1; color: $text; }"

    moment: reactive[DebuggerState | None] = reactive(None)

    def __init__(self) -> None:
        super().__init__()
        self._cells: list[str] = []
        self._drawn_for: tuple[Recording, tuple[BreakpointStatus, ...], tuple[Bookmark, ...], int] | None = None

    @property
    def bar_width(self) -> int:
        """Cells of the bar itself."""
        return self.size.width - (len(LEGEND) + 1 if self.size.width >= LEGEND_WIDTH else 0)

    def cell_of(self, seq: Seq) -> int:
        """The cell in which an event lies."""
        total = len(self.moment.recording) if self.moment is not None else 1
        return min((seq - 1) * self.bar_width // max(total, 1), self.bar_width - 1)

    def render(self) -> Text:
        """Later marks lie over earlier ones: where one stands is always seen."""
        width = self.bar_width
        if self.moment is None or width <= 0:
            return Text(LINE * max(width, 0))
        cells = [*self._marked_cells(self.moment, width)]
        cells[self.cell_of(self.moment.seq)] = HERE
        text = Text(no_wrap=True)
        for cell, run in groupby(cells):
            text.append("".join(run), _MARK_STYLES.get(cell, "dim"))
        if width < self.size.width:
            text.append(" " + LEGEND, "dim")
        return text

    def _marked_cells(self, moment: DebuggerState, width: int) -> list[str]:
        """Everything but the position: drawn again only where something else has changed."""
        drawn_for = (moment.recording, moment.breakpoints, moment.bookmarks, width)
        if drawn_for == self._drawn_for:
            return self._cells
        self._cells = [LINE] * width
        found = timeline_marks(moment.recording)
        stops = [seq for stand in moment.breakpoints if stand.enabled for seq in stand.hits]
        layers: list[tuple[str, Iterable[Seq]]] = [
            (ACTION, found.actions),
            (EVICT, found.evictions),
            (COMMIT, found.commits),
            (DISCARD, found.discards),
            (BREAK, stops),
            (BOOKMARK, (mark.seq for mark in moment.bookmarks if mark.seq <= len(moment.recording))),
        ]
        for mark, seqs in layers:
            for seq in seqs:
                self._cells[self.cell_of(seq)] = mark
        self._drawn_for = drawn_for
        return self._cells

    def on_click(self, event: events.Click) -> None:
        """Go to the first event of the cell."""
        offset = event.get_content_offset(self)
        if self.moment is None or offset is None or offset.x >= self.bar_width:
            return
        total = len(self.moment.recording)
        self.post_message(GotoRequested(min(-(-offset.x * total // self.bar_width) + 1, total)))
