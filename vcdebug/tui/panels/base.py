"""A panel: one view of the current event, drawn as a grid under a rule with its title."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Final, Self
from weakref import ref

from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size
from textual import events, on
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.screen import Screen

from vcdebug.amount_text import capitalize_first
from vcdebug.debugger.driver import DebuggerState
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import RerunCancelledError, refuse_long_runs
from vcdebug.tui.key_names import key_name
from vcdebug.tui.messages import CommandRequested, GotoRequested, PanelRerunNeeded
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.text_wrap import shorten_middle
from vcdebug.views.document import name_jobs_of_table
from vcdebug.views.panels import PanelView
from vcdebug.views.pieces import Piece, make_line
from vcdebug.views.table import Table, empty_table

TITLE_MARGIN = 10
"""Cells of the frame's top line that the title cannot use."""
LINE_MARGIN = 6
"""As TITLE_MARGIN, in a place of one line, where only the key stands before the title."""
GO_BINDING: Final = Binding("enter", "go", "go to this event", id="panel.go")
"""The binding of panels whose rows have an event to go to."""


class Panel(Grid):
    """Draws its view of `moment` and posts messages; its own state is cursor, filter and scroll position."""

    DEFAULT_CSS = """
    Panel { border-top: solid $foreground 35%; border-title-color: $foreground; }
    Panel.-ruled { border-left: solid $foreground 35%; }
    """

    moment: reactive[DebuggerState | None] = reactive(None, repaint=False)

    _drawn_recording: ref[Recording] | None = None  # weak: a hidden panel must not keep a closed recording in memory
    frame_size = Size(0, 0)
    """The size with the frame; that of the panel's place until Textual reports it."""
    drawn_size = Size(0, 0)
    """The size for which the moment is drawn; zero if another one is."""
    _drawn_look: object = None
    """The colours and the rule of the lines as they were drawn last."""
    _drawn_event = -1
    _frame_title: str | None = None
    """The title in the frame."""
    _title_note = ""
    """The note after the title."""
    _drawn_title: str | None = None
    """The title as drawn in the frame, with the note if there is room."""
    _last_rerun: tuple[DebuggerState, Table] | None = None
    """The moment and table of the last rerun of the cycle."""
    given_up = False
    """Whether the user stopped the rerun of the cycle that this panel needs."""

    def __init__(self, panel_view: PanelView, extra: type[PanelExtra]) -> None:
        super().__init__(id=panel_view.command_name)
        self.shows = panel_view
        self.key_in_force = panel_view.key
        """The panel's key: the default or the configured one."""
        self.extra = extra(self)
        self.disable_messages(Grid.Moved)  # each step moves the cursor of every panel, and nothing here reads it

    def build_table(self, moment: DebuggerState) -> Table:
        """The table of a moment; raises RerunCancelledError where it needs a long rerun of the cycle."""
        return name_jobs_of_table(self.extra.build_table(moment), moment.recording.job_names)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Draw again: without regions the upper border and the lines that differ, in other colours all lines.

        Textual asks for the whole widget whenever the focus or the title changes.
        """
        styles = self.styles
        look = self.app.theme, styles.color, styles.background, styles.border_left
        if repaint and not regions and look == self._drawn_look:
            regions = (Region(0, -1, self.outer_size.width, 1),)
            self.request_redraw()
        self._drawn_look = look
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def watch_has_focus(self, has_focus: bool) -> None:
        """Mark the panel with the focus; by a rule for `:focus`, all of its styles and its scroll bar would be new."""
        colors, styles = self.app.theme_variables, self.styles
        styles.border_top = ("heavy", colors["accent"]) if has_focus else styles.base.border_top
        styles.border_title_color = colors["text-accent"] if has_focus else None
        styles.border_title_style = "bold" if has_focus else None

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.watch_has_focus(self.has_focus)  # in the colours of another theme

    def on_mount(self) -> None:
        if self._frame_title is None:
            self._frame_title = self.shows.title
            self._head_frame()

    def watch_moment(self) -> None:
        """Draw the new state if the panel is visible; else drop rows that keep another recording in memory."""
        self.drawn_size = Size(0, 0)
        if self.display:
            self.draw_moment()
        elif self.moment is not None and self._is_another(self.moment.recording) and not self.shows.keeps_row:
            self._drawn_recording = None
            self.drop_rows()

    def _is_another(self, recording: Recording) -> bool:
        return self._drawn_recording is not None and self._drawn_recording() is not recording

    def draw_moment(self) -> None:
        """Build the table of the moment and show it with its title."""
        if self.moment is None:
            self.set_table(empty_table(self.shows.title, "no recording yet"))
            return
        table = self._table_or_notice(self.moment)
        is_other_recording = self._is_another(self.moment.recording)
        # If the event is the same, such as after a `last-change` that found nothing, the cursor's row is kept.
        stays = is_other_recording or self._drawn_event == self.moment.number
        self._drawn_recording, self.drawn_size = ref(self.moment.recording), self.frame_size
        self._drawn_event = self.moment.number
        self._frame_title, self.titled = self._title_for(table)
        title_line = make_line(Piece(self._title_rest(table.title), "strong"))
        table = replace(table, header=(title_line, *table.header)) if self.titled else table
        self.set_table(table, follow=not (stays and self.shows.keeps_row))
        self.show_filter()

    def _table_or_notice(self, moment: DebuggerState) -> Table:
        """The table of a moment, or a notice while the cycle runs again for it."""
        if self._last_rerun is not None and self._last_rerun[0] is moment:
            return self._last_rerun[1]
        self._last_rerun, self.given_up = None, False
        try:
            # A rerun of the cycle may take seconds, in which no key would be answered.
            with refuse_long_runs():
                return self.build_table(moment)
        except RerunCancelledError as missing:
            self.post_message(
                PanelRerunNeeded(self.shows.command_name, moment, missing.work, partial(self.build_table, moment))
            )
            return empty_table(self.shows.title, f"{missing.work}; Esc stops")

    def accept_table(self, moment: DebuggerState, table: Table) -> None:
        """Show the table that a rerun of the cycle has built for a moment."""
        self._last_rerun = (moment, table)
        if self.moment is moment:
            self.draw_moment()

    def give_up(self) -> None:
        """Show that the rerun was stopped, and the key that starts it again."""
        self.given_up = True
        self.set_table(
            empty_table(self.shows.title, f"not asked again: {self.key_in_force} runs the cycle again up to here")
        )

    def _title_for(self, table: Table) -> tuple[str, bool]:
        """The form of the title that fits: complete, without its first word, or only that word.

        In the last case the rest becomes the first line. A place of one line shows the table's summary.
        """
        if self.frame_size.height == 1:
            return self._one_line(table.summary or table.title), False
        title, room = table.title, self.frame_size.width - TITLE_MARGIN
        if not self.frame_size.width or cell_len(title) <= room:
            return title, False
        rest = self._title_rest(title)
        return (rest, False) if cell_len(rest) <= room else (self.shows.title, True)

    def _one_line(self, words: str) -> str:
        """The words after the panel's name, as far as they fit; cut at the end, since the beginning matters most."""
        room = self.frame_size.width - LINE_MARGIN
        full = f"{self.shows.title}  {self._title_rest(words)}".rstrip()
        fitting = full if cell_len(full) <= room else self._title_rest(words)
        return fitting if cell_len(fitting) <= room else f"{set_cell_size(fitting, max(room - 1, 0)).rstrip()}…"

    def _title_rest(self, title: str) -> str:
        return title.removeprefix(self.shows.title).strip()

    @on(Grid.Filtered)
    def show_filter(self) -> None:
        """Note in the frame which rows the filter hides and which columns are out of sight."""
        unseen = self.unseen_columns() if self.frame_size.height > 1 else ()
        self.set_frame_note("  ".join([*self.filter_words(), *self._stop_words(), *unseen]))

    def _stop_words(self) -> tuple[str, ...]:
        """Reason for a breakpoint's stop, as a note of the Moment panel; empty for other panels and reasons."""
        reason = self.moment.reason if self.moment is not None and self.shows.title == "Moment" else ""
        return (capitalize_first(reason),) if reason.startswith("breakpoint ") else ()

    def set_frame_note(self, note: str) -> None:
        """Set the note after the title."""
        self._title_note = note
        self._head_frame()

    def _head_frame(self) -> None:
        title, room = self._frame_title or "", self.frame_size.width - TITLE_MARGIN
        unseen = "  ".join([*self.filter_words(), *(self.unseen_columns() if self.frame_size.height > 1 else ())])
        # The note about hidden rows and columns is shown even if the title must be shortened for it.
        shorter = shorten_middle(title, max(room - cell_len(unseen) - 2, 0)).rstrip()
        pairs = (title, self._title_note), (title, unseen), (shorter, unseen)
        full_titles = (f"{title_words}  {note}" for title_words, note in pairs if note)
        title = next((full_title for full_title in full_titles if cell_len(full_title) <= room), title)
        # Assigning border_title draws the frame again.
        if self._frame_title is not None and title != self._drawn_title:
            self._drawn_title = title
            # Textual reads the title as markup.
            self.border_title = f"<{self.key_in_force}> {title}".replace("[", "\\[")

    @property
    def wraps_rows(self) -> bool:
        """Whether rows wrap: only in an overview; else a row has one line."""
        from vcdebug.views.overview import is_overview

        return self.shows.title == "Moment" and is_overview(self.table)

    def action_column(self, by: int) -> None:
        super().action_column(by)
        self.show_filter()

    def action_scroll_columns(self, by: int) -> None:
        super().action_scroll_columns(by)
        self.show_filter()

    def on_resize(self, event: events.Resize) -> None:
        """Draw again for another size, and note which columns are out of sight: cells may have room below rows."""
        super().on_resize(event)
        self.frame_size = self.outer_size
        if self.moment is not None and self.frame_size != self.drawn_size:
            self.draw_moment()
        self.show_filter()

    def set_filter(self, text: str) -> int:
        """Same as Grid.set_filter, and show the result in the frame."""
        searched = self.extra.searched_table(text)
        if searched is not None and self.moment is not None:
            self.set_table(name_jobs_of_table(searched, self.moment.recording.job_names), follow=False)
        row_count = super().set_filter(text)
        self.show_filter()
        return row_count

    def action_go(self) -> None:
        """Go to the row's event; a row without one opens the whole text of its cell."""
        row = self.cursor_row
        if row is not None and row.seq:
            self.post_message(GotoRequested(row.seq))
        else:
            self.action_open_cell()

    def action_extra(self, name: str) -> None:
        """Run a key that only this panel has."""
        self.extra.run_key(name)


def panel_keys_in_force(screen: Screen[Any]) -> dict[str, str]:  # Any: what a screen answers
    """The first key of each panel, by the panel's name."""
    keys_by_panel: dict[str, str] = {}
    for key, active_binding in screen.active_bindings.items():
        start, _, name = (active_binding.binding.id or "").partition("-")
        if start == "panel":
            keys_by_panel.setdefault(name, key_name(key))
    return keys_by_panel


class PanelExtra:
    """The keys and state of one panel beyond those of every table; by itself for panels of text."""

    KEYS: ClassVar[tuple[Binding, ...]] = ()
    """Bindings with the action `extra('NAME')`, which calls `run_key`."""
    FOOTER: ClassVar[tuple[tuple[str, str], ...]] = ()
    """(id of a binding, word) of the keys that the footer names first."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel

    def build_table(self, moment: DebuggerState) -> Table:
        """The table of a moment; the panel's view unless overridden."""
        return self.panel.shows.build_table(moment)

    def searched_table(self, text: str) -> Table | None:
        """The table to filter if it differs from the shown one, else None; an empty text ends the search."""
        return None

    def run_key(self, name: str) -> None:
        """Run a key; unless overridden, the command of this name for the row under the cursor."""
        row = self.panel.cursor_row
        if row is not None:
            self.panel.post_message(CommandRequested(f"{name} {row.key}"))


class EventsExtra(PanelExtra):
    """Of panels whose rows lead to events."""

    KEYS = (GO_BINDING,)
    FOOTER = (("panel.go", "go there"),)


class ListExtra(PanelExtra):
    """Of the lists of jobs, nodes and queues."""

    FOOTER = (("table.open", "open"), ("last-change", "last change"), ("what-if", "what if"))
