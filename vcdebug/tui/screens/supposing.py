"""What if, and several cycles: typed edits, pages whose rows lead to a recording, and edits that nobody loses."""

from __future__ import annotations

from collections.abc import Callable

from vcdebug.tui.screens.commanding import Commanding
from vcdebug.tui.screens.leaving import Answer, LeavingScreen
from vcdebug.tui.screens.opens import OPENS
from vcdebug.tui.screens.page import PageScreen
from vcdebug.tui.start import Start
from vcdebug.views.editing import suggested_edit
from vcdebug.views.pages import PAGES


class Supposing(Commanding):
    """The recordings that lie open beside the one that is shown."""

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._leaving: Callable[[], object] | None = None
        """What is done once it is clear what becomes of the edits."""

    def open_what(self, name: str, argument: str) -> None:
        """What a command opens."""
        OPENS[name](self, argument)

    def open_overview(self) -> None:
        """Every job that waits."""
        self.open_what("waiting", "")

    def action_edit(self, verb: str) -> None:
        """A command about edits, the branch or cycles."""
        self.run_command(verb)

    def action_what_if(self) -> None:
        """Type an edit: of what the cursor is on, or of the answer that the panel of the moment shows."""
        if self.ready_driver() is None or self.moment is None:
            return
        row = self.grid.cursor_row
        subject = row.subject if row is not None and self.grid.id != "moment" else ("", "")
        self._open_prompt("command", suggested_edit(self.moment, *subject))

    def open_page(self, name: str) -> None:
        """A page whose rows lead to a recording."""
        if self.moment is not None:
            page = PAGES[name]
            self.app.push_screen(PageScreen(page.view(self.moment), page), self._page_left)

    def _page_left(self, command: str | None) -> None:
        if command:
            self.run_command(command)

    # Leaving

    def leave(self, then: Callable[[], object]) -> None:
        """Leave this recording; where edits would be lost, ask first."""
        driver = self.driver
        if driver is None or not driver.workbench.unsaved:
            then()
            return
        file = f"{driver.recordings.original[0].snapshot.name or 'what-if'}.edits"
        self._leaving = then
        self.app.push_screen(LeavingScreen(len(driver.recordings.edits), file), self._answered)

    def _answered(self, answer: Answer | None) -> None:
        """Stay, save first, or leave."""
        if answer is None or answer.stays:
            return
        if answer.saves:
            self.run_command(f"edits save {answer.file}")
        driver = self.driver
        lost = answer.saves and driver is not None and driver.workbench.unsaved
        if self._leaving is not None and not lost:
            self._leaving()
