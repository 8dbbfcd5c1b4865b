"""A panel: a view of the moment, drawn as a grid in a frame."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import ClassVar, Final
from weakref import ref

from rich.cells import cell_len
from textual import events, on
from textual.binding import Binding
from textual.reactive import reactive

from vcdebug.trace.recording import Recording
from vcdebug.tui.keynames import key_name
from vcdebug.tui.messages import Goto
from vcdebug.tui.moment import Moment
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.base import Piece, Table, line, muted

FRAME = 8
"""Cells of a frame's top that its title cannot have."""
GO: Final = Binding("enter", "go", "go to this event", id="panel.go")
"""For panels whose rows are about events."""


class Panel(Grid):
    """One reactive comes down, messages go up; a panel keeps only its cursor, filter and scroll position."""

    TITLE: ClassVar[str]
    KEY: ClassVar[str]
    """The key that moves the focus here, unless the settings name another one."""
    HELP: ClassVar[str]
    """One sentence for the help screen."""
    FOOTER: ClassVar[tuple[tuple[str, str], ...]] = ()
    """The ids of its own keys that the last line names first, each with a word."""
    KEEPS_ROW: ClassVar[bool] = False
    """Whether the cursor stays on its row when another recording is shown, whatever that one's moment is about."""
    DEFAULT_CSS = """
    Panel { border: round $foreground 35%; border-title-color: $foreground; border-subtitle-color: $foreground 70%; }
    Panel:focus { border: heavy $accent; border-title-style: bold; border-title-color: $accent; }
    """

    moment: reactive[Moment | None] = reactive(None)
    _drawn: ref[Recording] | None = None

    def view(self, moment: Moment) -> Table:
        """What to draw."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Without a recording there is only the frame."""
        self.border_title = self.title_text(self.TITLE)

    def watch_moment(self) -> None:
        """Draw the new moment, if anybody can see it."""
        if self.display:
            self.draw()

    def draw(self) -> None:
        """Draw the moment."""
        if self.moment is None:
            self.set_table(Table(self.TITLE, foot=(line(muted("no recording yet")),)))
            return
        table = self.view(self.moment)
        other = self._drawn is not None and self._drawn() is not self.moment.recording
        self._drawn = ref(self.moment.recording)
        self.border_title = self.title_text(table.title)
        self.set_table(self._with_long_title(table), follow=not (other and self.KEEPS_ROW))
        self.show_filter()

    def _with_long_title(self, table: Table) -> Table:
        """A title that the frame has no room for leaves its first word out, or becomes the first line."""
        room = self.outer_size.width - FRAME
        if not self.size.width or cell_len(table.title) <= room:
            return table
        rest = table.title.removeprefix(self.TITLE).strip()
        if cell_len(rest) <= room:
            self.border_title = self.title_text(rest)
            return table
        self.border_title = self.title_text(self.TITLE)
        return replace(table, head=(line(Piece(rest, "strong")), *table.head))

    def title_text(self, title: str) -> str:
        """The frame's title, with the key that leads here."""
        return f"{self.key} {title}".replace("[", "\\[")

    @cached_property
    def key(self) -> str:
        """The key in force: KEY unless somebody has chosen another one."""
        mine = f"panel-{self.TITLE.lower()}"
        return next(
            (key_name(key) for key, one in self.screen.active_bindings.items() if one.binding.id == mine), self.KEY
        )

    def show_filter(self) -> None:
        """The frame says what is not seen: rows that the filter hides, columns beyond the edge."""
        parts = []
        if self.filter_text:
            more = "…" if self.writing else f"  {self.filter_note}" if self.filter_note else ""
            parts.append(f"/{self.filter_text}  {len(self.shown_rows)} of {len(self.table.rows)}{more}")
        if self.hidden_columns:
            parts.append(f"{self.hidden_columns} more →")
        self.border_subtitle = "  ".join(parts).replace("[", "\\[")

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        """Other columns come into sight."""
        super().watch_scroll_x(old_value, new_value)
        self.show_filter()

    def on_resize(self, event: events.Resize) -> None:
        """As the grid does; more or fewer columns fit."""
        super().on_resize(event)
        self.show_filter()

    def set_filter(self, text: str) -> int:
        """As the grid does, and say so in the frame."""
        shown = super().set_filter(text)
        self.show_filter()
        return shown

    @on(Grid.Filtered)
    def filtered(self) -> None:
        """More rows have been looked at."""
        self.show_filter()

    def action_go(self) -> None:
        """Stand at the row's event."""
        if self.cursor_row is not None:
            self.post_message(Goto(self.cursor_row.seq))
