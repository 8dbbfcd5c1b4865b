"""The chooser: recent and bundled snapshots, filtered by typing; a typed path opens as well."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Input, Label

from vcdebug.snapshot.sources import list_bundled
from vcdebug.tui.key_names import KeyHint, KeyLine, hint_line
from vcdebug.tui.session_state import RecentSnapshot, home_relative
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.pieces import Piece, muted_piece
from vcdebug.views.table import Row, Table, table_columns

SNAPSHOT_COLUMNS = table_columns("snapshot~30", "last opened", "what is in it~")


class PathInput(Input, inherit_bindings=False):
    """The input field, which leaves the keys that scroll to the list."""

    BINDINGS: ClassVar[list[BindingType]] = Input.BINDINGS


class ChooserScreen(Screen[str]):
    """Closes with the name or path of a snapshot, or an empty text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "clear what is typed, then leave", id="chooser.leave"),
        Binding("down", "move(1)", "next snapshot", id="chooser.down"),
        Binding("up", "move(-1)", "previous snapshot", id="chooser.up"),
        Binding("pagedown", "page(1)", "page down", id="chooser.page-down"),
        Binding("pageup", "page(-1)", "page up", id="chooser.page-up"),
    ]
    DEFAULT_CSS = """
    ChooserScreen { padding: 0 1; }
    ChooserScreen #title { text-style: bold; }
    ChooserScreen #failure { color: $text-error; text-style: bold; width: 100%; height: auto; display: none; }
    ChooserScreen #failure.-shown { display: block; }
    ChooserScreen Input { border: round $border-blurred; height: 3; }
    ChooserScreen Input:focus { border: round $border; }
    ChooserScreen #about { width: 100%; height: 3; color: $text-muted; }
    """

    def __init__(
        self, recent: Sequence[RecentSnapshot] = (), failure: str = "", typed: str = "", among: Sequence[Path] = ()
    ) -> None:
        super().__init__()
        self.recent_snapshots = tuple(recent)
        self.folder_snapshots = tuple(among)
        """The snapshots of one folder, to which the choice is limited; empty for all."""
        self.failure = failure
        self.typed = typed
        """The text that could not be opened, to be corrected; ignored if it is a row's."""
        self._bundled_descriptions = {snapshot.name: snapshot.description for snapshot in list_bundled()}

    def compose(self) -> ComposeResult:
        count_note = f" {len(self.folder_snapshots)} snapshots are there:" if self.folder_snapshots else ""
        yield Label(f"vcdebug:{count_note} which cycle do you want to step through?", id="title")
        yield Label(f"✗ {self.failure}", id="failure", markup=False, classes="-shown" if self.failure else "")
        yield PathInput(placeholder="type to find, or paste a path: folder, .tar.gz, .zip, file", id="path")
        yield Grid(id="snapshots")
        yield Label("", id="about", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        grid = self.query_one(Grid)
        grid.can_focus = False
        grid.cursor_without_focus = True
        rows = [*(self._folder_rows() if self.folder_snapshots else self._all_rows())]
        grid.set_table(Table("Snapshots", SNAPSHOT_COLUMNS, rows, wraps=False))
        self.set_focus(self.query_one(Input))
        self._show_keys("Enter opens", "leaves")
        if self.typed not in [row.key for row in rows]:
            self.query_one(Input).value = self.typed
            self.query_one(Input).select_all()  # an arrow key begins to correct it, another text replaces it

    def _folder_rows(self) -> Iterator[Row]:
        recent = {snapshot.path: snapshot for snapshot in self.recent_snapshots}
        for path in map(str, self.folder_snapshots):
            opened, about = (recent[path].opened, recent[path].size_text) if path in recent else ("", "")
            yield Row(path, (Piece(_display_name(path), "strong"), Piece(opened), Piece(about)))

    def _all_rows(self) -> Iterator[Row]:
        titles = {snapshot.name: f"{snapshot.title}; " for snapshot in list_bundled()}
        for recent in self.recent_snapshots:
            about = f"{titles.get(recent.path, '')}{recent.size_text}"
            yield Row(recent.path, (Piece(_display_name(recent.path), "strong"), Piece(recent.opened), Piece(about)))
        recent_paths = {recent.path for recent in self.recent_snapshots}
        for snapshot in list_bundled():
            if snapshot.name not in recent_paths and str(snapshot.path) not in recent_paths:
                words = (Piece(snapshot.name, "strong"), muted_piece("–"), Piece(snapshot.title))
                yield Row(snapshot.name, words)

    @on(Grid.Moved)
    def show_about(self) -> None:
        row = self.query_one(Grid).cursor_row
        about = "" if row is None else self._bundled_descriptions.get(row.key, row.cells[-1].text)
        self.query_one("#about", Label).update(Text(about))

    @on(Input.Changed)
    def filter_rows(self, event: Input.Changed) -> None:
        grid = self.query_one(Grid)
        typed = event.value.strip()
        # A fuzzy filter alone would show too many rows for a few letters.
        row_count = grid.set_filter(typed) or grid.set_filter(f"~{typed}")
        if not row_count and typed.startswith("/") and "/" not in typed[1:]:
            row_count = grid.set_filter(typed.removeprefix("/"))  # as in any other table, where / filters
        self._show_keys("Enter opens" if row_count else "Enter opens this path", "clears" if event.value else "leaves")

    def _show_keys(self, opens: str, leaves: str) -> None:
        choose, leave = KeyHint(("chooser.up", "chooser.down"), "choose"), KeyHint(("chooser.leave",), leaves)
        active = self.active_bindings
        self.query_one(KeyLine).show_keys(f"{hint_line(active, (choose,))}   {opens}   {hint_line(active, (leave,))}")

    @on(Input.Submitted)
    def accept_input(self, event: Input.Submitted) -> None:
        """Close with an existing path, else the row under the cursor, else the typed text."""
        typed = event.value.strip()
        row = self.query_one(Grid).cursor_row
        if typed and Path(typed).expanduser().exists():
            self.dismiss(str(Path(typed).expanduser()))
        elif row is not None:
            self.dismiss(row.key)
        elif typed:
            self.dismiss(typed)

    @on(Grid.Opened)
    def accept_row(self, event: Grid.Opened) -> None:
        event.stop()
        self.dismiss(event.row.key)

    def action_move(self, by: int) -> None:
        self.query_one(Grid).action_move(by)

    def action_page(self, by: int) -> None:
        self.query_one(Grid).action_page(by)

    def action_leave(self) -> None:
        field = self.query_one(Input)
        if field.value:
            field.value = ""
        else:
            self.dismiss("")


def _display_name(path: str) -> str:
    return home_relative(Path(path)) if "/" in path else path
