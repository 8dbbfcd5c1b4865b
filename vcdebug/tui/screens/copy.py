"""The copy menu: what there is to copy here, one letter each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Label

from vcdebug.amount_text import count_noun
from vcdebug.tui.hints import KeyHint, hint_line
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.base import Column, Piece, Row, Table

COPY_COLUMNS = (Column(""), Column("copies"), Column("", flexible=True))
PREVIEW_LENGTH = 60


class CopyOffer(NamedTuple):
    """Something to copy."""

    letter: str
    what: str
    text: str


class CopyChoice(NamedTuple):
    """What is to be copied, and whether into a file."""

    offer: CopyOffer
    to_file: bool


class CopyScreen(ModalScreen[CopyChoice | None]):
    """Closes with what was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "nothing", id="copy-menu.leave"),
        Binding("f", "file", "into a file instead, or not", id="copy-menu.file"),
        Binding("y", "again", "copy the row under the cursor of this menu", id="copy-menu.again"),
    ]
    DEFAULT_CSS = """
    CopyScreen { align: center middle; }
    CopyScreen > Vertical {
        width: 90%; max-width: 90; height: auto; max-height: 90%;
        border: round $border; background: $surface; padding: 0 1;
    }
    CopyScreen Grid { height: auto; max-height: 16; }
    CopyScreen Label { width: 100%; height: 1; }
    """

    def __init__(self, offers: Sequence[CopyOffer], where: str) -> None:
        super().__init__()
        self.offers = tuple(offers)
        self.where = where
        self.to_file = False

    def compose(self) -> ComposeResult:
        """The list, and the keys below."""
        with Vertical() as frame:
            frame.border_title = "Copy"
            yield Grid(id="offers")
            yield Label("", id="keys", markup=False)

    def on_mount(self) -> None:
        """Fill the list."""
        grid = self.query_one(Grid)
        rows = [
            Row(one.letter, (Piece(one.letter, "strong"), Piece(one.what), _text_preview(one.text)))
            for one in self.offers
        ]
        grid.set_table(Table("Copy", COPY_COLUMNS, rows, wraps=False))
        self.set_focus(grid)
        self._show_keys()

    def _show_keys(self) -> None:
        place, other = ("a file", self.where) if self.to_file else (self.where, "a file")
        hints = (
            KeyHint(("copy-menu.file",), f"to {other}"),
            KeyHint(("table.open",), "or a letter copies"),
            KeyHint(("copy-menu.leave",), "back"),
        )
        self.query_one("#keys", Label).update(f"to {place}   {hint_line(self.active_bindings, hints)}")

    def on_key(self, event: events.Key) -> None:
        """A letter of the list."""
        found = next((one for one in self.offers if one.letter == event.character), None)
        if found is not None:
            event.stop()
            self.dismiss(CopyChoice(found, self.to_file))

    @on(Grid.Opened)
    def accept_row(self, event: Grid.Opened) -> None:
        """Enter on a row."""
        event.stop()
        self.action_again()

    def action_again(self) -> None:
        """The row under the cursor."""
        row = self.query_one(Grid).cursor_row
        found = next((one for one in self.offers if row is not None and one.letter == row.key), None)
        if found is not None:
            self.dismiss(CopyChoice(found, self.to_file))

    def action_file(self) -> None:
        """To a file, or where it usually goes."""
        self.to_file = not self.to_file
        self._show_keys()

    def action_leave(self) -> None:
        """Close without copying."""
        self.dismiss(None)


def _text_preview(text: str) -> Piece:
    first, _, rest = text.strip().partition("\n")
    more = f"  … {count_noun(len(rest.splitlines()) + 1, 'line')}" if rest else ""
    return Piece(f"{first[:PREVIEW_LENGTH]}{more}", "muted")
