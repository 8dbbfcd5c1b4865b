"""Commands about the cursor's row: marks, copies and what-if edits."""

import shlex
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from vcdebug.debugger.figures import Figure
from vcdebug.model.names import Seq
from vcdebug.tui.clipboard import Clipboard
from vcdebug.tui.main.command_line import ScreenTools
from vcdebug.tui.panels.base import ListExtra, Panel
from vcdebug.tui.screens import dialogs
from vcdebug.views.document import name_jobs_of_table
from vcdebug.views.notebook import fitting_kind

NO_FIGURE: Final = (
    "no figure of the state under the cursor: go to a number in Jobs, Nodes, Queues, Statement or Equation"
)


class FollowedFigure(Struct, frozen=True):
    """A figure whose writes are followed, the title of its table, and the event reached so far."""

    figure: Figure
    title: str
    seq: Seq


CursorPlace = tuple[Seq, str | None, str]
"""An event, the panel with the keys, and the key of the row under its cursor."""


class MarkCommands(Struct, eq=False):
    """Breakpoints, watches and bookmarks at the cursor, and the events about an object or a figure."""

    tools: ScreenTools
    _followed: FollowedFigure | None = None
    _about: tuple[CursorPlace, tuple[str, str]] | None = None
    """Where the last jump to an event about an object ended, and that object as (kind, name)."""

    def goto_about(self, *, back: bool) -> None:
        """Go to the next or previous event about the row's object, else the current job; pressed again, the same one.

        In a list of objects the cursor stays on the object.
        """
        moment, grid = self.tools.current.ready_moment(), self.tools.focused()
        if moment is None:
            return
        row, key = grid.cursor_row, grid.cursor_key()
        subject = row.subject if row is not None and row.subject[1] else ("job", moment.job)
        if self._about is not None and self._about[0] == (moment.number, grid.id, key):
            subject = self._about[1]
        self.tools.current.move_to(lambda driver: driver.next_about(*subject, back=back))
        reached = self.tools.current.moment
        if isinstance(grid, Panel) and isinstance(grid.extra, ListExtra):
            grid.restore_cursor(key)
        if reached is not None:
            self._about = (reached.number, grid.id, grid.cursor_key()), subject

    def goto_last_change(self) -> None:
        """Go to the event that wrote the figure; pressed again, further back, even if the table has changed."""
        moment = self.tools.current.ready_moment()
        if moment is None:
            return
        grid, followed = self.tools.focused(), self._followed
        if followed is not None and followed.seq == moment.seq and followed.title != grid.table.title:
            # After the jump the panel may show another table, so the followed figure is remembered.
            self.follow_figure(followed.figure, followed.title)
        elif (figure := self._figure_under_cursor()) is not None:
            self.follow_figure(figure, grid.table.title)

    def follow_figure(self, figure: Figure, title: str = "") -> None:
        """Go to the event that wrote a figure of a table."""
        self.tools.commands.run_command(f"last-change {figure}")
        if self.tools.current.moment is not None:
            self._followed = FollowedFigure(figure, title, self.tools.current.moment.seq)

    def explain_origin(self) -> None:
        """Show where the figure under the cursor comes from, else the event of its row, else the row's first figure."""
        grid, moment = self.tools.focused(), self.tools.current.ready_moment()
        if moment is None:
            return
        row, figure = grid.cursor_row, grid.cursor_figure
        if row is not None and not row.seq and figure is None:
            figures = (grid.table.figures(row, column) for column in range(len(row.cells)))
            figure = next((one for one in figures if one is not None), None)
        seq = row.seq if row is not None and row.seq else moment.seq
        self.tools.commands.run_command(f"why {figure}" if figure is not None else f"why event {seq}")

    def watch_figure(self) -> None:
        """Watch the figure under the cursor."""
        figure = self._figure_under_cursor()
        if figure is not None:
            self.tools.commands.run_command(f"watch {figure}")

    def _figure_under_cursor(self) -> Figure | None:
        if self.tools.current.ready_driver() is None:
            return None
        figure = self.tools.focused().cursor_figure
        if figure is None:
            self.tools.current.show_message(NO_FIGURE)
        return figure

    def open_breakpoint_dialog(self) -> None:
        """Open the breakpoint dialog with the kind that fits the current event."""
        moment = self.tools.current.ready_moment()
        if moment is not None:
            kind = fitting_kind(moment.recording, moment.seq)
            self.tools.lay_over(dialogs.BreakpointScreen(moment, kind), self._set_breakpoint)

    def _set_breakpoint(self, words: str | None) -> None:
        if words:
            self.tools.commands.run_command(f"break {words}")

    def break_on_figure(self) -> None:
        """Open the command line with a breakpoint on changes of the figure under the cursor."""
        figure = self._figure_under_cursor()
        if figure is not None:
            self.tools.commands.open_prompt("command", f"break data {figure}")

    def set_bookmark(self) -> None:
        """Bookmark the current event; edit the note of an existing bookmark."""
        driver = self.tools.current.ready_driver()
        if driver is None:
            return
        cycle, branch = driver.shown_place()
        bookmark = driver.notebook.bookmarks.bookmark_at(driver.debugger.seq, cycle, branch=branch)
        if bookmark is None:
            self.tools.commands.run_command("bookmark")
        else:
            self.tools.commands.open_prompt("command", f"note {bookmark.note}")


class CopyCommands(Struct, eq=False):
    """The copy menu, and copying the whole panel by one key."""

    tools: ScreenTools

    def copy_panel(self) -> None:
        self._copy_chosen(dialogs.CopyChoice(self._panel_offer(), to_file=False))

    def open_menu(self) -> None:
        target = "a file" if self.tools.clipboard == "file" else "the clipboard"
        self.tools.lay_over(dialogs.CopyScreen([*self._list_offers()], target), self._copy_chosen)

    def _panel_offer(self) -> dialogs.CopyOption:
        return dialogs.CopyOption.of_table("p", "the panel", self.tools.focused().table)

    def _list_offers(self) -> Iterator[dialogs.CopyOption]:
        from vcdebug.views.equation import event_equation

        grid, moment = self.tools.focused(), self.tools.current.moment
        row = grid.cursor_row
        if row is not None:
            cell = row.cells[min(grid.cursor_column, len(row.cells) - 1)]
            yield dialogs.CopyOption.of_text("c", "the cell", cell.text.strip())
            yield dialogs.CopyOption.of_text("r", "the row", "  ".join(cell.text.strip() for cell in row.cells))
        yield self._panel_offer()
        if moment is None:
            return
        names = moment.recording.job_names
        equation = name_jobs_of_table(event_equation(moment.recording, moment.seq), names)
        yield dialogs.CopyOption.of_table("e", "the equation", equation)
        name = shlex.quote(self.tools.snapshot_word)
        goto_option = f" --goto {moment.number}" if moment.number else ""
        yield dialogs.CopyOption.of_text("o", "the command that opens this place", f"vcdebug open {name}{goto_option}")
        if moment.job:
            command = f"vcdebug explain {name} {shlex.quote(names.name_of(moment.job))}"
            yield dialogs.CopyOption.of_text("x", "the command that explains the job", command)

    def _copy_chosen(self, choice: dialogs.CopyChoice | None) -> None:
        if choice is None:
            return
        clipboard: Clipboard = "file" if choice.to_file else self.tools.clipboard
        title, make_text = choice.option.title, choice.option.make_text
        current = self.tools.current
        current.attempt_task(lambda: current.show_message(f"copied {title} {self.tools.copy(make_text(), clipboard)}"))


class WhatIfCommands(Struct, eq=False):
    """Suggests edits of the snapshot, and asks before edits are lost."""

    tools: ScreenTools
    _leave_screen: Callable[[], object] | None = None
    """Callback that closes the recording once the edits are saved or discarded."""

    def suggest_edit(self) -> None:
        """Open the command line with an edit of the object under the cursor, or of the current event's answer."""
        from vcdebug.views.edit_suggestions import suggested_edit

        moment, grid = self.tools.current.ready_moment(), self.tools.focused()
        if moment is None:
            return
        row = grid.cursor_row
        # The Moment panel is about the event's answer; the overview has no answer, and its rows are jobs.
        about_answer = row is None or (grid.id == "moment" and not moment.at_overview)
        if row is None or about_answer:
            edit = suggested_edit(moment)
        else:
            edit = suggested_edit(moment, *row.subject, grid.cursor_figure, grid.cursor_head)
        self.tools.commands.open_prompt("command", edit)

    def leave_recording(self, leave: Callable[[], object]) -> None:
        """Leave this recording; ask first if edits would be lost."""
        driver = self.tools.current.driver
        if driver is None or not driver.workbench.has_unsaved_edits:
            leave()
            return
        file = f"{driver.open_recordings.original[0].snapshot.name or 'what-if'}.edits"
        self._leave_screen = leave
        self.tools.lay_over(
            dialogs.ConfirmLeaveScreen(len(driver.open_recordings.edits), file), self._leave_as_answered
        )

    def _leave_as_answered(self, answer: dialogs.LeaveAnswer | None) -> None:
        if answer is None or answer.stays_open:
            return
        if answer.saves_notes:
            self.tools.commands.run_command(f"edits save {answer.file}")
        driver = self.tools.current.driver
        # A file that cannot be written leaves the edits unsaved: stay, with the error in the footer.
        write_failed = answer.saves_notes and driver is not None and driver.workbench.has_unsaved_edits
        if self._leave_screen is not None and not write_failed:
            self._leave_screen()
