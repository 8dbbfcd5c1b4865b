"""A panel: one view of the present event, drawn as a grid in a frame, with keys of its own where it needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, Final
from weakref import ref

from rich.cells import cell_len
from textual import events, on
from textual.binding import Binding
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen

from vcdebug.debugger.driver import DebuggerState
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import RerunCancelledError, refuse_long_runs
from vcdebug.tui.key_names import key_name
from vcdebug.tui.messages import CommandRequested, GotoRequested, PanelRerunNeeded
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.table_layout import natural_width
from vcdebug.views.panels import PanelView
from vcdebug.views.table import Column, Piece, Row, Table, make_line, muted_piece

FRAME_SIDES = 2
"""Cells, and lines, of a frame's sides."""
FRAME_TITLE_MARGIN = 10
"""Cells of a frame's top that its title cannot have."""
GO_BINDING: Final = Binding("enter", "go", "go to this event", id="panel.go")
"""For panels whose rows are about events."""


class Panel(Grid):
    """One reactive comes down, messages go up; a panel keeps only its cursor, filter and scroll position."""

    DEFAULT_CSS = """
    Panel { border: round $foreground 35%; border-title-color: $foreground; border-subtitle-color: $foreground 70%; }
    Panel:focus { border: heavy $accent; border-title-style: bold; border-title-color: $accent; }
    """

    moment: reactive[DebuggerState | None] = reactive(None, repaint=False)

    class Grown(Message):
        """What was still being written is whole: it may want another place."""

    _drawn: ref[Recording] | None = None
    _drawn_width = 0
    _framed: str | None = None
    """The title in the frame."""
    _natural: tuple[Sequence[Row], tuple[Column, ...], int] | None = None
    """How wide some rows want to be."""
    _said = ""
    """What the lower side of the frame says."""
    _headed: str | None = None
    """What the upper side says."""
    _known: tuple[DebuggerState, Table] | None = None
    """A moment whose table took a run of the cycle."""
    given_up = False
    """Whether somebody did not want to wait for that run."""

    def __init__(self, shows: PanelView, extra: type[PanelExtra] | None = None) -> None:
        super().__init__(id=shows.command_name)
        self.shows = shows
        self.extra = extra(self) if extra is not None else None

    def build_table(self, moment: DebuggerState) -> Table:
        """What to draw."""
        return self.extra.build_table(moment) if self.extra is not None else self.shows.build_table(moment)

    def on_mount(self) -> None:
        """Without a recording there is only the frame."""
        self.set_frame_title(self.shows.title)

    def watch_moment(self) -> None:
        """Draw the new moment, if anybody can see it; rows of another recording are let go, since they may hold it."""
        if self.display:
            self.draw_moment()
        elif self.moment is not None and self._is_another(self.moment.recording) and not self.shows.keeps_row:
            self._drawn = self._natural = None
            self.drop_rows()

    def _is_another(self, recording: Recording) -> bool:
        return self._drawn is not None and self._drawn() is not recording

    def draw_moment(self) -> None:
        """Draw the moment."""
        if self.moment is None:
            self.set_table(Table(self.shows.title, foot=(make_line(muted_piece("no recording yet")),)))
            return
        table = self._table_or_notice(self.moment)
        other = self._is_another(self.moment.recording)
        self._drawn, self._drawn_width = ref(self.moment.recording), self.outer_size.width
        title, self.titled = self._title_for(table.title)
        self.set_frame_title(title)
        head = make_line(Piece(self._title_rest(table.title), "strong"))
        table = replace(table, head=(head, *table.head)) if self.titled else table
        self.set_table(table, follow=not (other and self.shows.keeps_row))
        self.show_filter()

    def _table_or_notice(self, moment: DebuggerState) -> Table:
        """The moment's table; until the cycle has run again, where that takes long, a word about it."""
        if self._known is not None and self._known[0] is moment:
            return self._known[1]
        self._known, self.given_up = None, False
        try:
            with refuse_long_runs():
                return self.build_table(moment)
        except RerunCancelledError as missing:
            self.post_message(
                PanelRerunNeeded(self.shows.command_name, moment, missing.seq, partial(self.build_table, moment))
            )
            words = f"the cycle runs again up to event {missing.seq}, to ask the plugins once more; Esc stops"
            return self._notice_table(words)

    def _notice_table(self, words: str) -> Table:
        return Table(self.shows.title, foot=(make_line(muted_piece(words)),))

    def accept_table(self, moment: DebuggerState, table: Table) -> None:
        """The run has ended that a moment's table took."""
        self._known = (moment, table)
        if self.moment is moment:
            self.draw_moment()

    def give_up(self) -> None:
        """Nobody waits for that run any more."""
        self.given_up = True
        self.set_table(self._notice_table(f"not asked again: {self.key_in_force} runs the cycle again up to here"))

    def _title_for(self, title: str) -> tuple[str, bool]:
        """What the frame has room for: the title, or it without its first word, or that word alone.

        In the last case the rest becomes the first line.
        """
        room = self.outer_size.width - FRAME_TITLE_MARGIN
        if not self.outer_size.width or cell_len(title) <= room:
            return title, False
        rest = self._title_rest(title)
        return (rest, False) if cell_len(rest) <= room else (self.shows.title, True)

    def _title_rest(self, title: str) -> str:
        return title.removeprefix(self.shows.title).strip()

    def set_frame_title(self, title: str) -> None:
        """Write a title into the frame; one that stands there already is not drawn again."""
        if title != self._framed:
            self._framed = title
            self._head_frame()

    def wanted_lines(self, width: int, *, framed: bool) -> int:
        """Lines for all of the content in a place of so many cells, the frame included."""
        inside = width - (FRAME_SIDES if framed else 0) - self.styles.scrollbar_size_vertical
        return self.get_content_height(self.size, self.size, inside) + (FRAME_SIDES if framed else 1)

    def wanted_cells(self, *, framed: bool) -> int:
        """Cells in which nothing has to wrap, the frame included."""
        known = self._natural
        if known is None or known[0] is not self.shown_rows or known[1] != self.table.columns:
            width = natural_width(self.table, self.shown_rows)
            known = self._natural = self.shown_rows, self.table.columns, width
        return known[2] + self.styles.scrollbar_size_vertical + (FRAME_SIDES if framed else 0)

    def title_text(self, title: str) -> str:
        """The frame's title, with the key that leads here."""
        return f"<{self.key_in_force}> {title}".replace("[", "\\[")

    @cached_property
    def key_in_force(self) -> str:
        """The key in force: the usual one unless somebody has chosen another."""
        return panel_keys_in_force(self.screen).get(self.shows.command_name, self.shows.key)

    def show_filter(self) -> None:
        """The frame says what is not seen: rows that the filter hides, columns beyond the edge."""
        parts = []
        if self.filter_text:
            more = "…" if self.is_writing else f"  {self.filter_note}" if self.filter_note else ""
            parts.append(f"/{self.filter_text}  {len(self.shown_rows)} of {len(self.table.rows)}{more}")
        self.set_frame_note("  ".join([*parts, *self.unseen_columns()]))

    def set_frame_note(self, said: str) -> None:
        """Write a word into the lower side of the frame, or behind the title where there is only an upper one."""
        if said != self._said:
            self._said = said
            self.border_subtitle = said.replace("[", "\\[")
        self._head_frame()

    def _head_frame(self) -> None:
        title = self._framed or ""
        said = "" if self.styles.border_bottom[0] else self._said
        if said and cell_len(f"{title}  {said}") <= self.outer_size.width - FRAME_TITLE_MARGIN:
            title = f"{title}  {said}"
        if self._framed is not None and title != self._headed:
            self._headed = title
            self.border_title = self.title_text(title)

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        """Other columns come into sight."""
        super().watch_scroll_x(old_value, new_value)
        self.show_filter()

    def on_resize(self, event: events.Resize) -> None:
        """As the grid does; more or fewer columns fit, and more or less of the title."""
        super().on_resize(event)
        if self.moment is not None and self.outer_size.width != self._drawn_width:
            self.draw_moment()
        self.show_filter()

    def set_filter(self, text: str) -> int:
        """As the grid does, and say so in the frame."""
        searched = self.extra.searched_table(text) if self.extra is not None else None
        if searched is not None:
            self.set_table(searched, follow=False)
        shown = super().set_filter(text)
        self.show_filter()
        return shown

    @on(Grid.Filtered)
    def filter_continued(self) -> None:
        """More rows have been looked at."""
        self.show_filter()

    def action_go(self) -> None:
        """Stand at the row's event; a row without one, such as a problem of the input, shows its whole text."""
        row = self.cursor_row
        if row is not None and row.seq:
            self.post_message(GotoRequested(row.seq))
        else:
            self.action_open_cell()

    def action_extra(self, name: str) -> None:
        """What a key of this panel alone does."""
        if self.extra is not None:
            self.extra.run_key(name)


def panel_keys_in_force(screen: Screen[Any]) -> dict[str, str]:  # Any: what a screen answers
    """The key that leads to each panel: of several the first."""
    known: dict[str, str] = {}
    for key, one in screen.active_bindings.items():
        start, _, name = (one.binding.id or "").partition("-")
        if start == "panel":
            known.setdefault(name, key_name(key))
    return known


class PanelExtra:
    """What a panel does beside showing its table: keys of its own, and what somebody has opened or chosen in it."""

    KEYS: ClassVar[tuple[Binding, ...]] = ()
    """Their actions are `extra('NAME')`, for `act` to do."""
    FOOTER: ClassVar[tuple[tuple[str, str], ...]] = ()
    """The ids of those keys that the last line names first, each with a word."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel

    def build_table(self, moment: DebuggerState) -> Table:
        """What to draw, where that is not the panel's usual table."""
        return self.panel.shows.build_table(moment)

    def searched_table(self, text: str) -> Table | None:
        """What a filter looks through, where that is not what is shown; empty text ends the search."""
        return None

    def run_key(self, name: str) -> None:
        """Do what a key says: run the command of this name for the row under the cursor."""
        row = self.panel.cursor_row
        if row is not None:
            self.panel.post_message(CommandRequested(f"{name} {row.key}"))


def extra_keys(shows: PanelView, extra: type[PanelExtra] | None) -> tuple[Binding, ...]:
    """The keys of one panel alone."""
    if extra is not None:
        return extra.KEYS
    return (GO_BINDING,) if shows.leads else ()
