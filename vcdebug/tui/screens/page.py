"""A page whose rows are commands: where the cursor stands is what is shown next."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Label

from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.base import Table
from vcdebug.views.pages import Page


class PageScreen(ModalScreen[str]):
    """Closes with the command to run, or an empty text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "back", id="leads.leave"),
        Binding("enter", "go(0)", "go where the row leads", id="leads.go"),
        Binding("x", "go(1)", "go where the row leads in the original", id="leads.go-original"),
    ]
    DEFAULT_CSS = """
    PageScreen { align: center middle; background: $background; }
    PageScreen > Vertical {
        width: 98%; max-width: 180; height: auto; max-height: 90%;
        border: round $border; background: $surface; padding: 0 1;
    }
    PageScreen Grid { height: auto; max-height: 100%; }
    PageScreen Label { dock: bottom; width: 100%; height: 1; text-style: dim; }
    """

    def __init__(self, table: Table, page: Page) -> None:
        super().__init__()
        self.table = table
        self.page = page

    def compose(self) -> ComposeResult:
        """The table in a frame, with the keys below."""
        with Vertical() as frame:
            frame.border_title = self.table.title.replace("[", "\\[")
            yield Grid(id="page")
            yield Label("   ".join(filter(None, (self.page.keys if self.table.rows else "", "Esc back"))), markup=False)

    def on_mount(self) -> None:
        """Show it."""
        grid = self.query_one(Grid)
        grid.set_table(self.table)
        grid.focus()

    def action_leave(self) -> None:
        """Back to where one was."""
        self.dismiss("")

    @on(Grid.Opened)
    def open_row(self, event: Grid.Opened) -> None:
        """Enter on a row."""
        event.stop()
        self.action_go(0)

    def action_go(self, which: int) -> None:
        """Where the row under the cursor leads; a row that leads to one place leads there in any case."""
        row = self.query_one(Grid).cursor_row
        commands = self.page.commands(row) if row is not None else ()
        if commands:
            self.dismiss(commands[min(which, len(commands) - 1)])
