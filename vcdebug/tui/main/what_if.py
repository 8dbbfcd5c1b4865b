"""What if: the edit that is likely meant, and edits that nobody loses by leaving."""

from __future__ import annotations

from collections.abc import Callable

from vcdebug.tui.main.command_line import CommandLine
from vcdebug.tui.main.current import LayOver, ScreenState
from vcdebug.tui.screens.confirm_leave import ConfirmLeaveScreen, LeaveAnswer
from vcdebug.tui.widgets.grid import Grid


class WhatIfCommands:
    """Typed edits of the snapshot; what they lead to lies open beside the original."""

    def __init__(
        self, current: ScreenState, commands: CommandLine, lay_over: LayOver, focused: Callable[[], Grid]
    ) -> None:
        self._current = current
        self._commands = commands
        self._lay_over = lay_over
        self._focused = focused
        self._leaving: Callable[[], object] | None = None
        """What is done once it is clear what becomes of the edits."""

    def suggest_edit(self) -> None:
        """Type an edit: of what the cursor is on, or of the answer that the panel of the present event shows."""
        from vcdebug.views.editing import suggested_edit

        moment = self._current.moment
        if self._current.ready_driver() is None or moment is None:
            return
        grid = self._focused()
        row = grid.cursor_row
        if row is None or grid.id == "moment":
            self._commands.open_prompt("command", suggested_edit(moment))
            return
        edit = suggested_edit(moment, *row.subject, grid.cursor_figure, grid.cursor_head)
        self._commands.open_prompt("command", edit)

    def leave_recording(self, then: Callable[[], object]) -> None:
        """Leave this recording; where edits would be lost, ask first."""
        driver = self._current.driver
        if driver is None or not driver.workbench.has_unsaved_edits:
            then()
            return
        file = f"{driver.open_recordings.original[0].snapshot.name or 'what-if'}.edits"
        self._leaving = then
        self._lay_over(ConfirmLeaveScreen(len(driver.open_recordings.edits), file), self._leave_as_answered)

    def _leave_as_answered(self, answer: LeaveAnswer | None) -> None:
        """Stay, save first, or leave."""
        if answer is None or answer.stays:
            return
        if answer.saves:
            self._commands.run_command(f"edits save {answer.file}")
        driver = self._current.driver
        lost = answer.saves and driver is not None and driver.workbench.has_unsaved_edits
        if self._leaving is not None and not lost:
            self._leaving()
