"""The chooser: bundled snapshots with what each shows, or a path."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Input, Label

from vcdebug.snapshot.bundled import bundled
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.base import Column, Piece, Row, Table

COLUMNS = (Column("snapshot"), Column("what it shows", flexible=True))


class ChooserScreen(Screen[str]):
    """Closes with the name or path of a snapshot; empty when one would rather not."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "leave"),
        Binding("tab", "app.focus_next", "next", show=False),
    ]
    DEFAULT_CSS = """
    ChooserScreen { padding: 0 1; }
    ChooserScreen #title { text-style: bold; padding: 0 0 1 0; }
    ChooserScreen Input { border: round $border-blurred; height: 3; }
    ChooserScreen Input:focus { border: round $border; }
    ChooserScreen #keys { color: $text-muted; }
    """

    def compose(self) -> ComposeResult:
        """The list, a line for a path, the keys."""
        yield Label("vcdebug: which cycle do you want to step through?", id="title")
        yield Grid(id="snapshots")
        yield Input(placeholder="or the path of a folder, .tar.gz, .zip or file of manifests", id="path")
        yield Label("Enter opens   Tab to the path   q leaves", id="keys")

    def on_mount(self) -> None:
        """Fill the list."""
        rows = [Row(one.name, (Piece(one.name, "strong"), Piece(one.description))) for one in bundled()]
        grid = self.query_one(Grid)
        grid.set_table(Table("Bundled snapshots", COLUMNS, rows))
        grid.focus()

    @on(Grid.Opened)
    def chosen(self, event: Grid.Opened) -> None:
        """A bundled one."""
        event.stop()
        self.dismiss(event.row.key)

    @on(Input.Submitted)
    def typed(self, event: Input.Submitted) -> None:
        """A path."""
        if event.value.strip():
            self.dismiss(event.value.strip())

    def action_leave(self) -> None:
        """None of them."""
        self.dismiss("")
